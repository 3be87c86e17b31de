/// A rectangle of a picture, in pixels; its corners need not lie on whole ones.
package struct PicturePart: Sendable, Hashable {
  package var x: Double
  package var y: Double
  package var width: Double
  package var height: Double

  /// All of a picture.
  package init(_ format: FrameFormat) {
    (x, y, width, height) = (0, 0, Double(format.width), Double(format.height))
  }

  /// Places `region` to a fraction of a pixel.
  package init(_ region: Region, of format: FrameFormat) {
    let (across, down) = (Double(format.width), Double(format.height))
    (x, y) = (region.x * across, region.y * down)
    (width, height) = (region.width * across, region.height * down)
  }

  /// Whole pixels near `region`, of which no sample has to change: it begins on a whole chroma sample, and of
  /// interlaced pictures with the same field.
  package init(wholePixelsOf region: Region, of format: FrameFormat) {
    let (columns, rows) = region.pixels(width: format.width, height: format.height)
    let step = format.cropStep
    x = Double(columns.lowerBound / step.x * step.x)
    y = Double(rows.lowerBound / step.y * step.y)
    (width, height) = (Double(columns.count), Double(rows.count))
  }
}

extension FrameFormat {
  /// What the corner of a crop is a multiple of: whole chroma samples, and of interlaced pictures the same
  /// field in the first row.
  package var cropStep: (x: Int, y: Int) {
    let chroma = image?.subsampling
    let rows = chroma?.verticalFactor ?? 1
    return (
      chroma?.horizontalFactor ?? 1, presentation.fieldOrder.isInterlaced ? 2 * rows : rows
    )
  }
}

/// What becomes of a picture whose aspect is not that of the size that is asked for.
public enum ResizeMode: String, Sendable, CaseIterable, SettingValue {
  /// The picture keeps its aspect, and is as large as the size allows.
  case fit
  /// Covers the size, and what is beyond it is cut off, the same on both sides.
  case fill
  /// Takes the size whatever the aspect.
  case stretch
  /// The picture of `fit` lies in the middle of a grey picture of the size.
  case letterbox
}

/// Where in a new picture the old one lies, and which part of it.
package struct Placement {
  /// Width of the new picture, in pixels.
  package let width: Int
  package let height: Int
  /// The part of it that shows the old picture; else it is padding. Begins on whole chroma samples.
  package let columns: Range<Int>
  package let rows: Range<Int>
  package let sourceFromPicture: Projection
  /// Whether its rows are not those of the old picture.
  package let changesRows: Bool

  /// `part`: what is shown of the picture.
  package init(
    _ asked: TargetSize, _ mode: ResizeMode, of format: FrameFormat, showing part: PicturePart
  ) {
    let size = (
      width: asked.width > 0
        ? Double(asked.width) : part.width / part.height * Double(asked.height),
      height: asked.height > 0
        ? Double(asked.height) : part.height / part.width * Double(asked.width)
    )
    let scales = (x: size.width / part.width, y: size.height / part.height)
    let (whole, tall) = (Self.pixels(size.width), Self.pixels(size.height))
    let smaller = min(scales.x, scales.y)
    let fitting = (
      width: min(Self.pixels(part.width * smaller), whole),
      height: min(Self.pixels(part.height * smaller), tall)
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
    var steps = (x: part.width / Double(columns.count), y: part.height / Double(rows.count))
    if mode == .fill { steps = (min(steps.x, steps.y), min(steps.x, steps.y)) }
    // The middles of both parts lie on each other.
    let middle = (
      x: part.x + (part.width - 1) / 2
        - steps.x * Double(columns.lowerBound + columns.upperBound - 1) / 2,
      y: part.y + (part.height - 1) / 2
        - steps.y * Double(rows.lowerBound + rows.upperBound - 1) / 2
    )
    sourceFromPicture = Projection(
      scaleX: steps.x, scaleY: steps.y, shiftX: middle.x, shiftY: middle.y)
    changesRows = steps.y != 1 || middle.y != 0
  }

  private static func pixels(_ length: Double) -> Int {
    min(max(Int(min(length, 1e9).rounded()), 1), TargetSize.longest)
  }
}
