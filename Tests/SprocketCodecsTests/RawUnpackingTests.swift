import SprocketCodecs
import SprocketCore
import TestExpectations
import TestSupport
import Testing

/// Odd and even, on both sides of cache lines, boxes and tiles.
private let sizes = [(1, 1), (2, 3), (7, 5), (64, 8), (65, 17), (130, 9), (1031, 19)]

private let combinations: [FrameParts] = [
  .image, .luma(.full), .luma(.half), [.luma(.quarter), .luma(.eighth)], [.image, .luma(.eighth)],
  FrameParts.anyLuma, FrameParts.pixels,
]

@Suite struct RawUnpackingTests {
  static let formats = PixelFormat.allCases.filter { !$0.isEncoded && !$0.isBayer }

  private func ranges(_ format: PixelFormat) -> [Color.Range] {
    format.isRGB ? [.full] : [.full, .limited]
  }

  @Test(arguments: formats)
  func everyFormatEqualsItsSlowTwin(pixels: PixelFormat) {
    for (width, height) in sizes {
      let picture = RawPicture(pixels, width: width, height: height)
      for range in ranges(pixels) {
        let format = FrameFormat(
          pixelFormat: pixels, width: width, height: height, color: Color(range: range),
          rate: .unknown)
        for parts in combinations { check(picture, format, parts) }
      }
    }
  }

  private func check(_ picture: RawPicture, _ format: FrameFormat, _ parts: FrameParts) {
    let unpacker = FrameUnpacker()
    let slot = TestSlot()
    slot.addMemory(format, parts: parts, unpacker.prepare(format: format, parts: parts))
    slot.deliver(picture.planes, padding: 3)
    let name = "\(format.pixelFormat.fourcc) \(format.width)x\(format.height) \(parts)"
    expectTrue(slot.unpack(with: unpacker), "\(name)")
    if parts.contains(.image) {
      for (plane, rows) in picture.image.enumerated() {
        expectEqual(slot.imageRows(plane), rows, "plane \(plane) of \(name)")
      }
    }
    let luma = picture.luma(format.color.range)
    for scale in LumaScale.allCases where parts.contains(.luma(scale)) {
      let expected = scale == .full ? luma : boxMean(luma, by: scale.divisor)
      expectEqual(slot.lumaRows(scale), expected, "\(scale) of \(name)")
    }
  }

  @Test func planarFramesStayInTheSourcesMemory() {
    for pixels in Self.formats where pixels.isPlanar {
      let format = FrameFormat(
        pixelFormat: pixels, width: 9, height: 7, color: .video, rate: .unknown)
      let unpacker = FrameUnpacker()
      let plan = unpacker.prepare(format: format, parts: .image)
      expectTrue(plan.borrowsImage)
      expectFalse(plan.borrowsLuma)
      let slot = TestSlot()
      slot.deliver(RawPicture(pixels, width: 9, height: 7).planes, padding: 1)
      expectTrue(slot.unpack(with: unpacker))
      for plane in 0..<pixels.planeCount {
        let origin = pixels == .yv12 ? [0, 2, 1][plane] : plane
        expectTrue(slot.isSourceMemory(imagePlane: plane, of: origin), "\(pixels) \(plane)")
      }
    }
  }

  @Test func aSourceWithTooFewRowsIsDamaged() {
    for pixels in Self.formats {
      let format = FrameFormat(
        pixelFormat: pixels, width: 8, height: 6, color: .jpeg, rate: .unknown)
      let unpacker = FrameUnpacker()
      let slot = TestSlot()
      slot.addMemory(
        format, parts: .pixels, unpacker.prepare(format: format, parts: .pixels))
      slot.deliver(RawPicture(pixels, width: 8, height: 4).planes, padding: 0)
      expectFalse(slot.unpack(with: unpacker), "\(pixels)")
      slot.deliver(RawPicture(pixels, width: 4, height: 6).planes, padding: 9)
      expectFalse(slot.unpack(with: unpacker), "\(pixels)")
    }
  }

  @Test func mosaicsAreLeftAlone() {
    let format = FrameFormat(
      pixelFormat: .bayerRGGB, width: 8, height: 6, color: .jpeg, rate: .unknown)
    let unpacker = FrameUnpacker()
    let plan = unpacker.prepare(format: format, parts: .encoded)
    expectFalse(plan.borrowsImage)
    expectFalse(plan.borrowsLuma)
    let slot = TestSlot()
    slot.deliver(RawPicture(.bayerRGGB, width: 8, height: 6).planes, padding: 0)
    expectTrue(slot.unpack(with: unpacker))
  }

  @Test(arguments: [
    PixelFormat.i420, .yuv444p, .grey, .y10, .y12, .y16, .yuv420p10, .yuv422p12, .yuv444p16,
  ])
  func lumaOfALaterVersionIsMadeFromItsImage(pixels: PixelFormat) {
    for (width, height) in sizes {
      let picture = RawPicture(pixels, width: width, height: height, seed: 11)
      for range in ranges(pixels) {
        let format = FrameFormat(
          pixelFormat: pixels, width: width, height: height, color: Color(range: range),
          rate: .unknown)
        for parts in combinations {
          let slot = TestSlot(versions: 2)
          let wanted = parts.intersection(.anyLuma)
          slot.addMemory(
            format, parts: wanted,
            UnpackPlan(borrowsImage: true, borrowsLuma: format.lumaIsPlane), version: 1)
          slot.deliver(picture.planes, padding: 2)
          slot.takeImage(version: 1)
          slot.deriveLuma(
            with: FrameUnpacker(), version: 1, format: format, parts: wanted)
          let luma = picture.luma(range)
          for scale in LumaScale.allCases where wanted.contains(.luma(scale)) {
            let expected = scale == .full ? luma : boxMean(luma, by: scale.divisor)
            expectEqual(slot.lumaRows(scale, version: 1), expected, "\(pixels) \(scale)")
          }
        }
      }
    }
  }

  @Test func aFullRangeClaimIsNeededWhereThereIsNoOtherRange() async {
    await #expect(processExitsWith: .failure) {
      let format = FrameFormat(
        pixelFormat: .rgb24, width: 8, height: 6, color: .video, rate: .unknown)
      _ = FrameUnpacker().plan(format: format, parts: .image)
    }
  }
}
