/// Width and height in pixels, of which one may be open: spelled `640x480`, `640x`, `x480`, or `none`.
public struct TargetSize: Sendable, Hashable, SettingValue {
  /// 0 where it follows from the other and the picture's aspect.
  public var width: Int
  public var height: Int

  public init(width: Int = 0, height: Int = 0) { (self.width, self.height) = (width, height) }

  public static let none = TargetSize()

  /// The longest side, in pixels. Larger: beyond what codecs and detectors take.
  package static let longest = 32768

  public init?(settingText: String) {
    guard settingText != "none" else {
      self = .none
      return
    }
    let parts = settingText.split(separator: "x", omittingEmptySubsequences: false)
    guard parts.count == 2 else { return nil }
    let sides = parts.map { $0.isEmpty ? 0 : Int($0).map { $0 == 0 ? -1 : $0 } ?? -1 }
    guard sides != [0, 0], sides.allSatisfy({ (0...Self.longest).contains($0) }) else { return nil }
    self.init(width: sides[0], height: sides[1])
  }
  public var settingText: String {
    guard self != .none else { return "none" }
    return (width == 0 ? "" : "\(width)") + "x" + (height == 0 ? "" : "\(height)")
  }
  public static var allowed: String {
    "width x height, such as 640x480, 640x or x480, each up to \(longest)"
  }
  public static var forms: [SettingForm] {
    [.text(pattern: "none|[1-9][0-9]*x([1-9][0-9]*)?|x[1-9][0-9]*")]
  }
}
