public import ArgumentParser
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
  /// A duration above 0.
  @Sendable
  static func parsePositive(_ text: String) throws -> Duration {
    let duration = try parse(text)
    guard duration > .zero else { throw ValidationError("give a duration above 0, such as 10s") }
    return duration
  }
}

/// `4G`, `512M`, `1.5G`: in powers of 1024.
@Sendable
func byteCount(_ text: String) throws -> Int {
  let shifts: [Character: Int] = ["K": 10, "M": 20, "G": 30, "T": 40]
  // A bare number might be meant as bytes or as megabytes.
  guard let shift = text.last.flatMap({ shifts[$0] }), let value = Double(text.dropLast()),
    value > 0, value < 1e6, value * Double(1 << shift) >= 1
  else {
    throw ValidationError("give an amount of memory, such as 4G or 512M")
  }
  return Int(value * Double(1 << shift))
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
