internal import SprocketCore

/// Makes a picture of a mosaic, row by row. Allocates nothing after `init`.
///
/// A row of the mosaic becomes a *line*: its even columns, then its odd ones, as numbers of the picture's
/// scale, with one more at both ends of each. So the neighbours of all pixels lie at the same distance, and
/// loops have no step of 2. Beyond its edges the mosaic is mirrored about its outermost rows and columns,
/// which keeps the pattern.
struct Demosaic {
  private let order: BayerOrder
  private let samples: BayerSamples
  private let width: Int
  private let height: Int
  private let isBilinear: Bool
  private let isDeep: Bool
  /// Largest sample of the picture.
  private let white: Float
  /// Samples of the even, or of the odd, columns of a line.
  private let half: Int

  /// The sensor's level of black, and by what samples are multiplied once it is taken off.
  private var black: Float = 0
  private var gains = (red: Float(1), green: Float(1), blue: Float(1))

  /// The samples of a row that are not words by themselves.
  private var words: [UInt16]
  /// The latest five rows, row `y` in place `y % 5`.
  private var lines: [Float]
  /// Sums of the two rows next to a row, and of the two beyond these.
  private var near: [Float]
  private var far: [Float]
  private var found: FoundColors

  init(
    _ order: BayerOrder, _ samples: BayerSamples, width: Int, height: Int, isBilinear: Bool,
    bits: Int
  ) {
    self.order = order
    self.samples = samples
    self.width = width
    self.height = height
    self.isBilinear = isBilinear
    isDeep = bits > 8
    white = Float(1 << bits - 1)
    half = (width + 1) / 2
    words = [UInt16](repeating: 0, count: width + 3)
    let size = 2 * (half + 2)
    lines = [Float](repeating: 0, count: 5 * size)
    near = [Float](repeating: 0, count: size)
    far = [Float](repeating: 0, count: size)
    found = FoundColors(count: half)
  }

  /// `black` is a fraction of the sensor's full scale; what lies above it is scaled to the picture's.
  mutating func scale(black: Float, red: Float, blue: Float) {
    let full = Float(1 << samples.depth.rawValue - 1)
    self.black = black * full
    let gain = white / (full - self.black)
    gains = (red * gain, gain, blue * gain)
  }

  mutating func write(_ picture: inout ImageEditor) {
    for y in 0..<min(2, height) { load(y, picture) }
    for y in 0..<height {
      if y + 2 < height { load(y + 2, picture) }
      interpolate(y)
      store(y, &picture)
    }
  }

  /// Where row `y` of the mosaic is in `lines`.
  private func place(_ y: Int) -> Range<Int> {
    let (size, row) = (2 * (half + 2), mirrored(y, height) % 5)
    return row * size..<(row + 1) * size
  }

  /// The colour of a row besides green, and whether it is in the even columns.
  private func color(ofRow y: Int) -> (isRed: Bool, isEven: Bool) {
    let isFirst = y % 2 == 0
    return switch order {
    case .rggb: isFirst ? (true, true) : (false, false)
    case .grbg: isFirst ? (true, false) : (false, true)
    case .gbrg: isFirst ? (false, false) : (true, true)
    case .bggr: isFirst ? (false, true) : (true, false)
    }
  }

  private mutating func load(_ y: Int, _ picture: borrowing ImageEditor) {
    let (isRed, isEven) = color(ofRow: y)
    let color = isRed ? gains.red : gains.blue
    let scale = SampleScale(
      black: black, even: isEven ? color : gains.green, odd: isEven ? gains.green : color,
      white: white)
    let (mosaic, place) = (picture.source[plane: 0], place(y))
    if samples.areWords {
      spread(mosaic[row16: y].extracting(first: width), scale, into: &lines, place)
    } else {
      unpackRow(mosaic[row: y], samples, width: width, into: &words)
      spread(words, count: width, scale, into: &lines, place)
    }
  }

  /// Finds the missing colours of a row.
  private mutating func interpolate(_ y: Int) {
    let (line, isEven) = (place(y), color(ofRow: y).isEven)
    Self.add(lines, place(y - 1), place(y + 1), into: &near)
    if isBilinear { return found.bilinear(lines, line, near, isEven: isEven) }
    Self.add(lines, place(y - 2), place(y + 2), into: &far)
    found.malvar(lines, line, near, far, isEven: isEven, white: white)
  }

  /// Adds two lines.
  private static func add(
    _ lines: [Float], _ one: Range<Int>, _ other: Range<Int>, into sums: inout [Float]
  ) {
    var out = sums.mutableSpan
    addRows(lines.span.extracting(one), lines.span.extracting(other), into: &out)
  }

  private func store(_ y: Int, _ picture: inout ImageEditor) {
    let (isRed, isEven) = color(ofRow: y)
    let line = lines.span.extracting(place(y))
    let size = half + 2
    let first = line.extracting(1..<half + 1)
    let second = line.extracting(size + 1..<size + half + 1)
    let colors = isEven ? first : second
    let greens = isEven ? second : first
    for plane in 0..<3 {
      let weights = ColorWeights(plane: plane, isRedFirst: isRed, white: white)
      if isDeep {
        var row = picture.row16(y, plane: plane)
        found.storeWords(colors, greens, isEven: isEven, weights, into: &row)
      } else {
        var pairs = picture.row16(y, plane: plane)
        found.storeBytes(colors, greens, isEven: isEven, weights, into: &pairs)
        guard width % 2 == 1 else { continue }
        var row = picture.row(y, plane: plane)
        row[width - 1] = found.last(colors, greens, isEven: isEven, weights)
      }
    }
  }
}

