import Glibc
import SprocketCore

/// What of the report follows from the whole picture's histogram alone.
func describe(_ report: inout ExposureReport, _ scale: LuminanceScale) {
  let histogram = report.histogram.span
  let count = sum(histogram)
  var levelSum: UInt64 = 0
  for level in 0..<256 { levelSum += UInt64(histogram[level]) * UInt64(level) }
  let mean = Double(levelSum) / Double(count)
  let clipped = Double(histogram[254] + histogram[255]) / Double(count)
  let crushed = Double(histogram[0] + histogram[1]) / Double(count)
  let shadow = scale.logLuminance[level(below: 0.01, of: histogram)]
  let highlight = scale.logLuminance[level(below: 0.99, of: histogram)]
  let logMean = weightedSum(histogram, scale.logLuminance.span) / Double(count)
  report.samples = UInt32(count)
  report.mean = mean
  report.clipped = clipped
  report.crushed = crushed
  report.shadow = shadow
  report.highlight = highlight
  report.key = sceneKey(mean: logMean, least: shadow, most: highlight)
}

/// The lowest level that `share` of all pixels do not exceed.
func level(below share: Double, of counts: Span<UInt32>) -> Int {
  let wanted = share * Double(sum(counts))
  var found = 0
  for level in 0..<255 {
    found += Int(counts[level])
    if Double(found) >= wanted { return level }
  }
  return 255
}

/// The mean of `values` over that `share` of all pixels which has the highest levels; of the last
/// level, so many pixels as are still wanted.
///
/// What libcamera calls the inter-quantile mean, from 1 - share to 1 (`Histogram::interQuantileMean`).
func meanOfBrightest(_ share: Double, of counts: Span<UInt32>, _ values: Span<Double>) -> Double {
  let wanted = share * Double(sum(counts))
  var (missing, total) = (wanted, 0.0)
  for level in stride(from: 255, through: 0, by: -1) {
    let taken = min(Double(counts[level]), missing)
    total += taken * values[level]
    missing -= taken
    if missing <= 0 { break }
  }
  return total / wanted
}

/// The key of a scene: 0.18 where the mean of log2 luminance is midway between shadows and
/// highlights, up to four times that where it is at the highlights, a quarter where at the shadows.
///
///     key = 0.18 * 4^((2 mean - least - most) / (most - least))
///
/// Source: E. Reinhard, "Parameter estimation for photographic tone reproduction", Journal of
/// Graphics Tools 7(1), 2002. A few pixels must not decide, so the extremes given are percentiles;
/// a mean that lies beyond one counts as at it. A flat picture has key 0.18.
func sceneKey(mean: Double, least: Double, most: Double) -> Double {
  guard most > least else { return 0.18 }
  let place = (2 * mean - least - most) / (most - least)
  return 0.18 * exp2(2 * min(max(place, -1), 1))
}
