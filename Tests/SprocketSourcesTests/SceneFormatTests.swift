import Foundation
import SprocketCore
import SprocketPixels
import TestExpectations
import Testing

@testable import SprocketScene

/// The same frame as separate planes, and formats assembled from them pixel by pixel.
private struct Twin {
  let width: Int
  let height: Int
  let luma: [UInt8]
  let u: [UInt8]
  let v: [UInt8]
  let chroma: ChromaSubsampling

  init(_ width: Int, _ height: Int, _ chroma: ChromaSubsampling) {
    self.width = width
    self.height = height
    self.chroma = chroma
    var renderer = SceneRenderer(width: width, height: height, seed: 2)
    let bytes = renderer.bytes(Twin.moment, chroma: chroma)
    let layout = SceneLayout(width: width, height: height, chroma: chroma)
    luma = Array(bytes[..<(width * height)])
    u = chroma == .gray ? [] : Array(bytes[layout.u..<layout.v])
    v = chroma == .gray ? [] : Array(bytes[layout.v...])
  }

  static let moment = SprocketSourcesTests.moment {
    $0.frame = 3
    $0.sceneFromFrame = SceneSimilarity(dx: 3.3, dy: -2.2, roll: 0.03)
  }

  func luma(_ x: Int, _ y: Int) -> UInt8 { luma[y * width + min(x, width - 1)] }
  func u(_ column: Int, _ row: Int) -> UInt8 { u[row * chromaWidth + column] }
  func v(_ column: Int, _ row: Int) -> UInt8 { v[row * chromaWidth + column] }
  var chromaWidth: Int { chroma == .yuv444 ? width : (width + 1) / 2 }
  var chromaRows: Int { chroma == .yuv420 ? (height + 1) / 2 : height }

  /// ITU-T T.871.
  func rgb(_ x: Int, _ y: Int) -> [UInt8] {
    let (level, cb, cr) = (Double(luma(x, y)), Double(u(x, y)) - 128, Double(v(x, y)) - 128)
    return [
      level + 1.402 * cr, level - 0.344136 * cb - 0.714136 * cr, level + 1.772 * cb,
    ].map { UInt8(min(max($0.rounded(), 0), 255)) }
  }
}

@Suite struct SceneFormatTests {
  static let sizes = [(64, 48), (33, 17), (50, 19)]

  private func written(_ format: PixelFormat, _ size: (Int, Int)) throws -> [UInt8] {
    let (width, height) = size
    var writer = try SceneFrameWriter(
      SceneRenderer(width: width, height: height, seed: 2),
      format: FrameFormat(
        pixelFormat: format, width: width, height: height, color: .jpeg, rate: .unknown))
    var bytes = [UInt8](
      repeating: 0xA5, count: format.byteCount(width: width, height: height))
    var span = bytes.mutableSpan
    expectEqual(writer.write(Twin.moment, into: &span), bytes.count)
    return bytes
  }

  @Test(arguments: sizes) func planarFormats(_ size: (Int, Int)) throws {
    let half = Twin(size.0, size.1, .yuv420)
    let wide = Twin(size.0, size.1, .yuv422)
    let full = Twin(size.0, size.1, .yuv444)
    try expectEqual(written(.i420, size), half.luma + half.u + half.v)
    try expectEqual(written(.yv12, size), half.luma + half.v + half.u)
    try expectEqual(written(.yuv422p, size), wide.luma + wide.u + wide.v)
    try expectEqual(written(.yuv444p, size), full.luma + full.u + full.v)
    try expectEqual(written(.grey, size), half.luma)
  }

  @Test(arguments: sizes) func interleavedChroma(_ size: (Int, Int)) throws {
    let twin = Twin(size.0, size.1, .yuv420)
    let pairs = zip(twin.u, twin.v)
    try expectEqual(written(.nv12, size), twin.luma + pairs.flatMap { [$0, $1] })
    try expectEqual(written(.nv21, size), twin.luma + pairs.flatMap { [$1, $0] })
  }

  @Test(arguments: sizes) func packedPairs(_ size: (Int, Int)) throws {
    let twin = Twin(size.0, size.1, .yuv422)
    var yuyv: [UInt8] = []
    var uyvy: [UInt8] = []
    for y in 0..<twin.height {
      for pair in 0..<twin.chromaWidth {
        let (first, second) = (twin.luma(2 * pair, y), twin.luma(2 * pair + 1, y))
        let (u, v) = (twin.u(pair, y), twin.v(pair, y))
        yuyv += [first, u, second, v]
        uyvy += [u, first, v, second]
      }
    }
    try expectEqual(written(.yuyv, size), yuyv)
    try expectEqual(written(.uyvy, size), uyvy)
  }

  @Test(arguments: sizes) func colors(_ size: (Int, Int)) throws {
    let twin = Twin(size.0, size.1, .yuv444)
    var pixels: [[UInt8]] = []
    for y in 0..<twin.height { for x in 0..<twin.width { pixels.append(twin.rgb(x, y)) } }
    try expectEqual(written(.rgb24, size), pixels.flatMap { $0 })
    try expectEqual(written(.bgr24, size), pixels.flatMap { [$0[2], $0[1], $0[0]] })
    try expectEqual(written(.bgr32, size), pixels.flatMap { [$0[2], $0[1], $0[0], 255] })
    try expectEqual(written(.rgb32, size), pixels.flatMap { [255, $0[0], $0[1], $0[2]] })
  }

