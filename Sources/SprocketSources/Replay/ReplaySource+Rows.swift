internal import SprocketCore
internal import SprocketPixels
internal import SprocketRecords

// Rows of pictures in a dump.
extension ReplaySource {
  /// Of the first plane; 0 for an encoded frame.
  func rowBytes(_ format: FrameFormat) -> Int {
    format.pixelFormat.plane(0, width: format.width, height: format.height).bytesPerRow
  }

  /// Copies the image without padding, as far as there is room; returns how many bytes.
  func copy(
    _ image: ReplayImage, of data: Span<UInt8>, to target: inout MutableSpan<UInt8>
  ) -> Int {
    guard let session else { return 0 }
    let row = rowBytes(session.format)
    guard row > 0, image.step > row else {
      let count = min(image.data.count, target.count)
      var room = target._mutatingExtracting(0..<count)
      copyRow(data.extracting(image.data).extracting(first: count), into: &room)
      return count
    }
    var done = 0
    var from = image.data.lowerBound
    while done < target.count, from < image.data.upperBound {
      let count = min(row, target.count - done, image.data.upperBound - from)
      var room = target._mutatingExtracting(done..<done + count)
      copyRow(data.extracting(from..<from + count), into: &room)
      done += count
      from += image.step
    }
    return done
  }
}
