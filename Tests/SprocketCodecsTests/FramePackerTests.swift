import CSprocketAllocations
import SprocketCore
import SprocketPixels
import SprocketTestMemory
import TestExpectations
import Testing

@testable import SprocketCodecs

/// Frames for video devices, sample for sample against their definition.
@Suite struct FramePackerTests {
  /// A picture with planes of random samples, 8 by 6 pixels.
  private struct Picture {
    static let (width, height) = (8, 6)
    let format: FrameFormat
    let planes: [[UInt8]]

    init(_ image: PixelFormat, _ color: Color = .jpeg) {
      format = FrameFormat(
        pixelFormat: .mjpeg, image: image, width: Self.width, height: Self.height, color: color,
        rate: .unknown)
      planes = RawPicture(image, width: Self.width, height: Self.height).planes.map {
        $0.flatMap(\.self)
      }
    }

    /// A sample of a plane, `columns` of them in a row.
    func sample(_ plane: Int, _ x: Int, _ y: Int) -> Double {
      let image = format.image ?? .grey
      let row = image.plane(plane, width: Self.width, height: Self.height).bytesPerRow
      guard image.isDeep else { return Double(planes[plane][y * row + x]) }
      return Double(
        Int(planes[plane][y * row + 2 * x]) + 256 * Int(planes[plane][y * row + 2 * x + 1]))
    }

    func packed(_ target: PixelFormat) throws -> [UInt8] {
      let image = try #require(format.image)
      let slot = TestSlot()
      slot.deliver(
        planes.indices.map { index in
          let row = image.plane(index, width: Self.width, height: Self.height).bytesPerRow
          return stride(from: 0, to: planes[index].count, by: row).map {
            Array(planes[index][$0..<$0 + row])
          }
        }, padding: 6)
      slot.takeImage(version: .unpacked)
      slot.enterLane()
      let packer = try FramePacker(target, of: format)
      // More room than is needed, as devices have it.
      var bytes = [UInt8](repeating: 0xEE, count: packer.byteCount + 5)
      var counted = 0
      for _ in 0..<2 {
        let count = slot.show(format, .image) { view in
          var target = bytes.mutableSpan
          let before = sprocket_allocation_count()
          let count = packer.pack(view, into: &target)
          counted = sprocket_allocation_count() - before
          return count
        }
        expectEqual(count, packer.byteCount)
      }
      expectEqual(counted, 0, "\(target) of \(image) allocates")
      expectEqual(bytes.suffix(5), [0xEE, 0xEE, 0xEE, 0xEE, 0xEE])
      return Array(bytes.prefix(packer.byteCount))
    }
  }

  @Test func planesOfTheSameChromaKeepEachByte() throws {
    let half = Picture(.i420)
    let (y, u, v) = (half.planes[0], half.planes[1], half.planes[2])
    try expectEqual(half.packed(.i420), y + u + v)
    try expectEqual(half.packed(.yv12), y + v + u)
    try expectEqual(half.packed(.nv12), y + zip(u, v).flatMap { [$0, $1] })
    try expectEqual(half.packed(.nv21), y + zip(u, v).flatMap { [$1, $0] })
    try expectEqual(half.packed(.grey), y)
    let pairs = Picture(.yuv422p)
    var (lumaFirst, chromaFirst): ([UInt8], [UInt8]) = ([], [])
    for pair in 0..<24 {
      let (one, two) = (pairs.planes[0][2 * pair], pairs.planes[0][2 * pair + 1])
      lumaFirst += [one, pairs.planes[1][pair], two, pairs.planes[2][pair]]
      chromaFirst += [pairs.planes[1][pair], one, pairs.planes[2][pair], two]
    }
    try expectEqual(pairs.packed(.yuyv), lumaFirst)
    try expectEqual(pairs.packed(.uyvy), chromaFirst)
  }

  @Test func aGreyPictureHasNeutralChroma() throws {
    let grey = Picture(.grey)
    try expectEqual(grey.packed(.i420), grey.planes[0] + [UInt8](repeating: 128, count: 24))
    try expectEqual(grey.packed(.nv12), grey.planes[0] + [UInt8](repeating: 128, count: 24))
    try expectEqual(grey.packed(.yuyv), grey.planes[0].flatMap { [$0, 128] })
    try expectEqual(grey.packed(.uyvy), grey.planes[0].flatMap { [128, $0] })
  }

