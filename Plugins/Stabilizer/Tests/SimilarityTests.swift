import SprocketCore
import TestExpectations
import Testing

@testable import Stabilizer

@Suite struct SimilarityTests {
  @Test func turnsXTowardsY() {
    let quarter = Similarity(shiftX: 3, shiftY: -1, roll: .pi / 2, scale: 2)
    let (x, y) = quarter.apply(1, 0)
    expectLess(abs(x - 3), 1e-12)
    expectLess(abs(y - 1), 1e-12)
    expectLess(abs(quarter.roll - .pi / 2), 1e-12)
    expectLess(abs(quarter.scale - 2), 1e-12)
  }

  @Test func composesFromRightToLeftAndInverts() {
    let first = Similarity(shiftX: 3, shiftY: -1, roll: 0.3, scale: 1.2)
    let second = Similarity(shiftX: -8, shiftY: 2, roll: -0.1, scale: 0.7)
    let (x, y) = first.apply(5, 7)
    let (expectedX, expectedY) = second.apply(x, y)
    let (bothX, bothY) = (second * first).apply(5, 7)
    expectLess(abs(bothX - expectedX), 1e-12)
    expectLess(abs(bothY - expectedY), 1e-12)
    let (backX, backY) = (second * first).inverse.apply(bothX, bothY)
    expectLess(abs(backX - 5), 1e-12)
    expectLess(abs(backY - 7), 1e-12)
  }

  /// The matrix is about the middle of the top left pixel, the similarity about the picture's.
  @Test func comesBackFromTheReport() {
    let similarity = Similarity(shiftX: 3, shiftY: -1, roll: 0.3, scale: 1.2)
    var report = StabilizeReport()
    report.set(stabilizedFromSensor: similarity, width: 641, height: 361)
    let matrix = report.stabilizedFromSensor
    // The picture's middle, (320, 180), moves by the shift alone.
    expectLess(abs(matrix[0] * 320 + matrix[1] * 180 + matrix[2] - 323), 1e-9)
    expectLess(abs(matrix[3] * 320 + matrix[4] * 180 + matrix[5] - 179), 1e-9)
    let back = report.similarity(width: 641, height: 361)
    expectLess(abs(back.shiftX - 3), 1e-9)
    expectLess(abs(back.shiftY + 1), 1e-9)
    expectLess(abs(back.roll - 0.3), 1e-9)
    expectLess(abs(back.scale - 1.2), 1e-9)
  }
}
