import Foundation
import SprocketCodecs
import SprocketCore
import SprocketJPEG
import SprocketPixels
import TestExpectations
import TestSupport
import Testing

@Suite struct JPEGUnpackingTests {
  /// Unpacks one JPEG; `nil` when it is damaged.
  private func unpack(_ bytes: [UInt8], _ format: FrameFormat, _ parts: FrameParts) -> TestSlot? {
    let unpacker = FrameUnpacker()
    let slot = TestSlot()
    slot.addMemory(format, parts: parts, unpacker.prepare(format: format, parts: parts))
    slot.deliver(bytes)
    return slot.unpack(with: unpacker) ? slot : nil
  }

  private func format(_ frame: EncodedFrame) -> FrameFormat {
    FrameFormat(
      pixelFormat: .mjpeg, image: frame.image, width: frame.width, height: frame.height,
      color: .jpeg, rate: .unknown)
  }

  /// Files of the test data that are in order.
  static let photographs =
    ["mjpeg/mjpeg.jpg", "mjpeg/test.mjpeg", "mjpeg/multiple-0xff-before-eoi.jpg"]
    + ["focus/firepick_rep1", "exposure/house", "exposure/leuven"].flatMap { folder in
      // Of the many, the first, the tenth and so on.
      TestData.files(in: folder).filter { $0.hasSuffix("jpg") }.enumerated()
        .filter { $0.offset % 9 == 0 }.map(\.element)
    }

  @Test(arguments: ChromaSubsampling.allCases)
  func everySubsamplingAndSizeStaysInItsMemory(subsampling: ChromaSubsampling) throws {
    for (width, height) in [(1, 1), (3, 2), (8, 8), (15, 17), (33, 31), (61, 63), (128, 65)] {
      let bytes = try encodeRandom(subsampling, width: width, height: height)
      let frame = try #require(bytes.span.withChecked { $0 })
      let whole = try #require(unpack(bytes, format(frame), .pixels))
      let luma = whole.lumaRows(.full)
      expectEqual(luma, whole.imageRows(0))
      try expectEqual(#require(unpack(bytes, format(frame), .luma(.full))).lumaRows(.full), luma)
      for scale in [LumaScale.half, .quarter, .eighth] {
        let expected = boxMean(luma, by: scale.divisor)
        expectEqual(whole.lumaRows(scale), expected)
        let alone = try #require(unpack(bytes, format(frame), .luma(scale)))
        let isEighth = scale == .eighth && width % 8 == 0 && height % 8 == 0
        expectTrue(isEighth || alone.lumaRows(scale) == expected, "\(width)x\(height) \(scale)")
      }
    }
  }

  /// Any picture: these tests compare decodings with each other.
  private func encodeRandom(_ subsampling: ChromaSubsampling, width: Int, height: Int) throws
    -> [UInt8]
  {
    var encoder = try JPEGEncoder()
    let capacity = try #require(
      JPEGEncoder.maximumSize(width: width, height: height, subsampling: subsampling))
    let buffers = (0..<subsampling.planeCount).map { plane in
      TestBuffer(
        TestPattern.random.bytes(
          subsampling.planeWidth(plane, imageWidth: width)
            * subsampling.planeHeight(plane, imageHeight: height), seed: UInt64(plane + 3)))
    }
    defer { withExtendedLifetime(buffers) {} }
    let planes = buffers.enumerated().map { index, buffer in
      unsafe PlaneBytes(
        UnsafeBufferPointer(buffer.memory),
        stride: subsampling.planeWidth(index, imageWidth: width))
    }
    var output = [UInt8](repeating: 0, count: capacity)
    var span = output.mutableSpan
    let count = try encoder.encode(
      width: width, height: height, subsampling: subsampling, y: planes[0],
      u: planes.count > 1 ? planes[1] : nil, v: planes.count > 1 ? planes[2] : nil, quality: 90,
      into: &span)
    return Array(output[..<count])
  }

