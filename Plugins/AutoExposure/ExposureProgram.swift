import Glibc
public import SprocketCore

/// Divides a setting between exposure and gain. Pure.
public struct ExposureProgram: Sendable {
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

  /// What a hand can hold, in microseconds, and what most sensors show without much noise.
  static let handheld = 1e6 / 60
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
    // Below 1, where the sensor's own gain is, a driver's numbers mean little: only for want of better.
    let range = gain?.range ?? 1...1
    leastGain = exposure == nil ? range.lowerBound : min(max(range.lowerBound, 1), range.upperBound)
  }

  /// The settings that can be had, in EV.
  var range: ClosedRange<Double> {
    let shortest = min(exposure?.range.lowerBound ?? 1, longest)
    let darkest = log2(shortest * leastGain)
    return darkest...max(darkest, log2(longest * (gain?.range.upperBound ?? 1)))
  }

  /// What comes nearest to a setting.
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

  /// What comes nearest to values that were asked for.
  func point(exposure time: Double, gain factor: Double) -> Point {
    Point(exposure: exposure?.nearest(to: time), gain: gain?.nearest(to: factor))
  }

  /// Whether the length of an exposure is not bound to the flicker.
  private func isFree(_ time: Double) -> Bool {
    guard let period = flicker.period else { return true }
    return time < period * 0.99
  }

  /// An exposure that lets in as much of each flicker as any other: whole periods, above one. What gain
  /// makes up for may be shorter, what nothing does is the nearest.
  private func steady(_ exposure: SteeredControl, _ time: Double, _ total: Double?) -> Double {
    guard let period = flicker.period, time >= period else {
      return total == nil ? exposure.nearest(notAbove: time) : exposure.nearest(to: time)
    }
    let periods = total == nil ? (time / period).rounded(.down) : (time / period).rounded()
    return exposure.nearest(to: min(periods * period, longest))
  }
}
