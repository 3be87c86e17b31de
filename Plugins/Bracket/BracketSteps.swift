public import SprocketCore

/// The steps of a bracket as a person writes them: `-2,0,2EV`, `exposure=5000,10000,20000us`, `gain=1,2,4`,
/// `lens=0,0.5,1`, or another control by its own numbers, `brightness=100,150`. Where a comma has another
/// meaning, as in `--stage`, a slash stands for it.
public struct BracketSteps: SettingValue, Hashable {
  /// What the numbers of the steps mean.
  public enum Kind: Sendable, Hashable {
    /// Doublings of the exposure that there is.
    case ev
    /// Microseconds.
    case exposure
    /// A factor; 1 is the sensor's base.
    case gain
    /// 0 nearest to 1 furthest.
    case lens
    /// A control's own numbers.
    case control(String)
  }

  public var kind: Kind
  public var values: [Double]

  /// Steps of one bracket. Larger: longer brackets; each step takes some frames.
  public static let most = 100
  /// EV either way. Larger: no camera's exposure and gain go further.
  static let widest = 20.0

  public init(_ kind: Kind, _ values: [Double]) {
    self.kind = kind
    self.values = values
  }

  public init?(settingText text: String) {
    guard let equals = text.firstIndex(of: "=") else {
      guard text.lowercased().hasSuffix("ev"), let values = Self.numbers(text, [("ev", 1)]),
        values.allSatisfy({ abs($0) <= Self.widest })
      else { return nil }
      self.init(.ev, values)
      return
    }
    let name = String(text[..<equals])
    let list = String(text[text.index(after: equals)...])
    let units = name == "exposure" ? [("us", 1.0), ("ms", 1e3), ("s", 1e6)] : []
    guard !name.isEmpty, let values = Self.numbers(list, units) else { return nil }
    let kinds: [String: Kind] = ["exposure": .exposure, "gain": .gain, "lens": .lens]
    let kind = kinds[name] ?? .control(name)
    let isAllowed = values.allSatisfy { value in
      switch kind {
      case .exposure, .gain: value > 0
      case .lens: 0...1 ~= value
      case .ev, .control: true
      }
    }
    guard isAllowed else { return nil }
    self.init(kind, values)
  }

  /// Numbers between commas or slashes, each with a unit or without; the last one's holds for those without.
  /// Where there are units, the last number has one.
  private static func numbers(_ text: String, _ units: [(String, Double)]) -> [Double]? {
    let words = text.lowercased().split(
      omittingEmptySubsequences: false, whereSeparator: { $0 == "," || $0 == "/" })
    func unit(of word: Substring) -> (String, Double)? {
      units.first { word.hasSuffix($0.0) }
    }
    guard let usual = units.isEmpty ? 1 : words.last.flatMap({ unit(of: $0)?.1 }) else {
      return nil
    }
    var values: [Double] = []
    for word in words {
      let unit = unit(of: word)
      let digits = word.dropLast(unit?.0.count ?? 0)
      guard let value = Double(digits), value.isFinite else { return nil }
      values.append(value * (unit?.1 ?? usual))
    }
    return 1...most ~= values.count ? values : nil
  }

  public var settingText: String {
    let list = values.map(\.settingText).joined(separator: "/")
    return switch kind {
    case .ev: "\(list)EV"
    case .exposure: "exposure=\(list)us"
    case .gain: "gain=\(list)"
    case .lens: "lens=\(list)"
    case .control(let name): "\(name)=\(list)"
    }
  }

  public static var allowed: String {
    "steps such as -2,0,2EV, exposure=5000,20000us, gain=1,4, lens=0,0.5,1 or CONTROL=VALUE,..."
  }

  /// Whether the steps change the light that is recorded.
  var isOfLight: Bool { [.ev, .exposure, .gain].contains(kind) }
}
