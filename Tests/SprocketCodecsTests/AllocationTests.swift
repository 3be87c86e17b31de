import CSprocketAllocations
import SprocketCodecs
import SprocketCore
import TestExpectations
import TestSupport
import Testing

@Suite struct UnpackerAllocationTests {
  @Test(arguments: RawUnpackingTests.formats)
  func rawFramesCostNone(pixels: PixelFormat) {
    for parts in [FrameParts.pixels, .luma(.eighth)] {
      let format = FrameFormat(
        pixelFormat: pixels, width: 66, height: 35, color: .jpeg, rate: .unknown)
      let (unpacker, slot) = (FrameUnpacker(), TestSlot())
      slot.addMemory(format, parts: parts, unpacker.prepare(format: format, parts: parts))
      slot.deliver(RawPicture(pixels, width: 66, height: 35).planes, padding: 3)
      expectEqual(count(unpacker, slot), 0)
    }
  }

  @Test(.enabled(if: TestData.isPresent, Comment(rawValue: TestData.absent)))
  func encodedFramesCostWhatLibturbojpegTakesAndNoMore() throws {
    let bytes = try TestData.bytes("mjpeg/mjpeg.jpg")
    let checked = EncodedFrame(checking: bytes.span)
    let frame = try #require(checked)
    let format = FrameFormat(
      pixelFormat: .mjpeg, image: frame.image, width: frame.width, height: frame.height,
      color: .jpeg, rate: .unknown)
    for parts in [FrameParts.image, .pixels, .luma(.full), .luma(.half), .luma(.eighth)] {
      let (unpacker, slot) = (FrameUnpacker(), TestSlot())
      slot.addMemory(format, parts: parts, unpacker.prepare(format: format, parts: parts))
      slot.deliver(bytes)
      let counted = count(unpacker, slot)
      print("JPEG, \(parts): \(counted) allocations for 20 frames")
      // Constant, and the library's own: it reads the header twice.
      expectEqual(counted % 20, 0)
      expectAtMost(counted, 10 * 20)
    }
  }

  /// Allocations of 20 frames, after a first.
  private func count(_ unpacker: FrameUnpacker, _ slot: TestSlot) -> Int {
    _ = slot.unpack(with: unpacker)
    let before = sprocket_allocation_count()
    for _ in 0..<20 { _ = slot.unpack(with: unpacker) }
    return sprocket_allocation_count() - before
  }
}
