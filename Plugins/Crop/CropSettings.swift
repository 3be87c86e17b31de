public import SprocketCore

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
  public static var forms: [SettingForm] { [.text(pattern: "any|[1-9][0-9]*:[1-9][0-9]*")] }

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
