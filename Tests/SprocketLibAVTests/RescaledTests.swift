import Testing

@testable import SprocketLibAV

/// Expected values are those of libavutil's `av_rescale`.
@Suite("Rescaled times") struct RescaledTests {
  @Test func roundsToTheNearestAndHalvesAwayFromZero() {
    #expect([1, 2, 3, 4, 5].map { rescaled($0, 1, 3) } == [0, 1, 1, 1, 2])
    #expect([-1, -2, -3, -4, -5].map { rescaled($0, 1, 3) } == [0, -1, -1, -1, -2])
    #expect([1, 3, -1, -3].map { rescaled($0, 1, 2) } == [1, 2, -1, -2])
  }

  @Test func doesNotOverflowOnTheWay() {
    #expect(rescaled(.max, 90_000, 90_000) == .max)
    #expect(rescaled(.max / 2, 1_000_000_000, 500_000_000) == .max - 1)
  }

  @Test func noTimeWhereThereIsNone() {
    #expect(rescaled(.max, 2, 1) == .min)
    #expect(rescaled(-.max, 2, 1) == .min)
    #expect(rescaled(5, 1, 0) == .min)
    #expect(rescaled(5, -1, 1) == .min)
    #expect(rescaled(.min, 1, 1) == -.max)
  }
}