/// `index` of `count` rows or columns, 2 or more, mirrored about the first and the last.
func mirrored(_ index: Int, _ count: Int) -> Int {
  let period = 2 * (count - 1)
  let place = (index % period + period) % period
  return min(place, period - place)
}

/// The colours that a row of the mosaic lacks. Half of its pixels have green and lack two: the row's colour
/// and the other one. The others have the row's colour and lack green and the other one.
struct FoundColors {
  private let count: Int
  /// Of pixels that have the row's colour.
  private var greens: [Float]
  private var others: [Float]
  /// Of pixels that have green.
  private var rowColors: [Float]
  private var otherColors: [Float]

  init(count: Int) {
    self.count = count
    // Memory of its own for each: arrays that share some would be copied when they are first written.
    greens = [Float](repeating: 0, count: count)
    others = [Float](repeating: 0, count: count)
    rowColors = [Float](repeating: 0, count: count)
    otherColors = [Float](repeating: 0, count: count)
  }

  /// Where in a line the pixels with a colour and those with green are; and the samples beside these, of the
  /// other columns, from the left neighbour of the first pixel on.
  private struct Places {
    let colors, greens, besideColors, besideGreens: Range<Int>

    /// `isEven`: the row's colour is in the even columns.
    init(count: Int, isEven: Bool) {
      let size = count + 2
      let (first, second) = (0..<size, size..<2 * size)
      (colors, greens) = isEven ? (first, second) : (second, first)
      let left = isEven ? second.lowerBound : first.lowerBound + 1
      besideColors = left..<left + count + 1
      let leftOfGreen = isEven ? first.lowerBound + 1 : second.lowerBound
      besideGreens = leftOfGreen..<leftOfGreen + count + 1
    }
  }

  /// `near` is the sum of the rows above and below.
  mutating func bilinear(_ lines: [Float], _ place: Range<Int>, _ near: [Float], isEven: Bool) {
    let at = Places(count: count, isEven: isEven)
    let (line, near) = (lines.span.extracting(place), near.span)
    var out = greens.mutableSpan
    meanOfFour(line.extracting(at.besideColors), near.extracting(at.colors), into: &out)
    out = others.mutableSpan
    meanOfPairs(near.extracting(at.besideColors), 0.25, into: &out)
    out = rowColors.mutableSpan
    meanOfPairs(line.extracting(at.besideGreens), 0.5, into: &out)
    out = otherColors.mutableSpan
    halve(near.extracting(at.greens), into: &out)
  }

  /// `far` is the sum of the rows beyond those of `near`.
  mutating func malvar(
    _ lines: [Float], _ place: Range<Int>, _ near: [Float], _ far: [Float], isEven: Bool,
    white: Float
  ) {
    let at = Places(count: count, isEven: isEven)
    let (line, near, far) = (lines.span.extracting(place), near.span, far.span)
    let (colors, farColors) = (line.extracting(at.colors), far.extracting(at.colors))
    let (greens, farGreens) = (line.extracting(at.greens), far.extracting(at.greens))
    let (nearColumns, nearGreens) = (near.extracting(at.colors), near.extracting(at.greens))
    var out = self.greens.mutableSpan
    findGreen(
      colors, farColors, line.extracting(at.besideColors), nearColumns, white: white, into: &out)
    out = others.mutableSpan
    findOther(colors, farColors, near.extracting(at.besideColors), white: white, into: &out)
    out = rowColors.mutableSpan
    findRowColor(
      greens, farGreens, line.extracting(at.besideGreens), near.extracting(at.besideGreens),
      white: white, into: &out)
    out = otherColors.mutableSpan
    findOtherColor(
      greens, farGreens, nearGreens, near.extracting(at.besideGreens), white: white, into: &out)
  }

  /// Writes a row of one plane of bytes, but the last of an odd number, as words of two each. `colors` and
  /// `pureGreens` are the row's own samples.
  func storeBytes(
    _ colors: Span<Float>, _ pureGreens: Span<Float>, isEven: Bool, _ weights: ColorWeights,
    into pairs: inout MutableSpan<UInt16>
  ) {
    if isEven {
      storePairs(
        colors, greens.span, others.span, rowColors.span, pureGreens, otherColors.span, weights,
        into: &pairs)
    } else {
      storePairs(
        rowColors.span, pureGreens, otherColors.span, colors, greens.span, others.span, weights,
        into: &pairs)
    }
  }

  /// The last sample of a row whose width is odd.
  func last(
    _ colors: Span<Float>, _ pureGreens: Span<Float>, isEven: Bool, _ weights: ColorWeights
  ) -> UInt8 {
    let i = count - 1
    return UInt8(
      truncatingIfNeeded: isEven
        ? weights.sample(colors[i], greens[i], others[i])
        : weights.sample(rowColors[i], pureGreens[i], otherColors[i]))
  }

  /// Writes a row of one plane of words.
  func storeWords(
    _ colors: Span<Float>, _ pureGreens: Span<Float>, isEven: Bool, _ weights: ColorWeights,
    into row: inout MutableSpan<UInt16>
  ) {
    if isEven {
      storeRow(
        colors, greens.span, others.span, rowColors.span, pureGreens, otherColors.span, weights,
        into: &row)
    } else {
      storeRow(
        rowColors.span, pureGreens, otherColors.span, colors, greens.span, others.span, weights,
        into: &row)
    }
  }
}
