import SprocketCore

/// Draws a line of glyphs and the box behind it into pictures of one format.
///
/// A sample of subsampled chroma that letters cover in part is mixed in proportion. The box begins and ends
/// with whole samples of chroma.
struct TextPainter {
  /// What is drawn into one plane: pixels per sample, and the samples of the colours.
  private struct Layer {
    let columns, rows: Int
    let text, box: Int
  }

  /// Dots from one letter to the next, and of a line with its margins.
  private static let advance = Font.width + 1
  private static let lineHeight = Font.height + 2
  /// Dots between the box and the picture's edge.
  private static let margin = 4
  /// Lines that a picture has room for at the size that is chosen by itself. Larger: smaller letters.
  private static let usualLines = 24

  private var layers: [Layer] = []
  private var isDeep = false
  private var size = 1
  private var spot = TextOverlay.Place.bottomLeft
  /// Opacity of the box, in 256ths.
  private var opacity = 0
  private var width = 0
  private var height = 0
  private var step = (x: 1, y: 1)
  /// How many pixels of each sample of a row letters cover.
  private var covered: [UInt8] = []
  // The line's box in pixels, and how many glyphs fit.
  private var x = 0
  private var y = 0
  private var boxWidth = 0
  private var boxHeight = 0

  init() {}

  /// `glyphs` is the usual length of a line.
  init(_ settings: TextOverlay.Settings, for format: FrameFormat, glyphs: Int) {
    guard let image = format.image else { return }
    (width, height, isDeep) = (format.width, format.height, image.isDeep)
    spot = settings.place
    opacity = Int((settings.opacity * 256).rounded())
    let fitting = width / (glyphs * Self.advance + 1)
    let lines = Self.usualLines * Self.lineHeight
    size = settings.size ?? max(1, min((height + lines / 2) / lines, fitting))
    for plane in 0..<image.planeCount {
      let grid = format.sampleGrid(plane: plane)
      step = (max(step.x, grid.columns), max(step.y, grid.rows))
      layers.append(
        Layer(
          columns: grid.columns, rows: grid.rows,
          text: settings.color.sample(plane: plane, of: format.color, bits: image.bitsPerSample),
          box: settings.box.sample(plane: plane, of: format.color, bits: image.bitsPerSample)))
    }
    covered = [UInt8](repeating: 0, count: width)
  }

  /// Places the box of a line; false if the picture is too narrow for all of it.
  mutating func place(glyphs count: Int) -> Bool {
    let wanted = (count * Self.advance + 1) * size
    boxWidth = min(rounded(wanted, up: step.x), width)
    boxHeight = min(rounded(Self.lineHeight * size, up: step.y), height)
    let (freeX, freeY) = (width - boxWidth, height - boxHeight)
    let margin = Self.margin * size
    let left =
      switch spot {
      case .topLeft, .bottomLeft: min(margin, freeX)
      case .top, .bottom: freeX / 2
      case .topRight, .bottomRight: max(0, freeX - margin)
      }
    let top =
      switch spot {
      case .topLeft, .top, .topRight: min(margin, freeY)
      case .bottomLeft, .bottom, .bottomRight: max(0, freeY - margin)
      }
    (x, y) = (left / step.x * step.x, top / step.y * step.y)
    return wanted <= width
  }

  private func rounded(_ number: Int, up step: Int) -> Int { (number + step - 1) / step * step }

  mutating func paint(_ line: borrowing TextLine, _ frame: inout FrameView) {
    guard line.count > 0 else { return }
    var picture = frame.edit()
    for plane in layers.indices {
      let layer = layers[plane]
      let last = min((y + boxHeight + layer.rows - 1) / layer.rows, picture.rows(plane: plane))
      for row in y / layer.rows..<max(last, y / layer.rows) {
        cover(row, layer, line)
        let all = layer.columns * layer.rows
        let (start, end) = (x / layer.columns, (x + boxWidth + layer.columns - 1) / layer.columns)
        if isDeep {
          var samples = picture.row16(row, plane: plane)
          let area = start..<min(end, samples.count)
          mix(&samples, area, covered.span, of: all, layer.text, layer.box, opacity)
        } else {
          var samples = picture.row(row, plane: plane)
          let area = start..<min(end, samples.count)
          mix(&samples, area, covered.span, of: all, layer.text, layer.box, opacity)
        }
      }
    }
  }

  /// Fills `covered` for row `row` of a plane, from the box's left edge on.
  private mutating func cover(_ row: Int, _ layer: Layer, _ line: borrowing TextLine) {
    for index in covered.indices { covered[index] = 0 }
    for pixelRow in row * layer.rows..<(row + 1) * layer.rows {
      let dotRow = (pixelRow - y) / size - 1
      guard pixelRow >= y, dotRow >= 0, dotRow < Font.height else { continue }
      for index in 0..<line.count {
        let bits = Font.row(dotRow, of: line.glyphs[index])
        guard bits != 0 else { continue }
        for dot in 0..<Font.width where bits & (16 >> UInt8(dot)) != 0 {
          let start = (index * Self.advance + 1 + dot) * size
          guard start < boxWidth else { continue }
          for pixel in start..<min(start + size, boxWidth) { covered[pixel / layer.columns] += 1 }
        }
      }
    }
  }
}

// The box is mixed with the picture, then the letters with that. Products stay below 2^26: samples have 16
// bits, opacity 9, and a sample covers at most 8 pixels.
private func mix<Sample: FixedWidthInteger & BitwiseCopyable>(
  _ samples: inout MutableSpan<Sample>, _ area: Range<Int>, _ covered: Span<UInt8>, of all: Int,
  _ text: Int, _ box: Int, _ opacity: Int
) {
  for index in area {
    let base = (Int(samples[index]) * (256 - opacity) + box * opacity + 128) / 256
    let share = Int(covered[index - area.lowerBound])
    samples[index] = Sample(
      truncatingIfNeeded: (base * (all - share) + text * share + all / 2) / all)
  }
}