  /// Chroma in the middle of its pixels: each new sample is the mean of those that it covers.
  @Test(arguments: [PixelFormat.yuyv, .uyvy])
  func chromaThatIsReducedIsTheMean(target: PixelFormat) throws {
    let picture = Picture(.yuv444p)
    let found = try picture.packed(target)
    let (luma, first, second) = target == .yuyv ? (0, 1, 3) : (1, 0, 2)
    for y in 0..<6 {
      for x in 0..<4 {
        let at = 16 * y + 4 * x
        expectEqual(Double(found[at + luma]), picture.sample(0, 2 * x, y))
        expectEqual(Double(found[at + luma + 2]), picture.sample(0, 2 * x + 1, y))
        for (place, plane) in [(first, 1), (second, 2)] {
          let mean = (picture.sample(plane, 2 * x, y) + picture.sample(plane, 2 * x + 1, y)) / 2
          expectAtMost(abs(Double(found[at + place]) - mean), 0.51)
        }
      }
    }
  }

  @Test(arguments: [PixelFormat.i420, .yv12, .nv12])
  func rowsOfChromaAreReduced(target: PixelFormat) throws {
    let picture = Picture(.yuv422p)
    let found = try picture.packed(target)
    expectEqual(Array(found.prefix(48)), picture.planes[0])
    for plane in 1...2 {
      for y in 0..<3 {
        for x in 0..<4 {
          let mean = (picture.sample(plane, x, 2 * y) + picture.sample(plane, x, 2 * y + 1)) / 2
          let at =
            switch target {
            case .i420: 48 + 12 * (plane - 1) + 4 * y + x
            case .yv12: 48 + 12 * (2 - plane) + 4 * y + x
            default: 48 + 8 * y + 2 * x + plane - 1
            }
          expectAtMost(abs(Double(found[at]) - mean), 0.51)
        }
      }
    }
  }

  /// ITU-T H.273: limited range keeps its levels, full range its ends and the middle of chroma.
  @Test(arguments: [
    (PixelFormat.yuv420p10, Color.Range.full), (.yuv420p10, .limited), (.yuv420p12, .full),
    (.yuv420p16, .limited), (.yuv420p16, .full),
  ])
  func moreBitsAreRoundedToEight(image: PixelFormat, range: Color.Range) throws {
    let picture = Picture(image, Color(range: range))
    let found = try picture.packed(.i420)
    let one = Double(1 << (image.bitsPerSample - 8))
    let gain = range == .full ? 255 / (256 * one - 1) : 1 / one
    for plane in 0..<3 {
      let (width, height, start) = plane == 0 ? (8, 6, 0) : (4, 3, 48 + 12 * (plane - 1))
      let middle = plane == 0 ? 0.0 : 128
      for y in 0..<height {
        for x in 0..<width {
          let level = (picture.sample(plane, x, y) - middle * one) * gain + middle
          let expected = min(max(level, 0), 255)
          expectAtMost(abs(Double(found[start + y * width + x]) - expected), 0.51)
        }
      }
    }
  }

  @Test func colourIsThatOfATensor() throws {
    let picture = Picture(.yuv422p, Color(range: .limited, matrix: .bt709))
    let (rgb, bgr) = (try picture.packed(.rgb24), try picture.packed(.bgr24))
    expectEqual(rgb.count, 3 * 48)
    for pixel in 0..<48 {
      expectEqual(Array(rgb[3 * pixel..<3 * pixel + 3]), bgr[3 * pixel..<3 * pixel + 3].reversed())
    }
    // Where chroma is neutral, all channels are luma of full range.
    let grey = Picture(.grey, Color(range: .limited))
    let expected = grey.planes[0].map { level -> Int in
      let full = (Double(level) - 16) * 255 / 219
      return Int(min(max(full, 0), 255).rounded())
    }
    let found = try grey.packed(.rgb24).enumerated().filter { $0.offset % 3 == 1 }.map {
      Int($0.element)
    }
    expectTrue(zip(found, expected).allSatisfy { abs($0 - $1) <= 1 })
  }

  @Test func whatCannotBeMadeIsSaid() {
    expectTrue(FramePacker.canMake(.rgb24, width: 321, height: 241))
    expectTrue(FramePacker.canMake(.yuyv, width: 320, height: 241))
    expectFalse(FramePacker.canMake(.yuyv, width: 321, height: 240))
    expectFalse(FramePacker.canMake(.nv12, width: 320, height: 241))
    expectFalse(FramePacker.canMake(.mjpeg, width: 320, height: 240))
    expectFalse(FramePacker.canMake(.yuv444p, width: 320, height: 240))
    let error = #expect(throws: RunError.self) {
      try FramePacker(
        .yuyv,
        of: FrameFormat(
          pixelFormat: .grey, width: 321, height: 240, color: .jpeg, rate: .unknown))
    }
    expectEqual(error?.description.contains("even size"), true)
  }
}
