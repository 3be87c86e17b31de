// Regions, rectangles and points of a picture, as settings.

/// A rectangle in fractions of the picture, origin at the top left: spelled `x/y/width/height`.
public struct Region: Sendable, Hashable, SettingValue {
  public var x: Double
  public var y: Double
  public var width: Double
  public var height: Double

  public init(x: Double, y: Double, width: Double, height: Double) {
    self.x = x
    self.y = y
    self.width = width
    self.height = height
  }

  public static let whole = Region(x: 0, y: 0, width: 1, height: 1)

  public init?(settingText: String) {
    let parts = settingText.split(separator: "/", omittingEmptySubsequences: false)
      .map { Double($0) ?? .nan }
    guard parts.count == 4, parts.allSatisfy({ (0...1).contains($0) }), parts[2] > 0, parts[3] > 0,
      parts[0] + parts[2] <= 1 + 1e-9, parts[1] + parts[3] <= 1 + 1e-9
    else { return nil }
    self.init(x: parts[0], y: parts[1], width: parts[2], height: parts[3])
  }
  public var settingText: String {
    [x, y, width, height].map(\.settingText).joined(separator: "/")
  }
  public static var allowed: String {
    "x/y/width/height in fractions of the picture, within it: x + width and y + height are 1 at most"
  }
  public static var forms: [SettingForm] {
    [.text(pattern: "[0-9]+(\\.[0-9]+)?(/[0-9]+(\\.[0-9]+)?){3}")]
  }

  /// The region in pixels of a `width` by `height` picture; at least one pixel.
  public func pixels(width: Int, height: Int) -> (columns: Range<Int>, rows: Range<Int>) {
    func span(_ start: Double, _ length: Double, _ count: Int) -> Range<Int> {
      let first = min(Int((start * Double(count)).rounded()), count - 1)
      let last = min(max(Int(((start + length) * Double(count)).rounded()), first + 1), count)
      return first..<last
    }
    return (span(x, self.width, width), span(y, self.height, height))
  }
}

/// A rectangle in pixels, its corner at the top left: spelled `x/y/width/height`, or `all`.
public struct PixelArea: Sendable, Hashable, SettingValue {
  public var x: Int
  public var y: Int
  public var width: Int
  public var height: Int

  public init(x: Int, y: Int, width: Int, height: Int) {
    (self.x, self.y, self.width, self.height) = (x, y, width, height)
  }

  /// The whole picture, whatever its size.
  public static let whole = PixelArea(x: 0, y: 0, width: 0, height: 0)

  /// Larger than any picture. Bounds sums of two of them.
  private static let most = 1 << 24

  public init?(settingText: String) {
    guard settingText != "all" else {
      self = .whole
      return
    }
    let parts = settingText.split(separator: "/", omittingEmptySubsequences: false)
      .map { Int($0) ?? -1 }
    guard parts.count == 4, parts.allSatisfy({ (0...Self.most).contains($0) }), parts[2] > 0,
      parts[3] > 0
    else { return nil }
    self.init(x: parts[0], y: parts[1], width: parts[2], height: parts[3])
  }
  public var settingText: String {
    self == .whole ? "all" : "\(x)/\(y)/\(width)/\(height)"
  }
  public static var allowed: String { "x/y/width/height in whole pixels, or all" }
  public static var forms: [SettingForm] { [.text(pattern: "all|[0-9]+(/[0-9]+){3}")] }
}

/// A point in fractions of the picture, 0/0 top left, 1/1 bottom right: spelled `x/y`.
public struct Point: Sendable, Hashable, SettingValue {
  public var x: Double
  public var y: Double

  public init(x: Double, y: Double) {
    self.x = x
    self.y = y
  }

  public static let center = Point(x: 0.5, y: 0.5)

  public init?(settingText: String) {
    let parts = settingText.split(separator: "/", omittingEmptySubsequences: false)
      .map { Double($0) ?? .nan }
    guard parts.count == 2, parts.allSatisfy({ (0...1).contains($0) }) else { return nil }
    self.init(x: parts[0], y: parts[1])
  }
  public var settingText: String { [x, y].map(\.settingText).joined(separator: "/") }
  public static var allowed: String { "x/y in fractions of the picture, 0 to 1" }
  public static var forms: [SettingForm] {
    [.text(pattern: "[0-9]+(\\.[0-9]+)?/[0-9]+(\\.[0-9]+)?")]
  }
}
