/// Measures the change of light between two pictures of one scene, as a difference for each level.
///
/// A change of light or exposure gives all samples of a level the same difference; a moving thing gives them
/// many different ones. So the most frequent difference is found for each of eight bands of levels, and
/// interpolated between the bands. Exposure keeps the order of levels: a brighter band stays the brighter
/// one. Bands that break this order are left out; they are covered by a thing of one tone. If the remaining
/// bands have too few samples, the pictures show different scenes, and the change of light is 0. Pure.
struct ToneShift {
  private static let bands = 8
  private static let differences = 511
  /// Least share of samples in a band that is used. Larger: rare levels take the difference of neighbouring
  /// bands more often; smaller: a small thing with its own levels counts as a change of light.
  private static let leastBand = 0.01
  /// Width, in levels, of the window of differences that counts as one difference. Noise, and a gain of 1.5
  /// over a band of 32 levels, spread the differences that much. Larger: larger gains are measured; small
  /// things with nearly the background's level count as a change of light.
  private static let window = 17
  /// Least share of a band's samples in its most frequent window. Larger: fewer bands are used where much
  /// moves.
  private static let leastShare = 0.25
  /// Least slope of new level over old level between two bands. Larger: strong darkening counts as a
  /// different scene. 1/4 is 4 EV down at a gamma of 2.2; a covered lens has 0.
  private static let leastSlope = 0.25
  /// Level above which new levels may be clipped, so that the slope may be 0.
  private static let clippedLevel = 250.0
  /// Least share of all samples in the used bands. Larger: a change of light with much motion counts as a
  /// different scene. At 0.6 a thing of one tone may cover two fifths of the picture.
  private static let leastSamples = 0.6

  private struct Band {
    /// Mean level in the earlier picture, most frequent difference, number of samples.
    var level = 0.0
    var difference = 0.0
    var samples = 0
    /// Most samples in an increasing sequence of bands that ends here, and the previous band in it; -1 for
    /// none.
    var chain = 0
    var before = -1
  }

  /// Difference that the change of light makes, by level of the earlier picture.
  private(set) var table = [Float](repeating: 0, count: 256)
  /// Most frequent difference of all samples, in levels; 0 if the scenes are different.
  private(set) var overall = 0.0
  /// Numbers of samples by band, then by difference. The last band is the sum of the others.
  private var counts = [Int](repeating: 0, count: (bands + 1) * differences)
  private var sums = [Int](repeating: 0, count: bands)
  private var found = [Band](repeating: Band(), count: bands)
  private var isUsed = [Bool](repeating: false, count: bands)

  /// Measures the change from `earlier` to `now`; both in levels.
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

  /// Marks the increasing sequence of bands with the most samples. Returns its number of samples.
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

  /// Whether the order of two bands is kept, with at least `leastSlope`.
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

  /// Median difference in the window with the most samples of a band, and the band's samples; 0 and 0 if the
  /// band has fewer than `least` samples or no frequent difference.
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
