public import SprocketCore

/// Red, green and blue, 0 to 255 each: spelled as a name, or `255/128/0`.
public struct TextColor: Sendable, Hashable, SettingValue {
  public var red, green, blue: UInt8

  public init(_ red: UInt8, _ green: UInt8, _ blue: UInt8) {
    (self.red, self.green, self.blue) = (red, green, blue)
  }

  public static let white = TextColor(255, 255, 255)
  public static let black = TextColor(0, 0, 0)

  private static let names: [(name: String, color: TextColor)] = [
    ("white", white), ("black", black), ("gray", TextColor(128, 128, 128)),
    ("red", TextColor(255, 0, 0)), ("green", TextColor(0, 255, 0)), ("blue", TextColor(0, 0, 255)),
    ("yellow", TextColor(255, 255, 0)), ("cyan", TextColor(0, 255, 255)),
    ("magenta", TextColor(255, 0, 255)), ("orange", TextColor(255, 165, 0)),
  ]

  public init?(settingText text: String) {
    if let known = Self.names.first(where: { $0.name == text }) {
      self = known.color
      return
    }
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    // Numbers have no sign and no leading zero: each colour has one spelling.
    let numbers = parts.compactMap { part in UInt8(part).flatMap { "\($0)" == part ? $0 : nil } }
    guard parts.count == 3, numbers.count == 3 else { return nil }
    self.init(numbers[0], numbers[1], numbers[2])
  }

  public var settingText: String {
    Self.names.first { $0.color == self }?.name ?? "\(red)/\(green)/\(blue)"
  }

  public static var allowed: String {
    names.map(\.name).joined(separator: ", ") + ", or red/green/blue up to 255, such as 255/128/0"
  }

  public static var forms: [SettingForm] {
    let number = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
    let words = names.map(\.name).joined(separator: "|")
    return [.text(pattern: "\(words)|\(number)/\(number)/\(number)")]
  }

  /// The sample of plane `index` of a picture of `bits` bits: luma, then the differences of blue and red
  /// (ITU-T H.273, equations 44 to 60). A picture whose matrix is not known is taken for BT.601, as JPEG is.
  func sample(plane index: Int, of color: Color, bits: Int) -> Int {
    let (redWeight, blueWeight) =
      switch color.matrix {
      case .unspecified, .bt601: (0.299, 0.114)
      case .bt709: (0.2126, 0.0722)
      case .bt2020: (0.2627, 0.0593)
      }
    let (r, g, b) = (Double(red) / 255, Double(green) / 255, Double(blue) / 255)
    let luma = redWeight * r + (1 - redWeight - blueWeight) * g + blueWeight * b
    let value =
      switch index {
      case 0: luma
      case 1: (b - luma) / (2 * (1 - blueWeight))
      default: (r - luma) / (2 * (1 - redWeight))
      }
    let most = (1 << bits) - 1
    let unit = Double(1 << (bits - 8))
    let middle = index == 0 ? 0 : Double(1 << (bits - 1))
    let found: Double =
      switch color.range {
      case .full: middle + value * Double(most)
      case .limited: (index == 0 ? 16 * unit : middle) + value * (index == 0 ? 219 : 224) * unit
      }
    return min(max(Int(found.rounded()), 0), most)
  }
}
