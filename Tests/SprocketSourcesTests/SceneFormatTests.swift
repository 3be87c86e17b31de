import Foundation
import SprocketCore
import Testing

@testable import SprocketSources

/// The same frame as separate planes, and formats assembled from them pixel by pixel.
private struct Twin {
  let width: Int
  let height: Int
  let luma: [UInt8]
  let u: [UInt8]
  let v: [UInt8]
  let chroma: SceneChroma

  init(_ width: Int, _ height: Int, _ chroma: SceneChroma) {
    self.width = width
    self.height = height
    self.chroma = chroma
    var renderer = SceneRenderer(width: width, height: height, seed: 2)
    let bytes = renderer.bytes(Twin.moment, chroma: chroma)
    let layout = SceneLayout(width: width, height: height, chroma: chroma)
    luma = Array(bytes[..<(width * height)])
    u = chroma == .none ? [] : Array(bytes[layout.u..<layout.v])
    v = chroma == .none ? [] : Array(bytes[layout.v...])
  }

  static let moment = SprocketSourcesTests.moment {
    $0.frame = 3
    $0.sceneFromFrame = SceneSimilarity(dx: 3.3, dy: -2.2, roll: 0.03)
  }

  func luma(_ x: Int, _ y: Int) -> UInt8 { luma[y * width + min(x, width - 1)] }
  func u(_ column: Int, _ row: Int) -> UInt8 { u[row * chromaWidth + column] }
  func v(_ column: Int, _ row: Int) -> UInt8 { v[row * chromaWidth + column] }
  var chromaWidth: Int { chroma == .full444 ? width : (width + 1) / 2 }
  var chromaRows: Int { chroma == .half420 ? (height + 1) / 2 : height }

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

  private func written(_ format: PixelFormat, _ size: (Int, Int)) -> [UInt8] {
    let (width, height) = size
    var writer = SceneFrameWriter(
      SceneRenderer(width: width, height: height, seed: 2), format: format)
    var bytes = [UInt8](
      repeating: 0xA5, count: format.byteCount(width: width, height: height))
    var span = bytes.mutableSpan
    writer.write(Twin.moment, into: &span)
    return bytes
  }

  @Test(arguments: sizes) func planarFormats(_ size: (Int, Int)) {
    let half = Twin(size.0, size.1, .half420)
    let wide = Twin(size.0, size.1, .half422)
    let full = Twin(size.0, size.1, .full444)
    #expect(written(.i420, size) == half.luma + half.u + half.v)
    #expect(written(.yv12, size) == half.luma + half.v + half.u)
    #expect(written(.yuv422p, size) == wide.luma + wide.u + wide.v)
    #expect(written(.yuv444p, size) == full.luma + full.u + full.v)
    #expect(written(.grey, size) == half.luma)
  }

  @Test(arguments: sizes) func interleavedChroma(_ size: (Int, Int)) {
    let twin = Twin(size.0, size.1, .half420)
    let pairs = zip(twin.u, twin.v)
    #expect(written(.nv12, size) == twin.luma + pairs.flatMap { [$0, $1] })
    #expect(written(.nv21, size) == twin.luma + pairs.flatMap { [$1, $0] })
  }

  @Test(arguments: sizes) func packedPairs(_ size: (Int, Int)) {
    let twin = Twin(size.0, size.1, .half422)
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
    #expect(written(.yuyv, size) == yuyv)
    #expect(written(.uyvy, size) == uyvy)
  }

  @Test(arguments: sizes) func colors(_ size: (Int, Int)) {
    let twin = Twin(size.0, size.1, .full444)
    var pixels: [[UInt8]] = []
    for y in 0..<twin.height { for x in 0..<twin.width { pixels.append(twin.rgb(x, y)) } }
    #expect(written(.rgb24, size) == pixels.flatMap { $0 })
    #expect(written(.bgr24, size) == pixels.flatMap { [$0[2], $0[1], $0[0]] })
    #expect(written(.bgr32, size) == pixels.flatMap { [$0[2], $0[1], $0[0], 255] })
    #expect(written(.rgb32, size) == pixels.flatMap { [255, $0[0], $0[1], $0[2]] })
  }

  @Test(
    arguments: [
      (PixelFormat.bayerRGGB, "RGGB"), (.bayerGRBG, "GRBG"), (.bayerGBRG, "GBRG"),
      (.bayerBGGR, "BGGR"),
    ], sizes)
  func mosaics(_ format: (PixelFormat, String), _ size: (Int, Int)) {
    let twin = Twin(size.0, size.1, .full444)
    let filters = Array(format.1)
    var bytes: [UInt8] = []
    for y in 0..<twin.height {
      for x in 0..<twin.width {
        let channel: [Character: Int] = ["R": 0, "G": 1, "B": 2]
        bytes.append(twin.rgb(x, y)[channel[filters[y % 2 * 2 + x % 2]] ?? 0])
      }
    }
    #expect(written(format.0, size) == bytes)
  }

  /// The upper 8 bits of a deep luma are the 8-bit luma, but for rounding; the lowest are in use.
  @Test(arguments: [(PixelFormat.y10, 10), (.y16, 16)], sizes)
  func deepLuma(_ format: (PixelFormat, Int), _ size: (Int, Int)) {
    let twin = Twin(size.0, size.1, .none)
    let bytes = written(format.0, size)
    let top = Double(1 << format.1) - 1
    var lowest: Set<UInt8> = []
    for index in twin.luma.indices {
      let word = Double(bytes[2 * index]) + 256 * Double(bytes[2 * index + 1])
      #expect(abs(word / top * 255 - Double(twin.luma[index])) < 0.76)
      #expect(word <= top)
      lowest.insert(bytes[2 * index] & 3)
    }
    #expect(lowest.count == 4)
  }

  /// 4:2:0, 4:2:2 and 4:4:4 are samplings of one picture.
  @Test func samplingsAgree() {
    let full = Twin(64, 48, .full444)
    for twin in [Twin(64, 48, .half420), Twin(64, 48, .half422)] {
      #expect(twin.luma == full.luma)
      var difference = 0.0
      for row in 0..<twin.chromaRows {
        for column in 0..<twin.chromaWidth {
          let down = twin.chroma == .half420 ? 2 : 1
          var sum = 0
          for y in 0..<down {
            for x in 0..<2 { sum += Int(full.u(2 * column + x, down * row + y)) }
          }
          difference += abs(Double(sum) / Double(2 * down) - Double(twin.u(column, row)))
        }
      }
      #expect(difference / Double(twin.u.count) < 2.5)
    }
  }
}
