public import ArgumentParser
internal import Glibc
public import Sprocket

// Parsers for option values, with the error sentences for values that are not allowed.

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
extension FrameChoice.Rule: ExpressibleByArgument {}
extension AudioSync: ExpressibleByArgument {}
extension AudioCodec: ExpressibleByArgument {}
