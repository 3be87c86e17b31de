import Glibc

// Buildings, balloons and trees.
extension ScenePainter {
  private static let walls: [SceneColor] = [
    SceneColor(0.62, 0.36, 0.28), SceneColor(0.78, 0.70, 0.56), SceneColor(0.50, 0.52, 0.56),
    SceneColor(0.86, 0.82, 0.74), SceneColor(0.40, 0.32, 0.30), SceneColor(0.66, 0.58, 0.36),
    SceneColor(0.30, 0.36, 0.44), SceneColor(0.74, 0.50, 0.40), SceneColor(0.92, 0.90, 0.86),
  ]

  mutating func paintTown(far: Bool) {
    var left: Float = 0
    while left < width {
      var span = unit * random.uniform(far ? 0.07 : 0.09, far ? 0.15 : 0.22)
      // The last house ends where the first began, or the seam would show.
      if width - left - span < unit * 0.08 { span = width - left }
      let tall = unit * random.uniform(far ? 0.16 : 0.07, far ? 0.40 : 0.26)
      if random.unit() < (far ? 0.8 : 0.66) {
        paintBuilding(x: left...left + span, tall: tall, far: far)
      }
      left += span
    }
  }

  private mutating func paintBuilding(x: ClosedRange<Float>, tall: Float, far: Bool) {
    let top = horizon - tall
    let foot = horizon + (far ? 0 : unit * 0.012)
    let haze = SceneColor(0.66, 0.73, 0.80)
    var wall = varied(Self.walls[random.below(Self.walls.count)], 0.06)
    if far { wall = wall + (haze - wall) * 0.5 }
    let inset = (x.upperBound - x.lowerBound) * 0.02
    let face = x.lowerBound + inset...x.upperBound - inset
    paintRoof(x: face, top: top, wall: wall)
    canvas.rectangle(x: face, y: top...foot, wall)
    // One side lies in the shade.
    let shade = face.upperBound - (face.upperBound - face.lowerBound) * 0.14
    canvas.rectangle(x: shade...face.upperBound, y: top...foot, wall * 0.55)
    paintWindows(x: face.lowerBound...shade, y: top...foot, wall: wall, far: far)
    if !far { paintSign(x: face.lowerBound...shade, foot: foot) }
  }

  private mutating func paintRoof(x: ClosedRange<Float>, top: Float, wall: SceneColor) {
    let middle = (x.lowerBound + x.upperBound) / 2
    let span = x.upperBound - x.lowerBound
    switch random.below(4) {
    case 0:
      let peak = SIMD2(middle, top - span * random.uniform(0.25, 0.6))
      let roof = varied(SceneColor(0.45, 0.22, 0.18), 0.08)
      let corners = [SIMD2(x.lowerBound, top + 1), peak, SIMD2(x.upperBound, top + 1)]
      canvas.polygon(corners, roof)
    case 1:
      let mast = top - unit * random.uniform(0.05, 0.12)
      let thick = max(1.2, unit * 0.004)
      let dark = SceneColor(0.12, 0.12, 0.14)
      canvas.line(from: SIMD2(middle, top), to: SIMD2(middle, mast), thickness: thick, dark)
      let guy = SIMD2(middle + span * 0.3, top)
      canvas.line(from: SIMD2(middle, mast), to: guy, thickness: thick * 0.6, dark)
    case 2:
      let high = top - unit * 0.03
      canvas.rectangle(x: middle - span * 0.2...middle + span * 0.1, y: high...top + 1, wall * 0.7)
    default:
      canvas.rectangle(x: x, y: top - unit * 0.008...top + 1, wall * 0.4)
    }
  }

  private mutating func paintWindows(
    x: ClosedRange<Float>, y: ClosedRange<Float>, wall: SceneColor, far: Bool
  ) {
    let pitch = max(5, unit * random.uniform(0.016, 0.034))
    let columns = Int((x.upperBound - x.lowerBound) / pitch)
    let rows = Int((y.upperBound - y.lowerBound) / (pitch * 1.3))
    guard columns > 0, rows > 1 else { return }
    let wide = random.uniform(0.4, 0.75) * pitch
    let high = random.uniform(0.5, 0.9) * pitch
    let step = (x.upperBound - x.lowerBound) / Float(columns)
    for row in 0..<rows - (far ? 0 : 1) {
      for column in 0..<columns {
        let left = x.lowerBound + step * Float(column) + (step - wide) / 2
        let upper = y.lowerBound + pitch * (0.5 + 1.3 * Float(row))
        let pane = windowColor(wall: wall, far: far)
        canvas.rectangle(x: left...left + wide, y: upper...upper + high, pane)
        guard !far, pitch > 9 else { continue }
        let sill = wall * 1.25
        canvas.rectangle(x: left - 1...left + wide + 1, y: upper + high...upper + high + 1.5, sill)
      }
    }
  }

