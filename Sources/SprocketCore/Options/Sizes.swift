internal import Glibc

/// A number of bytes, spelled with a unit: `4G`, `512M`, `1.5GiB` in powers of 1024, `10MB`, `800kB` in
/// powers of 1000. A bare number is refused: some would mean bytes by it, others megabytes.
public struct ByteCount: Sendable, Hashable, SettingValue {
  public var bytes: Int

  public init(_ bytes: Int) { self.bytes = bytes }

  public init?(settingText text: String) {
    let unit = String(text.drop { $0.isNumber || $0 == "." })
    let value = Double(text.dropLast(unit.count)) ?? 0
    let powers = ["K": 1.0, "M": 2, "G": 3, "T": 4]
    let base = unit.uppercased().dropFirst() == "B" ? 1000.0 : 1024
    let isKnown = ["", "B", "IB"].contains(unit.uppercased().dropFirst())
    guard isKnown, let power = unit.first.flatMap({ powers[$0.uppercased()] }), value > 0,
      case let bytes = value * pow(base, power), 1...Self.most ~= bytes
    else { return nil }
    self.bytes = Int(bytes)
  }

  /// Bytes at most, 2^53: all whole numbers of them are exact as floating point.
  private static let most = 9_007_199_254_740_992.0

  public var settingText: String {
    for (unit, power) in [("G", 30), ("M", 20)] where bytes > 0 && bytes % (1 << power) == 0 {
      return "\(bytes >> power)\(unit)"
    }
    // Both are read back as they are: a division by a power of two is exact.
    return bytes < 1 << 29
      ? "\((Double(bytes) / 1024).settingText)K" : "\((Double(bytes) / 1_048_576).settingText)M"
  }

  public static var allowed: String {
    "a number and a unit, such as 512M or 4G (of 1024), or 10MB (of 1000)"
  }
  public static var forms: [SettingForm] {
    [.text(pattern: "[0-9]+(\\.[0-9]+)?[KMGTkmgt]([Ii]?[Bb])?")]
  }
}

/// A length of a recording, as time or bytes.
public enum Extent: Sendable, Hashable, SettingValue {
  case time(Duration)
  case bytes(ByteCount)

  public init?(settingText text: String) {
    // `10m` is ten minutes: sizes take small letters, too, and times no others.
    if let time = Duration(settingText: text), time > .zero {
      self = .time(time)
    } else if let bytes = ByteCount(settingText: text) {
      self = .bytes(bytes)
    } else {
      return nil
    }
  }

  public var settingText: String {
    switch self {
    case .time(let time): time.settingText
    case .bytes(let bytes): bytes.settingText
    }
  }

  public static var allowed: String { "a duration or a size, such as 60s or 500M" }
  public static var forms: [SettingForm] { ByteCount.forms + Duration.forms }
}
