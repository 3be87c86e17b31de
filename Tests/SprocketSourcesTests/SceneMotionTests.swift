import TestExpectations
import Testing

@testable import SprocketScene

@Suite struct SceneMotionTests {
  @Test func aPanIsExact() {
    var settings = SceneMotion.Settings()
    settings.panX = 200
    settings.panY = -10
    settings.panStart = 1
    settings.panEnd = 4
    let motion = SceneMotion(settings, seed: 1)
    expectEqual(motion.sceneFromFrame(at: 0.5), SceneSimilarity())
    expectEqual(motion.sceneFromFrame(at: 2), SceneSimilarity(dx: 200, dy: -10))
    expectEqual(motion.sceneFromFrame(at: 9), SceneSimilarity(dx: 600, dy: -30))
  }

  @Test func shakeHasTheAskedForRMS() {
    var settings = SceneMotion.Settings()
    settings.shake = 3
    settings.rollDegrees = 0.5
    settings.zoom = 0.01
    let motion = SceneMotion(settings, seed: 11)
    let poses = (0..<30_000).map { motion.sceneFromFrame(at: Double($0) / 100) }
    func rms(_ value: (SceneSimilarity) -> Double) -> Double {
      (poses.reduce(0) { $0 + value($1) * value($1) } / Double(poses.count)).squareRoot()
    }
    expectLess(abs(rms(\.dx) - 3), 0.15)
    expectLess(abs(rms(\.dy) - 3), 0.15)
    expectLess(abs(rms(\.rollDegrees) - 0.5), 0.03)
    expectLess(abs(rms { $0.scale - 1 } - 0.01), 0.0006)
  }

  /// Nothing above 12 Hz: over 1/1000 s a speed changes by less than acceleration's bound.
  @Test func shakeIsBandLimited() {
    var settings = SceneMotion.Settings()
    settings.shake = 1
    let motion = SceneMotion(settings, seed: 5)
    let step = 0.001
    // Amplitudes sum to at most sqrt(2 * 16) RMS, and each bends by at most (2 pi 12)^2.
    let bound = (2.0 * 16).squareRoot() * (2 * Double.pi * 12) * (2 * Double.pi * 12)
    for index in 0..<5000 {
      let time = Double(index) * 0.0137
      let bend =
        motion.sceneFromFrame(at: time + step).dx - 2 * motion.sceneFromFrame(at: time).dx
        + motion.sceneFromFrame(at: time - step).dx
      expectLess(abs(bend) / (step * step), bound)
    }
  }

  @Test func motionIsTheSeedsAlone() {
    var settings = SceneMotion.Settings()
    settings.shake = 1
    let first = SceneMotion(settings, seed: 5).sceneFromFrame(at: 1.25)
    expectEqual(SceneMotion(settings, seed: 5).sceneFromFrame(at: 1.25), first)
    expectUnequal(SceneMotion(settings, seed: 6).sceneFromFrame(at: 1.25), first)
  }

  @Test func lensesMixToTheWantedVariance() {
    for sigma in stride(from: 0.0, through: 5.6, by: 0.1) {
      let mix = SceneLens.mix(sigma: sigma)
      let near = SceneTexture.sigmas[mix.lower]
      let far = SceneTexture.sigmas[mix.lower + 1]
      let variance = near * near * (1 - mix.share) + far * far * mix.share
      expectLess(abs(variance - sigma * sigma), 1e-9)
      expectTrue((0...1).contains(mix.share))
    }
  }
}
