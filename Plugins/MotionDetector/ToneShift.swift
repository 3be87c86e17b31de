/// The change of brightness between two pictures of one scene, by level: the most frequent difference of the
/// samples in each of eight bands of levels, interpolated between the bands. A change of light or exposure
/// changes all samples of a level alike; a thing that covers them makes many differences, so it may cover
/// more than half of a band. Pure.
struct ToneShift {
  private static let bands = 8
  private static let differences = 511
  /// Fewest samples of a band that is used. Larger: rare levels follow the neighbouring bands more often;
  /// smaller: a small thing of a level of its own counts as a change of light.
  private static let leastSamples = 16
  /// Differences, in levels, that count as one: noise, and a gain of 1.5 over 32 levels, spread them so far.
  /// Larger: larger changes of light are measured, and small things of nearly the background's level are
  /// taken for a change of light.
  private static let window = 17
  /// Least share of a band's samples in the most frequent window. Larger: fewer bands are used where much
  /// moves.
  private static let leastShare = 0.25

  /// By level of the earlier picture: the difference that the light makes.
  private(set) var table = [Float](repeating: 0, count: 256)
  /// The most frequent difference of all samples, in levels.
  private(set) var overall = 0.0
  /// By band, then by difference; the last band is the sum of all.
  private var counts = [Int](repeating: 0, count: (bands + 1) * differences)
  private var sums = [Int](repeating: 0, count: bands)

  /// Measures the shift from `earlier`, in levels, to `now`.
  mutating func measure(from earlier: [Float], to now: [UInt8]) {
    for index in counts.indices { counts[index] = 0 }
    for band in 0..<Self.bands { sums[band] = 0 }
    for index in now.indices {
      let level = Int(earlier[index] + 0.5)
      let band = level >> 5
      let difference = Int(now[index]) - level + 255
      counts[band * Self.differences + difference] += 1
      counts[Self.bands * Self.differences + difference] += 1
      sums[band] += level
    }
    overall = mostFrequent(Self.bands)?.difference ?? 0
    fillTable()
  }

  private mutating func fillTable() {
    var (place, shift) = (0.0, 0.0)
    var isFirst = true
    var level = 0
    for band in 0..<Self.bands {
      guard let (difference, samples) = mostFrequent(band) else { continue }
      let next = Double(sums[band]) / Double(samples)
      while level < 256, Double(level) < next {
        let share = (Double(level) - place) / max(next - place, 1)
        table[level] = Float(isFirst ? difference : shift + (difference - shift) * share)
        level += 1
      }
      (place, shift, isFirst) = (next, difference, false)
    }
    while level < 256 {
      table[level] = Float(shift)
      level += 1
    }
  }

  /// The median difference within the window that has most samples of a band, and the band's samples; `nil`
  /// if these are too few or too scattered.
  private func mostFrequent(_ band: Int) -> (difference: Double, samples: Int)? {
    let start = band * Self.differences
    var (total, sum, most, end) = (0, 0, 0, 0)
    for difference in 0..<Self.differences {
      total += counts[start + difference]
      sum += counts[start + difference]
      if difference >= Self.window { sum -= counts[start + difference - Self.window] }
      if sum > most { (most, end) = (sum, difference) }
    }
    guard total >= Self.leastSamples, Double(most) >= Self.leastShare * Double(total) else {
      return nil
    }
    var seen = 0
    for difference in max(0, end - Self.window + 1)...end {
      seen += counts[start + difference]
      if 2 * seen >= most { return (Double(difference - 255), total) }
    }
    return nil
  }
}