  @Test(
    arguments: [
      (PixelFormat.bayerRGGB, "RGGB"), (.bayerGRBG, "GRBG"), (.bayerGBRG, "GBRG"),
      (.bayerBGGR, "BGGR"),
    ], sizes)
  func mosaics(_ format: (PixelFormat, String), _ size: (Int, Int)) throws {
    let twin = Twin(size.0, size.1, .yuv444)
    let filters = Array(format.1)
    var bytes: [UInt8] = []
    for y in 0..<twin.height {
      for x in 0..<twin.width {
        let channel: [Character: Int] = ["R": 0, "G": 1, "B": 2]
        bytes.append(twin.rgb(x, y)[channel[filters[y % 2 * 2 + x % 2]] ?? 0])
      }
    }
    try expectEqual(written(format.0, size), bytes)
  }

  /// Colours of luma of 16 bits and chroma of 8, by ITU-T T.871, of which the lowest bits are cut off.
  @Test(arguments: PixelFormat.allCases.filter { $0.isBayer && $0.bitsPerSample > 8 }, sizes)
  func deepMosaics(_ format: PixelFormat, _ size: (Int, Int)) throws {
    let (width, height) = size
    let layout = SceneLayout(width: width, height: height, chroma: .yuv444, depth: .sixteen)
    var drawn = [UInt8](repeating: 0, count: layout.v + width * height)
    var renderer = SceneRenderer(width: width, height: height, seed: 2)
    var span = drawn.mutableSpan
    renderer.draw(Twin.moment, layout: layout, into: &span)
    guard case .bayer(let order, let samples) = format.layout else { return }
    let filters = Array("\(order)")
    let bytes = try written(format, size).map { Int($0) }
    let rowBytes = bytes.count / height
    let bits = format.bitsPerSample
    var (worst, lowest) = (0.0, Set<Int>())
    for y in 0..<height {
      for x in 0..<width {
        let index = y * width + x
        let luma = Double(drawn[2 * index]) + 256 * Double(drawn[2 * index + 1])
        let (cb, cr) = (Double(drawn[layout.u + index]), Double(drawn[layout.v + index]))
        let offset: Double =
          switch filters[y % 2 * 2 + x % 2] {
          case "r": 1.402 * (cr - 128)
          case "g": -0.344136 * (cb - 128) - 0.714136 * (cr - 128)
          default: 1.772 * (cb - 128)
          }
        let exact = min(max(luma + 257 * offset, 0), 65535) / Double(1 << (16 - bits))
        let row = bytes[y * rowBytes..<(y + 1) * rowBytes].map { $0 }
        let sample =
          switch samples {
          case .packedTen: row[x / 4 * 5 + x % 4] * 4 + row[x / 4 * 5 + 4] >> (2 * (x % 4)) % 4
          case .packedTwelve: row[x / 2 * 3 + x % 2] * 16 + row[x / 2 * 3 + 2] >> (4 * (x % 2)) % 16
          case .eight, .ten, .twelve, .sixteen: row[2 * x] + 256 * row[2 * x + 1]
          }
        worst = max(worst, abs(Double(sample) + (bits == 16 ? 0 : 0.5) - exact))
        lowest.insert(sample % 4)
      }
    }
    // Of a 16-bit level: half for rounding, half for two coefficients, each of which is off by up to half
    // of 1/65536, times 257 * 128. And half a level for what is cut off.
    expectAtMost(worst, (bits == 16 ? 1 : 0.5 + 1 / Double(1 << (16 - bits))))
    expectEqual(lowest, [0, 1, 2, 3])
  }

  /// The upper 8 bits of a deep luma are the 8-bit luma, but for rounding; the lowest are in use.
  @Test(arguments: [(PixelFormat.y10, 10), (.y16, 16)], sizes)
  func deepLuma(_ format: (PixelFormat, Int), _ size: (Int, Int)) throws {
    let twin = Twin(size.0, size.1, .gray)
    let bytes = try written(format.0, size)
    let top = Double(1 << format.1) - 1
    var lowest: Set<UInt8> = []
    for index in twin.luma.indices {
      let word = Double(bytes[2 * index]) + 256 * Double(bytes[2 * index + 1])
      expectLess(abs(word / top * 255 - Double(twin.luma[index])), 0.76)
      expectAtMost(word, top)
      lowest.insert(bytes[2 * index] & 3)
    }
    expectEqual(lowest.count, 4)
  }

  /// 4:2:0, 4:2:2 and 4:4:4 are samplings of one picture.
  @Test func samplingsAgree() {
    let full = Twin(64, 48, .yuv444)
    for twin in [Twin(64, 48, .yuv420), Twin(64, 48, .yuv422)] {
      expectEqual(twin.luma, full.luma)
      var difference = 0.0
      for row in 0..<twin.chromaRows {
        for column in 0..<twin.chromaWidth {
          let down = twin.chroma == .yuv420 ? 2 : 1
          var sum = 0
          for y in 0..<down {
            for x in 0..<2 { sum += Int(full.u(2 * column + x, down * row + y)) }
          }
          difference += abs(Double(sum) / Double(2 * down) - Double(twin.u(column, row)))
        }
      }
      expectLess(difference / Double(twin.u.count), 2.5)
    }
  }
}
