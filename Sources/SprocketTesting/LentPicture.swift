internal import SprocketCore
internal import SprocketTestMemory

/// A picture that a source lends to a slot, each plane in memory of its own, so that AddressSanitizer sees a
/// step beyond it.
@safe
final class LentPicture {
  private let format: FrameFormat
  private let buffers: [TestBuffer]

  init(_ frame: TestFrame) {
    format = frame.format
    buffers = frame.planes.map { TestBuffer($0) }
  }

  func lend(to slot: inout CaptureSlot) {
    var image = unsafe ImageStorage()
    for (index, buffer) in buffers.enumerated() {
      let count = unsafe buffer.memory.count
      let size =
        format.pixelFormat.isEncoded
        ? (bytesPerRow: count, rows: 1)
        : format.pixelFormat.plane(index, width: format.width, height: format.height)
      unsafe image.planes[index] = PlaneStorage(
        base: buffer.memory.baseAddress.unsafelyUnwrapped, stride: size.bytesPerRow,
        bytesPerRow: size.bytesPerRow, rows: size.rows)
    }
    let bytes = buffers.reduce(0) { unsafe $0 + $1.memory.count }
    unsafe slot.lend(image, byteCount: bytes, handle: Unmanaged.passRetained(self).toOpaque())
  }

  static func release(_ handle: UnsafeMutableRawPointer) {
    unsafe Unmanaged<LentPicture>.fromOpaque(handle).release()
  }
}