  @Test func anotherSizeOrSubsamplingIsDamage() throws {
    let bytes = try encodeRandom(.yuv422, width: 32, height: 16)
    func given(_ image: PixelFormat, _ width: Int, _ height: Int) -> FrameFormat {
      FrameFormat(
        pixelFormat: .mjpeg, image: image, width: width, height: height, color: .jpeg,
        rate: .unknown)
    }
    let combinations: [FrameParts] = [
      .image, .luma(.full), .luma(.half), .luma(.eighth), .pixels,
    ]
    for parts in combinations {
      expectNotNil(unpack(bytes, given(.yuv422p, 32, 16), parts))
      expectNil(unpack(bytes, given(.yuv422p, 32, 24), parts))
      expectNil(unpack(bytes, given(.yuv422p, 40, 16), parts))
      expectNil(unpack(bytes, given(.i420, 32, 16), parts))
      expectNil(unpack(bytes, given(.grey, 32, 16), parts))
      expectNil(unpack([], given(.yuv422p, 32, 16), parts))
      expectNil(unpack([0xFF], given(.yuv422p, 32, 16), parts))
    }
  }

  @Test(.enabled(if: TestData.isPresent, Comment(rawValue: TestData.absent)))
  func cameraFramesEqualFFmpegsDecoding() throws {
    for file in Self.photographs {
      let bytes = try TestData.bytes(file)
      let frame = try #require(bytes.span.withChecked { $0 }, "\(file)")
      let slot = try #require(unpack(bytes, format(frame), .pixels), "\(file)")
      let gray = try Tool.run(
        "ffmpeg",
        [
          "-v", "error", "-f", "mjpeg", "-i", TestData.path(file), "-frames:v", "1", "-vf",
          "extractplanes=y", "-f", "rawvideo", "-",
        ])
      // Two decoders' transforms differ by rounding.
      expectAtMost(largestDifference(slot.lumaRows(.full), rows(gray, frame.width)), 2, "\(file)")
    }
  }

  private func rows(_ bytes: [UInt8], _ width: Int) -> [[UInt8]] {
    stride(from: 0, to: bytes.count, by: width).map { Array(bytes[$0..<$0 + width]) }
  }

  @Test(.enabled(if: TestData.isPresent, Comment(rawValue: TestData.absent)))
  func lumaAtAnEighthAloneIsWithinOneLevelOfTheBoxMean() throws {
    var worst = 0
    for file in Self.photographs {
      let bytes = try TestData.bytes(file)
      let frame = try #require(bytes.span.withChecked { $0 }, "\(file)")
      let whole = try #require(unpack(bytes, format(frame), .pixels))
      let alone = try #require(unpack(bytes, format(frame), .luma(.eighth)))
      worst = max(worst, largestDifference(whole.lumaRows(.eighth), alone.lumaRows(.eighth)))
    }
    print("luma at 1/8 alone: at most \(worst) from the box mean")
    expectAtMost(worst, 1)
  }

  @Test(.enabled(if: TestData.isPresent, Comment(rawValue: TestData.absent)))
  func corruptFilesAreDamagedHoweverTheyAreUnpacked() throws {
    let files = TestData.files(in: "mjpeg/corrupt_dev")
    expectFalse(files.isEmpty)
    for file in files {
      let bytes = try TestData.bytes(file)
      guard let frame = bytes.span.withChecked({ $0 }), frame.image != nil else {
        print("\(file): broken in structure")
        continue
      }
      let outcomes = [FrameParts.image, .luma(.full), .luma(.half), .luma(.eighth)].map { parts in
        unpack(bytes, format(frame), parts) != nil
      }
      print("\(file): \(outcomes)")
      expectEqual(outcomes, [false, false, false, false], "\(file)")
    }
  }

  /// Every prefix, and bytes flipped anywhere: whatever happens, it happens within memory.
  @Test(.enabled(if: TestData.isPresent, Comment(rawValue: TestData.absent)))
  func damageOfAnyKindCrashesNothing() throws {
    let intact = try TestData.bytes("mjpeg/multiple-0xff-before-eoi.jpg")
    let frame = try #require(intact.span.withChecked { $0 })
    var random = TestRandom(seed: 5)
    for round in 0..<120 {
      var bytes = intact
      if round % 3 == 0 { bytes.removeLast(Int.random(in: 1..<bytes.count, using: &random)) }
      for _ in 0..<round % 4 {
        bytes[Int.random(in: 0..<bytes.count, using: &random)] = .random(
          in: 0...255, using: &random)
      }
      for parts in [FrameParts.image, .luma(.half), .luma(.eighth)] {
        _ = unpack(bytes, format(frame), parts)
      }
    }
    expectNil(unpack(Array(intact.prefix(intact.count / 2)), format(frame), .image))
  }
}

extension Span<UInt8> {
  fileprivate func withChecked<Result>(_ body: (EncodedFrame) -> Result) -> Result? {
    EncodedFrame(checking: self).map(body)
  }
}
