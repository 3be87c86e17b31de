import SprocketPixels
import TestExpectations
import Testing

@testable import SprocketScene

@Suite struct SceneRendererTests {
  @Test func aFrameDrawnAloneIsTheFrameDrawnInARow() {
    var inARow = SceneRenderer(width: 80, height: 60, seed: 9)
    var frames: [[UInt8]] = []
    let motion = SceneMotion(shaky, seed: 9)
    func at(_ frame: UInt64) -> SceneMoment {
      moment {
        $0.frame = frame
        $0.sceneFromFrame = motion.sceneFromFrame(at: Double(frame) / 30)
        $0.exposureMicroseconds = frame % 2 == 0 ? 8_000 : 16_000
        $0.lensPosition = frame % 3 == 0 ? 0.5 : 0.3
      }
    }
    for frame in 0..<6 { frames.append(inARow.bytes(at(UInt64(frame)), chroma: .yuv420)) }
    for frame in [5, 2, 0] {
      var alone = SceneRenderer(width: 80, height: 60, seed: 9)
      expectEqual(alone.bytes(at(UInt64(frame)), chroma: .yuv420), frames[frame])
    }
    expectEqual(Set(frames).count, 6)
  }

  private var shaky: SceneMotion.Settings {
    var settings = SceneMotion.Settings()
    settings.shake = 2
    settings.rollDegrees = 1
    return settings
  }

  @Test func anotherSeedIsAnotherPicture() {
    var first = SceneRenderer(width: 80, height: 60, seed: 1, sensor: quietSensor())
    var second = SceneRenderer(width: 80, height: 60, seed: 2, sensor: quietSensor())
    let pairs = zip(first.bytes(moment()), second.bytes(moment()))
    expectGreater(pairs.filter { $0 != $1 }.count, 80 * 60 / 2)
  }

  @Test(arguments: [ChromaSubsampling.yuv420, .yuv422, .yuv444], [(33, 17), (48, 30), (16, 16)])
  func paddingIsLeftAlone(_ chroma: ChromaSubsampling, _ size: (Int, Int)) {
    let (width, height) = size
    var renderer = SceneRenderer(width: width, height: height, seed: 4)
    let plain = renderer.bytes(moment(), chroma: chroma)
    let tight = SceneLayout(width: width, height: height, chroma: chroma)
    var wide = tight
    wide.lumaStride += 7
    wide.chromaStride += 5
    wide.luma = 3
    wide.u = 3 + wide.lumaStride * height
    let rows = chroma == .yuv420 ? (height + 1) / 2 : height
    wide.v = wide.u + wide.chromaStride * rows
    var memory = [UInt8](repeating: 0xA5, count: wide.v + wide.chromaStride * rows)
    var touched = [Bool](repeating: false, count: memory.count)
    var span = memory.mutableSpan
    renderer.draw(moment(), layout: wide, into: &span)
    func compare(_ from: Int, _ stride: Int, _ to: Int, _ wideStride: Int, _ columns: Int) {
      for row in 0..<(from == tight.luma ? height : rows) {
        for column in 0..<columns {
          expectEqual(memory[to + row * wideStride + column], plain[from + row * stride + column])
          touched[to + row * wideStride + column] = true
        }
      }
    }
    compare(tight.luma, tight.lumaStride, wide.luma, wide.lumaStride, width)
    compare(tight.u, tight.chromaStride, wide.u, wide.chromaStride, tight.chromaStride)
    compare(tight.v, tight.chromaStride, wide.v, wide.chromaStride, tight.chromaStride)
    expectTrue(zip(memory, touched).allSatisfy { $1 || $0 == 0xA5 })
  }

  /// Blur by the lens: the further from focus, the less detail, on either side.
  @Test func defocusLowersTheLaplaciansVariance() {
    var renderer = SceneRenderer(width: 160, height: 120, seed: 5, sensor: quietSensor())
    for direction in [-1.0, 1.0] {
      var before = Double.infinity
      for step in 0...20 {
        let position = 0.5 + direction * Double(step) * 0.025
        let score = renderer.picture(moment { $0.lensPosition = position }).laplacianVariance
        expectLess(score, before, "at \(position)")
        before = score
      }
    }
  }

  /// The picture is what it claims to be: detail in every part, dark and bright places.
  @Test func everyPartHasDetailAndTonesAreWide() {
    var renderer = SceneRenderer(width: 640, height: 360, seed: 1, sensor: quietSensor())
    let picture = renderer.picture(moment())
    let sorted = picture.luma.sorted()
    expectLess(sorted[sorted.count / 50], 45)
    expectGreater(sorted[sorted.count * 49 / 50], 210)
    expectTrue((90...150).contains(picture.mean))
    for tile in 0..<16 {
      let (left, top) = (tile % 4 * 160, tile / 4 * 90)
      var rows: [Double] = []
      for y in top..<top + 90 {
        let first = y * 640 + left
        rows += picture.luma[first..<first + 160]
      }
      let part = Picture(width: 160, height: 90, luma: rows)
      expectGreater(part.laplacianVariance, 4, "tile \(tile): \(part.laplacianVariance)")
    }
  }
}