  private mutating func windowColor(wall: SceneColor, far: Bool) -> SceneColor {
    let pane: SceneColor
    switch random.below(8) {
    case 0: pane = SceneColor(1.0, 0.93, 0.66)
    case 1: pane = SceneColor(0.80, 0.88, 0.95)
    default: pane = varied(SceneColor(0.10, 0.12, 0.16), 0.05)
    }
    return far ? pane + (wall - pane) * 0.45 : pane
  }

  private mutating func paintSign(x: ClosedRange<Float>, foot: Float) {
    let word = SceneLettering.words[random.below(SceneLettering.words.count)]
    let room = (x.upperBound - x.lowerBound) * 0.9
    let cell = min((room / Float(word.count * 4)).rounded(.down), (unit * 0.006).rounded(.up))
    guard cell >= 1 else { return }
    let left = x.lowerBound.rounded() + room * 0.05
    let top = (foot - unit * 0.012 - 9 * cell).rounded()
    let long = Float(word.count * 4 + 1) * cell
    let board = varied(SceneColor(0.15, 0.18, 0.32), 0.12)
    let text = random.unit() < 0.5 ? SceneColor(0.98, 0.95, 0.7) : SceneColor(0.95, 0.95, 0.95)
    let start = left.rounded()
    canvas.rectangle(x: start - cell...start + long, y: top - cell...top + 6 * cell, board)
    canvas.write(word, x: start, y: top, cell: cell, text)
  }

  mutating func paintBalloons() {
    for index in 0..<max(3, cells(0.35)) {
      let x = (Float(index) + random.uniform(0.2, 0.8)) * width / Float(max(3, cells(0.35)))
      let y = unit * random.uniform(0.06, 0.24)
      paintBalloon(x: x, y: y, radius: unit * random.uniform(0.018, 0.05))
    }
  }

  private mutating func paintBalloon(x: Float, y: Float, radius: Float) {
    let first = varied(SceneColor(0.75, 0.25, 0.20), 0.25)
    let second = varied(SceneColor(0.90, 0.80, 0.45), 0.15)
    let gores = Float(3 + random.below(3))
    canvas.paint(x: x - radius...x + radius, y: y - radius...y + radius) { px, py in
      let u = (px - x) / radius
      let v = (py - y) / radius
      let half = sqrtf(max(1 - v * v, 0.0001))
      let around = asinf(min(max(u / half, -1), 1))
      let wave = sinf(around * gores * 2) * radius * half * 0.35
      let mix = min(max(wave + 0.5, 0), 1)
      let light = 1.0 - 0.3 * (u * 0.6 + v * 0.5)
      return SIMD4((first + (second - first) * mix) * light, edge(radius - hypotf(px - x, py - y)))
    }
    let basket = SceneColor(0.25, 0.17, 0.10)
    let low = y + radius * 1.45
    for side: Float in [-0.5, 0.5] {
      let from = SIMD2(x + side * radius, y + radius * 0.85)
      canvas.line(
        from: from, to: SIMD2(x + side * radius * 0.4, low), thickness: 1.2, basket)
    }
    let reach = radius * 0.22
    canvas.rectangle(x: x - reach...x + reach, y: low...low + reach * 1.4, basket)
  }

  mutating func paintTrees() {
    for _ in 0..<cells(0.16) {
      let x = random.uniform(0, width)
      let size = unit * random.uniform(0.03, 0.07)
      paintTree(x: x, foot: horizon + unit * random.uniform(0.02, 0.07), size: size)
    }
  }

  private mutating func paintTree(x: Float, foot: Float, size: Float) {
    let bark = SceneColor(0.20, 0.14, 0.09)
    let crown = foot - size * 2
    canvas.line(
      from: SIMD2(x, foot), to: SIMD2(x, crown), thickness: max(1.5, size * 0.16), bark)
    let leaf = varied(SceneColor(0.20, 0.36, 0.13), 0.06)
    for index in 0..<70 {
      let angle = random.uniform(0, 2 * Float.pi)
      let away = size * sqrtf(random.uniform(0, 1))
      let light = 0.55 + 0.65 * Float(index) / 70
      let tone = varied(leaf * light, 0.05)
      canvas.disc(
        x: x + cosf(angle) * away, y: crown + sinf(angle) * away * 0.9 - size * 0.1,
        radius: max(1, size * random.uniform(0.06, 0.2)), tone)
    }
  }
}
