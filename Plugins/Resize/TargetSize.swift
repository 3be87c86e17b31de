public import SprocketCore

/// Width and height in pixels, of which one may be open: spelled `640x480`, `640x`, `x480`, or `none`.
public struct TargetSize: Sendable, Hashable, SettingValue {
  /// 0 where it follows from the other and the picture's aspect.
  public var width: Int
  public var height: Int

  public init(width: Int = 0, height: Int = 0) { (self.width, self.height) = (width, height) }

  public static let none = TargetSize()

  /// The longest side, in pixels. Larger: beyond what codecs and detectors take.
  static let longest = 32768

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

/// Where in the new picture the old one lies, and which part of it.
struct Placement {
  /// Of the new picture.
  let width: Int
  let height: Int
  /// The part of it that shows the old picture; else it is padding. Begins on whole chroma samples.
  let columns: Range<Int>
  let rows: Range<Int>
  let sourceFromPicture: Projection
  /// Whether its rows are not those of the old picture.
  let changesRows: Bool

  init(_ asked: TargetSize, _ mode: Resize.Mode, of format: FrameFormat) {
    let old = (width: Double(format.width), height: Double(format.height))
    let size = (
      width: asked.width > 0 ? Double(asked.width) : old.width / old.height * Double(asked.height),
      height: asked.height > 0 ? Double(asked.height) : old.height / old.width * Double(asked.width)
    )
    let scales = (x: size.width / old.width, y: size.height / old.height)
    let (whole, tall) = (Self.pixels(size.width), Self.pixels(size.height))
    let smaller = min(scales.x, scales.y)
    let fitting = (
      width: min(Self.pixels(old.width * smaller), whole),
      height: min(Self.pixels(old.height * smaller), tall)
    )
    switch mode {
    case .fit:
      (width, height) = (fitting.width, fitting.height)
      (columns, rows) = (0..<width, 0..<height)
    case .stretch, .fill:
      (width, height) = (whole, tall)
      (columns, rows) = (0..<width, 0..<height)
    case .letterbox:
      (width, height) = (whole, tall)
      let chroma = format.image?.subsampling
      let (across, down) = (chroma?.horizontalFactor ?? 1, chroma?.verticalFactor ?? 1)
      let x = (whole - fitting.width) / 2 / across * across
      let y = (tall - fitting.height) / 2 / down * down
      columns = x..<x + fitting.width
      rows = y..<y + fitting.height
    }
    // Pixels of the old picture for each of the new one.
    var steps = (x: old.width / Double(columns.count), y: old.height / Double(rows.count))
    if mode == .fill { steps = (min(steps.x, steps.y), min(steps.x, steps.y)) }
    // The middles of both parts lie on each other.
    let middle = (
      x: (old.width - 1) / 2 - steps.x * Double(columns.lowerBound + columns.upperBound - 1) / 2,
      y: (old.height - 1) / 2 - steps.y * Double(rows.lowerBound + rows.upperBound - 1) / 2
    )
    sourceFromPicture = Projection(
      scaleX: steps.x, scaleY: steps.y, shiftX: middle.x, shiftY: middle.y)
    changesRows = steps.y != 1 || middle.y != 0
  }

  private static func pixels(_ length: Double) -> Int {
    min(max(Int(min(length, 1e9).rounded()), 1), TargetSize.longest)
  }
}
