/// The change of brightness between two pictures of one scene, by level.
///
/// In each of eight bands of levels, the most frequent difference of the samples is what a change of light or
/// exposure makes: it changes all samples of a level alike. A thing that covers them makes many differences,
/// unless it has one tone. So only bands count whose new levels rise with the old ones, as in any exposure;
/// between these the difference is interpolated. Where they hold too few of the samples, another picture is
/// there, and not another light. Pure.
struct ToneShift {
  private static let bands = 8
  private static let differences = 511
  /// Least share of the samples in a band that is used. Larger: rare levels follow the neighbouring bands
  /// more often; smaller: a small thing of a level of its own counts as a change of light.
  private static let leastBand = 0.01
  /// Differences, in levels, that count as one: noise, and a gain of 1.5 over 32 levels, spread them so far.
  /// Larger: larger changes of light are measured, and small things of nearly the background's level are
  /// taken for a change of light.
  private static let window = 17
  /// Least share of a band's samples in the most frequent window. Larger: fewer bands are used where much
  /// moves.
  private static let leastShare = 0.25
  /// Least slope of the new level over the old one. Larger: strong darkening counts as another picture; a
  /// covered lens has 0. 1/4 is 4 EV down with a gamma of 2.2.
  private static let leastSlope = 0.25
  /// New level from which a band may be clipped: there the slope may be 0.
  private static let clippedLevel = 250.0
  /// Least share of all samples in the bands that count. Larger: a change of light with much motion counts as
  /// another picture.
  private static let leastSamples = 0.6

  private struct Band {
    /// Mean level of the earlier picture, most frequent difference, and number of samples.
    var level = 0.0
    var difference = 0.0
    var samples = 0
    /// Most samples of a rising chain of bands that ends here, and the band before in it; -1 for none.
    var chain = 0
    var before = -1
  }

  /// By level of the earlier picture: the difference that the light makes.
  private(set) var table = [Float](repeating: 0, count: 256)
  /// The most frequent difference of all samples, in levels; 0 for another picture.
  private(set) var overall = 0.0
  /// By band, then by difference; the last band is the sum of all.
  private var counts = [Int](repeating: 0, count: (bands + 1) * differences)
  private var sums = [Int](repeating: 0, count: bands)
  private var found = [Band](repeating: Band(), count: bands)
  private var isUsed = [Bool](repeating: false, count: bands)

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
    let kept = findBands(of: now.count)
    let isLight = Double(kept) >= Self.leastSamples * Double(now.count)
    overall = isLight ? mostFrequent(Self.bands, least: 1).difference : 0
    fillTable(isLight)
  }

  /// Marks the rising chain of bands that has most samples, and returns how many these are.
  private mutating func findBands(of total: Int) -> Int {
    let least = max(1, Int(Self.leastBand * Double(total)))
    var last = -1
    for band in 0..<Self.bands {
      isUsed[band] = false
      let (difference, samples) = mostFrequent(band, least: least)
      let level = samples > 0 ? Double(sums[band]) / Double(samples) : 0
      var next = Band(level: level, difference: difference, samples: samples, chain: samples)
      for before in 0..<band where samples > 0 && found[before].samples > 0 {
        if Self.rises(found[before], next), found[before].chain + samples > next.chain {
          (next.chain, next.before) = (found[before].chain + samples, before)
        }
      }
      found[band] = next
      if samples > 0, last < 0 || next.chain > found[last].chain { last = band }
    }
    guard last >= 0 else { return 0 }
    let kept = found[last].chain
    while last >= 0 {
      isUsed[last] = true
      last = found[last].before
    }
    return kept
  }

  /// Whether the new level rises from one band to the next as a change of exposure lets it.
  private static func rises(_ low: Band, _ high: Band) -> Bool {
    let (from, to) = (low.level + low.difference, high.level + high.difference)
    return to - from >= leastSlope * (high.level - low.level) || min(from, to) >= clippedLevel
  }

  private mutating func fillTable(_ isLight: Bool) {
    var (place, shift) = (0.0, 0.0)
    var isFirst = true
    var level = 0
    for band in 0..<Self.bands where isLight && isUsed[band] {
      let (next, difference) = (found[band].level, found[band].difference)
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

  /// The median difference within the window that has most samples of a band, and the band's samples; 0 and
  /// 0 if these are fewer than `least` or too scattered.
  private func mostFrequent(_ band: Int, least: Int) -> (difference: Double, samples: Int) {
    let start = band * Self.differences
    var (total, sum, most, end) = (0, 0, 0, 0)
    for difference in 0..<Self.differences {
      total += counts[start + difference]
      sum += counts[start + difference]
      if difference >= Self.window { sum -= counts[start + difference - Self.window] }
      if sum > most { (most, end) = (sum, difference) }
    }
    guard total >= least, Double(most) >= Self.leastShare * Double(total) else { return (0, 0) }
    var seen = 0
    for difference in max(0, end - Self.window + 1)...end {
      seen += counts[start + difference]
      if 2 * seen >= most { return (Double(difference - 255), total) }
    }
    return (0, 0)
  }
}
