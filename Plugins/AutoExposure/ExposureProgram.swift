import Glibc
public import SprocketCore

/// Divides a setting between exposure and gain. Pure.
public struct ExposureProgram: Sendable {
  /// What is changed first where a picture needs more light.
  public enum Line: String, Sendable, CaseIterable, SettingValue {
    /// As long an exposure as is allowed, then gain: the least noise.
    case exposure
    /// Exposure up to 1/60 s, gain up to 4, exposure as long as is allowed, more gain.
    case balanced
  }

  /// The mains whose light flickers, twice in each of its periods.
  public enum Flicker: String, Sendable, CaseIterable, SettingValue {
    case off
    case hertz50 = "50"
    case hertz60 = "60"

    /// Microseconds from one flicker to the next.
    var period: Double? {
      switch self {
      case .off: nil
      case .hertz50: 10_000
      case .hertz60: 1e6 / 120
      }
    }
  }

  struct Point: Sendable, Hashable {
    /// Microseconds; `nil` where the source has no such control.
    var exposure: Double?
    var gain: Double?

    /// log2 of exposure times gain.
    var setting: Double { log2((exposure ?? 1) * (gain ?? 1)) }
  }

  /// Exposure that `balanced` reaches before it raises gain, in microseconds. Larger: less noise, more
  /// motion blur. 1/60 s is the photographer's limit for a lens held by hand.
  static let handheld = 1e6 / 60
  /// Gain, a factor, that `balanced` reaches before it exposes longer than `handheld`. Larger: less motion
  /// blur, more noise. 4 (two stops) is little noise on common sensors.
  static let quietGain = 4.0

  private let exposure: SteeredControl?
  private let gain: SteeredControl?
  private let line: Line
  private let flicker: Flicker
  /// Microseconds.
  private let longest: Double
  private let leastGain: Double

  /// `longest` in microseconds: what the frame rate leaves room for.
  init(
    exposure: SteeredControl?, gain: SteeredControl?, line: Line = .exposure,
    flicker: Flicker = .off, longest: Double = .infinity
  ) {
    self.exposure = exposure
    self.gain = gain
    self.line = line
    self.flicker = flicker
    var longest = min(exposure?.range.upperBound ?? 1, longest)
    if let period = flicker.period, longest >= period {
      longest = (longest / period).rounded(.down) * period
    }
    self.longest = exposure?.nearest(notAbove: longest) ?? 1
    // Gains below 1, the sensor's own, often do nothing: they are used only without an exposure.
    let range = gain?.range ?? 1...1
    leastGain = exposure == nil ? range.lowerBound : min(max(range.lowerBound, 1), range.upperBound)
  }

  /// The settings that the source can take, in EV.
  var range: ClosedRange<Double> {
    let shortest = min(exposure?.range.lowerBound ?? 1, longest)
    let darkest = log2(shortest * leastGain)
    return darkest...max(darkest, log2(longest * (gain?.range.upperBound ?? 1)))
  }

  /// The exposure and gain nearest to a setting.
  func point(for setting: Double) -> Point {
    let total = exp2(setting)
    guard let exposure else { return Point(exposure: nil, gain: gain?.nearest(to: total)) }
    guard let gain else { return Point(exposure: steady(exposure, min(total, longest), total)) }
    var time = min(total / leastGain, longest)
    if line == .balanced, time > Self.handheld {
      time = min(max(total / max(Self.quietGain, leastGain), Self.handheld), longest)
    }
    time = steady(exposure, time, nil)
    let factor = gain.nearest(to: max(total / time, leastGain))
    // Where gain comes in coarse steps, exposure makes up for the rest.
    if isFree(time) { time = exposure.nearest(to: min(total / factor, longest)) }
    return Point(exposure: time, gain: factor)
  }

  /// The supported values nearest to those that the user set.
  func point(exposure time: Double, gain factor: Double) -> Point {
    Point(exposure: exposure?.nearest(to: time), gain: gain?.nearest(to: factor))
  }

  /// Whether the length of an exposure is not bound to the flicker.
  private func isFree(_ time: Double) -> Bool {
    guard let period = flicker.period else { return true }
    return time < period * 0.99
  }

  /// The exposure near `time` that holds whole periods of the flicker, where it is longer than one. Where
  /// gain can make up for it (`total` is `nil`) the next shorter one, else the nearest.
  private func steady(_ exposure: SteeredControl, _ time: Double, _ total: Double?) -> Double {
    guard let period = flicker.period, time >= period else {
      return total == nil ? exposure.nearest(notAbove: time) : exposure.nearest(to: time)
    }
    let periods = total == nil ? (time / period).rounded(.down) : (time / period).rounded()
    return exposure.nearest(to: min(periods * period, longest))
  }
}
