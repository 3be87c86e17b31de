/// Where the samples of a plane come from, for two passes.
///
/// E. Catmull and A. R. Smith, "3-D transformations of images in scanline order", SIGGRAPH 1980: the
/// first pass moves samples along the rows, the second down the columns.
///
///     first:  (x, v) is found in the source at (along.x x + along.y v + along.start, v)
///     second: (x, y) is found in the first's result at (x, down.x x + down.y y + down.start)
struct PlaneGeometry {
  /// A position as a linear function of two coordinates.
  struct Line {
    var x = 0.0
    var y = 0.0
    var start = 0.0
  }

  /// Whether the passes can be computed: numbers that their fixed point can hold, and rows and columns
  /// that turn by no more than neighbouring lanes may differ.
  var isUsable: Bool {
    let isAlongHeld = abs(along.x) < Self.farthest && abs(along.start) < Self.farthest
    let isDownHeld = abs(down.y) < Self.farthest && abs(down.start) < Self.farthest
    return isAlongHeld && isDownHeld && abs(along.y) <= LaneWeights.steepest
      && abs(down.x) <= LaneWeights.steepest
  }

  /// Farthest position, in samples: beyond any picture. Larger: up to 2^31, what 64 bits with 32 behind the
  /// point hold.
  private static let farthest = 1e6

  var along = Line()
  var down = Line()

  /// `sensorFromStabilized` is in pixels of a picture of `width` by `height`; the plane has a sample
  /// for each `columns` by `rows` of these, sited at their middle, as in JPEG.
  init(
    _ sensorFromStabilized: Similarity, width: Int, height: Int, columns: Int, rows: Int
  ) {
    let (across, beside) = (Double(columns), Double(rows))
    // A sample's place in the picture, about the picture's middle, is across * x - middleX.
    let middleX = (Double(width) - across) / 2
    let middleY = (Double(height) - beside) / 2
    let (a, b) = (sensorFromStabilized.a, sensorFromStabilized.b)
    let (u, v) = sensorFromStabilized.apply(-middleX, -middleY)
    let ratio = across / beside
    let (startU, startV) = ((u + middleX) / across, (v + middleY) / beside)
    // u = a x - b / ratio y + startU, v = b ratio x + a y + startV; the first pass solves the second
    // for y.
    down = Line(x: b * ratio, y: a, start: startV)
    along = Line(x: a + b * b / a, y: -b / ratio / a, start: startU + b / ratio / a * startV)
  }
}
