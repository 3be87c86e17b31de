public import SprocketCore

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
}

/// Width to height of a picture as it is shown: spelled `16:9`, or `any`.
public struct Aspect: Sendable, Hashable, SettingValue {
  public var width: Int
  public var height: Int

  public init(_ width: Int, _ height: Int) { (self.width, self.height) = (width, height) }

  /// That of what is kept.
  public static let any = Aspect(0, 0)

  /// Larger than any aspect. Bounds products with sizes.
  private static let most = 100_000

  public init?(settingText: String) {
    guard settingText != "any" else {
      self = .any
      return
    }
    let parts = settingText.split(separator: ":", omittingEmptySubsequences: false)
      .map { Int($0) ?? 0 }
    guard parts.count == 2, parts.allSatisfy({ (1...Self.most).contains($0) }) else { return nil }
    self.init(parts[0], parts[1])
  }
  public var settingText: String { self == .any ? "any" : "\(width):\(height)" }
  public static var allowed: String { "width:height, such as 16:9, or any" }

  /// The largest rectangle of this aspect in the middle of `area`; at least one pixel.
  func largest(
    in area: (columns: Range<Int>, rows: Range<Int>), of pixel: PixelAspect
  ) -> (columns: Range<Int>, rows: Range<Int>) {
    guard self != .any else { return area }
    let shape = pixel.isOblong ? Double(pixel.width) / Double(pixel.height) : 1
    // Columns for each row.
    let ratio = Double(width) / Double(height) / shape
    let across = Double(area.rows.count) * ratio
    let down = Double(area.columns.count) / ratio
    let columns = min(max(Int(min(across, 1e9).rounded()), 1), area.columns.count)
    let rows = min(max(Int(min(down, 1e9).rounded()), 1), area.rows.count)
    let x = area.columns.lowerBound + (area.columns.count - columns) / 2
    let y = area.rows.lowerBound + (area.rows.count - rows) / 2
    return (x..<x + columns, y..<y + rows)
  }
}
