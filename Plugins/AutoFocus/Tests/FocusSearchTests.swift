import TestExpectations
import Testing

@testable import AutoFocus

/// Lets a search look at `scene` until it has ended.
private func search(
  from start: Double, in lens: LensRange = LensRange(), _ scene: (Double) -> Double?
) -> FocusSearch {
  var search = FocusSearch()
  search.begin(at: start, of: lens)
  while search.phase == .coarse || search.phase == .fine { search.see(scene(search.target)) }
  return search
}

private let starts = stride(from: 0.0, through: 1, by: 0.05).map { $0 }

@Suite struct FocusSearchTests {
  @Test(arguments: [0.02, 0.04, 0.08, 0.16])
  func findsAPeakFromEveryStart(width: Double) {
    for truth in stride(from: 0.0, through: 1, by: 0.03) {
      for start in starts {
        let found = search(from: start, peak(at: truth, width: width))
        expectEqual(found.phase, .found)
        expectLess(abs(found.target - truth), 0.008, "\(truth) from \(start): \(found.target)")
        expectAtMost(found.looks.count, FocusSearch.mostLooks)
      }
    }
  }

  /// A Gaussian's logarithm is a parabola: then the vertex is the peak.
  @Test func isExactBetweenPositions() {
    for truth in [0.2, 0.311, 0.5, 0.707, 0.85] {
      let found = search(from: 0.5) { 100 * gaussian(($0 - truth) / 0.05) + 1e-9 }
      expectLess(abs(found.target - truth), 1e-6)
    }
  }

  @Test func keepsToTheLensesSteps() {
    // As webcams have it: 0 to 250 in steps of 5.
    let lens = LensRange(grid: 5.0 / 250)
    for truth in starts {
      for start in starts {
        let found = search(from: start, in: lens, peak(at: truth, width: 0.05))
        expectTrue(found.looks.allSatisfy { lens.snapped($0.position) == $0.position })
        expectAtMost(abs(found.target - truth), 0.0101)
        expectAtMost(found.looks.count, FocusSearch.mostLooks)
      }
    }
  }

  @Test func stepsAreCountedFromTheirEnd() {
    // 0 to 255 in steps of 50: 0, 50, ... 250.
    let near = LensRange(grid: 50.0 / 255)
    expectEqual(near.snapped(0), 0)
    expectEqual(near.snapped(0.15), 50.0 / 255)
    expectEqual(near.snapped(1), 250.0 / 255)
    let far = LensRange(grid: 50.0 / 255, countsFromFar: true)
    expectEqual(far.snapped(1), 1)
    expectLess(abs(far.snapped(0.75) - 205.0 / 255), 1e-12)
    expectLess(abs(far.snapped(0) - 5.0 / 255), 1e-12)
    expectEqual(LensRange().snapped(0.123), 0.123)
    expectEqual(LensRange().snapped(7), 1)
    expectEqual(near.whole(0.01), near.grid)
    expectEqual(near.whole(0.5), 3 * near.grid)
  }

  /// Fewer positions than the search would look at: five, two, one.
  @Test(arguments: [4.0, 1, 0.5]) func worksWithFewPositions(steps: Double) {
    let lens = LensRange(grid: 1 / steps)
    for start in starts {
      let found = search(from: start, in: lens) { 1 / (0.1 + abs($0 - lens.grid)) }
      expectAtMost(found.looks.count, 8)
      expectTrue(steps < 1 ? found.phase == .nothing : abs(found.target - lens.grid) < 1e-9)
    }
  }

  @Test func isNotMisledByNoise() {
    var noise = SeededNoise()
    for truth in stride(from: 0.0, through: 1, by: 0.05) {
      let scene = peak(at: truth, width: 0.06)
      for start in starts {
        let found = search(from: start) { scene($0) * (1 + 0.03 * noise.next()) }
        expectLess(abs(found.target - truth), 0.025, "\(truth) from \(start): \(found.target)")
      }
    }
  }

  @Test func restsWhereNothingStandsOut() {
    var noise = SeededNoise()
    for start in starts {
      let even = search(from: start) { _ in 10 + 0.5 * noise.next() }
      expectEqual(even.phase, .nothing)
      expectEqual(even.target, start)
      expectAtMost(even.looks.count, 18)
      expectEqual(search(from: start) { _ in nil }.phase, .nothing)
      expectEqual(search(from: start) { _ in 0 }.phase, .nothing)
    }
  }

  /// Positions without a score are passed over, as the dark ones at an end of a real sweep.
  @Test func passesOverTheDark() {
    for start in starts {
      let found = search(from: start) { $0 > 0.8 ? nil : peak(at: 0.6, width: 0.04)($0) }
      expectLess(abs(found.target - 0.6), 0.005)
    }
  }

  /// As text does, which has no contrast left a little out of focus. What is found has it.
  @Test func findsWhatHasContrastInFocusAlone() {
    for start in starts {
      let found = search(from: start) { abs($0 - 0.6) < 0.04 ? peak(at: 0.6, width: 0.1)($0) : nil }
      expectEqual(found.phase, .found)
      expectLess(abs(found.target - 0.6), 0.04, "from \(start): \(found.target)")
    }
  }

  @Test func endsOnOneOfTwoPeaks() {
    let scene = { (at: Double) in
      peak(at: 0.2, width: 0.04)(at) + 0.7 * peak(at: 0.8, width: 0.04)(at)
    }
    for start in starts {
      let found = search(from: start, scene)
      expectLess(min(abs(found.target - 0.2), abs(found.target - 0.8)), 0.01)
    }
  }

  /// Fine positions come in rows from below, whichever way the coarse ones went.
  @Test func approachesFinePositionsFromBelow() {
    for start in [0.0, 1] {
      var search = FocusSearch()
      search.begin(at: start, of: LensRange())
      var fine: [Double] = []
      while search.phase == .coarse || search.phase == .fine {
        if search.phase == .fine { fine.append(search.target) }
        search.see(peak(at: 0.43, width: 0.05)(search.target))
      }
      expectAtLeast(fine.count, 5)
      expectEqual(fine, fine.sorted())
    }
  }
}

/// exp(-x^2), without a library.
private func gaussian(_ x: Double) -> Double {
  // (1 - x^2/n)^n has another shape; squaring the series of a small argument has not.
  let small = x * x / 1024
  var value = 1 - small + small * small / 2 - small * small * small / 6
  for _ in 0..<10 { value *= value }
  return value
}
