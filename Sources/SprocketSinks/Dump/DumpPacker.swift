internal import SprocketCore
internal import SprocketFiles
internal import SprocketMCAP

/// Compresses frames, each as its whole message; one per worker.
final class DumpPacker: Packer {
  private let image: DumpImage
  private var packer = MCAPMessagePacker()
  private var start = TextBuffer()

  init(_ image: DumpImage) { self.image = image }

  /// 0 for a frame of which nothing arrived.
  func pack(_ frame: borrowing FrameView, into bytes: inout MutableSpan<UInt8>) -> Int? {
    let record = frame.record
    let count = image.count(frame)
    if count == 0 { return 0 }
    start.removeAll()
    do throws(RunError) {
      try image.appendStart(record.captured, count: count, to: &start)
    } catch {
      return nil
    }
    packer.begin(image.message(record), dataCount: start.used + count)
    packer.append(unsafe Span(_unsafeElements: start.elements), to: &bytes)
    var rest = count
    for index in 0..<image.format.pixelFormat.planeCount where rest > 0 {
      append(frame.sourcePlane(index), &rest, to: &bytes)
    }
    return packer.end(&bytes)
  }

  /// Adds a plane without its padding, as far as bytes of the frame are there.
  private func append(
    _ plane: borrowing Plane, _ rest: inout Int, to bytes: inout MutableSpan<UInt8>
  ) {
    if let all = plane.contiguous {
      let count = min(rest, all.count)
      packer.append(all.extracting(0..<count), to: &bytes)
      rest -= count
      return
    }
    for y in 0..<plane.rows where rest > 0 {
      let row = plane[row: y]
      let count = min(rest, row.count)
      packer.append(row.extracting(0..<count), to: &bytes)
      rest -= count
    }
  }
}
