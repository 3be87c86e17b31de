import SprocketCore
import TestExpectations
import TestSupport
import Testing

@testable import Stabilizer

@Suite struct PathPlannerStartTests {
  /// RMS of the first ten changes of the shown velocity, in pixels.
  private static func beginning(_ camera: HandheldCamera, _ planned: [Similarity]) -> Double {
    let steps = camera.steps(planned)[..<11]
    let changes = zip(steps, steps.dropFirst()).map { $1 - $0 }
    return (changes.reduce(0) { $0 + ($1 * $1).sum() } / 10).squareRoot()
  }

  /// In the midst of a fast pan by hand: begun in the middle of the crop, the three make 1.0 pixels.
  @Test func beginsWhereThePathAheadWantsIt() {
    var sum = 0.0
    for seed in UInt64(1)...3 {
      let shake = Shake([6, 6, 0.0024], seed: seed)
      let camera = HandheldCamera(4) { shake($0 + 3) + [2400 * $0, 0, 0] }
      let planned = camera.planned(crop: 0.05, lookahead: 15)
      sum += Self.beginning(camera, planned)
      expectGreater(camera.leastReserve(planned), -1e-9)
    }
    expectLess(sum / 3, 0.85)
  }

  /// Without shake there is nothing to smooth: the window begins in the middle.
  @Test(arguments: [0.0, 600])
  func beginsInTheMiddleOfASteadyCamera(speed: Double) {
    let camera = HandheldCamera(4) { [speed * $0, 0, 0] }
    let planned = camera.planned(crop: 0.1, lookahead: 15)
    expectLess(camera.largestCorrection([planned[0]], crop: 0.1), 6)
    expectLess(Self.beginning(camera, planned), 0.02)
  }

  /// A path from any position and velocity is a straight line where it has room: through a tube whose middle
  /// swings by 20 and which is 30 to either side.
  @Test func aFreeStartNeedsNoAcceleration() {
    var path = SmoothestPath(capacity: 40)
    for index in 0..<40 {
      path.knots[index].middle = 5 * Double(index) + (index % 10 < 5 ? 20 : -20)
      path.knots[index].margin = 30
      path.knots[index].wall = 30
    }
    path.solve(40, velocity: 0, before: 0, isStart: true)
    let places = path.knots.map(\.path)
    for index in 1..<39 {
      expectLess(abs(places[index - 1] - 2 * places[index] + places[index + 1]), 1e-3)
    }
    for knot in path.knots { expectLess(abs(knot.path - knot.middle), 30.01) }
  }
}
