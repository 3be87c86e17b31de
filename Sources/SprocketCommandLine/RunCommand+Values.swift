public import ArgumentParser
internal import Glibc
public import Sprocket

// Parsers for option values, with the error sentences for values that are not allowed.

/// `1280x720`.
struct FrameSize {
  let width: Int
  let height: Int

  @Sendable
  static func parse(_ text: String) throws -> FrameSize {
    let parts = text.lowercased().split(separator: "x", omittingEmptySubsequences: false)
      .map { Int($0) }
    guard parts.count == 2, let width = parts[0], let height = parts[1], width > 0, height > 0
    else {
      throw ValidationError("give width and height in pixels, such as 1280x720")
    }
    return FrameSize(width: width, height: height)
  }
}

extension PixelFormat {
  /// The format as `--format` spells it.
  init(option text: String) throws(RunError) {
    guard let known = PixelFormat(fourcc: text) else {
      throw RunError(.usage, "--format: there is no `\(text)`; give \(PixelFormat.allowed)")
    }
    self = known
  }
}

extension SettingValue {
  /// The value as settings spell it.
  @Sendable
  static func parse(_ text: String) throws -> Self {
    guard let value = Self(settingText: text) else { throw ValidationError("give \(allowed)") }
    return value
  }
}

extension Duration {
  /// Time that `--on-unplug` waits: `wait` is the longest that can be, `stop` none.
  @Sendable
  static func parseUnplug(_ text: String) throws -> Duration {
    switch text {
    case "wait": return CameraSettings.longestReplug
    case "stop": return .zero
    default:
      guard let duration = Duration(settingText: text) ?? UInt32(text).map({ .seconds($0) }),
        .zero...CameraSettings.longestReplug ~= duration
      else { throw ValidationError("give wait, stop, or a time of up to 24 hours, such as 30s") }
      return duration
    }
  }

  /// A duration above 0.
  @Sendable
  static func parsePositive(_ text: String) throws -> Duration {
    let duration = try parse(text)
    guard duration > .zero else { throw ValidationError("give a duration above 0, such as 10s") }
    return duration
  }
}

/// `4G`, `512M`, `1.5GiB`: in powers of 1024; `10MB`, `800kB`: in powers of 1000.
@Sendable
func byteCount(_ text: String) throws -> Int {
  let unit = String(text.drop { $0.isNumber || $0 == "." })
  let value = Double(text.dropLast(unit.count)) ?? 0
  let powers = ["K": 1.0, "M": 2, "G": 3, "T": 4]
  // A bare number might be meant as bytes or as megabytes.
  let base = unit.uppercased().dropFirst() == "B" ? 1000.0 : 1024
  let isKnown = ["", "B", "IB"].contains(unit.uppercased().dropFirst())
  guard isKnown, let power = unit.first.flatMap({ powers[$0.uppercased()] }), value > 0,
    value < 1e6, value * pow(base, power) >= 1
  else {
    throw ValidationError(
      "give a number and a unit, such as 512M or 4G (of 1024), or 10MB (of 1000)")
  }
  return Int(value * pow(base, power))
}

/// A whole number in a range; `example` is one that is allowed.
func wholeNumber<Number: FixedWidthInteger & Sendable>(
  _ range: ClosedRange<Number>, example: Number
) -> @Sendable (String) throws -> Number {
  { text in
    guard let number = Number(text), range.contains(number) else {
      let limits =
        range.upperBound == .max
        ? "\(range.lowerBound) or more" : "\(range.lowerBound) to \(range.upperBound)"
      throw ValidationError("give a whole number, \(limits), such as \(example)")
    }
    return number
  }
}

extension WaitStrategy: ExpressibleByArgument {}
extension AudioSync: ExpressibleByArgument {}
extension AudioCodec: ExpressibleByArgument {}
