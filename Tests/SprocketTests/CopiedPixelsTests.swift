import Sprocket
import SprocketTesting
import TestExpectations
import Testing

@Suite struct CopiedPixelsTests {
  /// Copies of one frame that a program pushed.
  private func copy(
    _ bytes: [UInt8], _ pixels: PixelFormat, _ content: FrameCopy.Content, width: Int = 4,
    height: Int = 2
  ) async throws -> FrameCopy? {
    let format = FrameFormat(
      pixelFormat: pixels, width: width, height: height, color: .jpeg, rate: FrameRate(frames: 10))
    let source = PushSource(format: format)
    let copies = FrameCopies(of: content, keeping: .every(2))
    let engine = try Engine(source: source, sinks: [copies])
    try engine.start()
    let reading = Task.detached {
      var found: FrameCopy?
      for await frame in copies { found = frame }
      return found
    }
    expectEqual(source.push(bytes.span, waiting: .seconds(10)), .taken)
    source.finish()
    let found = await reading.value
    _ = engine.wait(for: longestWait)
    return found
  }

  @Test func nv12IsLumaThenPairsOfChroma() async throws {
    let planes: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8, 20, 30, 40, 50]
    let found = try await copy(planes, .i420, .nv12)
    expectEqual(found?.bytes, [1, 2, 3, 4, 5, 6, 7, 8, 20, 40, 30, 50])
    expectEqual(found?.pixels, .nv12)
    expectEqual(found?.width, 4)
    expectEqual(found?.height, 2)
  }

  @Test func finerChromaIsAveraged() async throws {
    // Y U Y V: chroma for 2x1 pixels.
    let packed: [UInt8] = [1, 20, 2, 40, 3, 30, 4, 50, 5, 23, 6, 44, 7, 33, 8, 55]
    let found = try await copy(packed, .yuyv, .nv12)
    expectEqual(found?.bytes, [1, 2, 3, 4, 5, 6, 7, 8, 22, 42, 32, 53])
  }

  @Test func greyHasNoColour() async throws {
    let found = try await copy([9, 8, 7, 6, 5, 4], .grey, .nv12, width: 3)
    expectEqual(found?.bytes, [9, 8, 7, 6, 5, 4, 128, 128, 128, 128])
  }

  @Test func deepSamplesLoseTheirLowerBits() async throws {
    let words: [UInt8] = [0xFF, 0x03, 0x04, 0x00, 0x03, 0x00, 0x00, 0x02]
    let found = try await copy(words, .y10, .nv12, width: 2)
    expectEqual(found?.bytes, [255, 1, 0, 128, 128, 128])
  }

  /// White, black, mid-grey, and red by JFIF's matrix: 1.402, 0.344136, 0.714136, 1.772.
  @Test func bgraIsColourAnd255() async throws {
    let planes: [UInt8] = [255, 0, 128, 76, 128, 128, 128, 85, 128, 128, 128, 255]
    let found = try await copy(planes, .yuv444p, .bgra, width: 4, height: 1)
    expectEqual(
      found?.bytes, [255, 255, 255, 255, 0, 0, 0, 255, 128, 128, 128, 255, 0, 0, 254, 255])
    expectEqual(found?.pixels, .bgr32)
  }
}
