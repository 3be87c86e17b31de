import SprocketPixels
import TestExpectations
import Testing

@testable import SprocketScene

@Suite struct SceneObjectTests {
  private func drawn(share: Double, way: Double, chroma: ChromaSubsampling = .gray) -> [UInt8] {
    var renderer = SceneRenderer(width: 160, height: 120, seed: 3, sensor: quietSensor())
    let moment = moment {
      $0.object.share = share
      $0.object.way = way
    }
    return renderer.bytes(moment, chroma: chroma)
  }

  /// A quarter of 160x120 is 80x60: from the middle, columns 40..<120 and rows 30..<90.
  @Test func coversItsShareInTheMiddle() {
    let (plain, covered) = (drawn(share: 0, way: 0), drawn(share: 0.25, way: 0))
    var changed = 0
    for place in plain.indices where plain[place] != covered[place] {
      changed += 1
      expectTrue((40..<120).contains(place % 160))
      expectTrue((30..<90).contains(place / 160))
    }
    expectGreater(changed, 80 * 60 * 9 / 10)
  }

  @Test func whatItShowsMovesWithIt() {
    let (first, second) = (drawn(share: 0.25, way: 0), drawn(share: 0.25, way: 6))
    for y in 30..<90 {
      for x in 40..<120 { expectEqual(second[y * 160 + x + 6], first[y * 160 + x]) }
    }
  }

  /// The room is 80 pixels: 40 to the right edge, 80 back to the left, 40 to the middle.
  @Test func turnsAtTheEdges() {
    expectEqual(drawn(share: 0.25, way: 160), drawn(share: 0.25, way: 0))
    expectEqual(drawn(share: 0.25, way: 50), drawn(share: 0.25, way: 30))
    expectEqual(drawn(share: 0.25, way: -10), drawn(share: 0.25, way: 90))
    expectUnequal(drawn(share: 0.25, way: 40), drawn(share: 0.25, way: 30))
  }

  @Test(arguments: [ChromaSubsampling.yuv420, .yuv422, .yuv444])
  func chromaIsCoveredWhereLumaIs(_ chroma: ChromaSubsampling) {
    let plain = drawn(share: 0, way: 0, chroma: chroma)
    let covered = drawn(share: 0.25, way: 0, chroma: chroma)
    let (across, down) = (chroma == .yuv444 ? 1 : 2, chroma == .yuv420 ? 2 : 1)
    // Doubled chroma is mixed over the edge.
    let blend = chroma == .yuv444 ? 1 : 0
    let (columns, rows) = (160 / across, 120 / down)
    var changed = 0
    for plane in 0..<2 {
      for place in 0..<columns * rows {
        let index = 160 * 120 + plane * columns * rows + place
        guard plain[index] != covered[index] else { continue }
        changed += 1
        expectTrue((40 - blend..<120 + blend).contains(place % columns * across))
        expectTrue((30..<90).contains(place / columns * down))
      }
    }
    expectGreater(changed, columns * rows / 4)
  }

  @Test func comesFromTheSettings() {
    var settings = SceneSettings()
    settings.object = 0.3
    settings.objectSpeed = 50
    let camera = SceneCamera(settings)
    let moment = camera.moment(0, seconds: 2)
    expectEqual(moment.object.share, 0.3)
    expectEqual(moment.object.way, 100)
  }
}
