internal import SprocketCore
internal import SprocketTestMemory

/// A picture in its own memory, which a source lends to a slot.
@safe
final class LentPicture {
  private let format: FrameFormat
  private let buffer: TestBuffer

  init(_ frame: TestFrame) {
    format = frame.format
    buffer = TestBuffer(Array(frame.planes.joined()))
  }

  func lend(to slot: inout CaptureSlot) {
    let count = unsafe buffer.memory.count
    let image = unsafe ImageStorage(
      packedAt: buffer.memory.baseAddress.unsafelyUnwrapped, byteCount: count, format)
    unsafe slot.lend(image, byteCount: count, handle: Unmanaged.passRetained(self).toOpaque())
  }

  static func release(_ handle: UnsafeMutableRawPointer) {
    unsafe Unmanaged<LentPicture>.fromOpaque(handle).release()
  }
}
