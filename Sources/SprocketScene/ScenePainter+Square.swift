import Glibc

// The road and the square in front with its test charts.
extension ScenePainter {
  mutating func paintRoad() {
    let top = horizon + unit * 0.075
    let bottom = horizon + unit * 0.155
    canvas.rectangle(x: 0...width - 1, y: top - unit * 0.01...top, SceneColor(0.72, 0.70, 0.66))
    canvas.rectangle(x: 0...width - 1, y: top...bottom, SceneColor(0.26, 0.26, 0.28), alpha: 0.93)
    let kerb = SceneColor(0.78, 0.77, 0.74)
    canvas.rectangle(x: 0...width - 1, y: bottom...bottom + unit * 0.012, kerb)
    let middle = (top + bottom) / 2
    let count = cells(0.12)
    let pitch = width / Float(count)
    for dash in 0..<count {
      let x = Float(dash) * pitch
      let white = SceneColor(0.93, 0.92, 0.88)
      canvas.rectangle(
        x: x...x + pitch * 0.5, y: middle - unit * 0.004...middle + unit * 0.004, white)
      if dash % 7 == 3 { paintCrossing(x: x, y: top...bottom) }
      if dash % 4 == 1 { paintCar(x: x, y: dash % 8 == 1 ? middle : bottom - unit * 0.004) }
    }
  }

  private mutating func paintCrossing(x: Float, y: ClosedRange<Float>) {
    for stripe in 0..<5 {
      let left = x + Float(stripe) * unit * 0.022
      let lean = unit * 0.03
      let wide = unit * 0.012
      canvas.polygon(
        [
          SIMD2(left + lean, y.lowerBound + 2), SIMD2(left + lean + wide, y.lowerBound + 2),
          SIMD2(left + wide, y.upperBound - 2), SIMD2(left, y.upperBound - 2),
        ], SceneColor(0.9, 0.9, 0.86))
    }
  }

  private mutating func paintCar(x: Float, y: Float) {
    let long = unit * 0.085
    let high = unit * 0.018
    let paint = varied(SceneColor(0.5, 0.3, 0.3), 0.3)
    let glass = SceneColor(0.14, 0.18, 0.22)
    canvas.polygon(
      [
        SIMD2(x + long * 0.28, y - high * 2.6), SIMD2(x + long * 0.70, y - high * 2.6),
        SIMD2(x + long * 0.86, y - high * 1.6), SIMD2(x + long * 0.14, y - high * 1.6),
      ], glass)
    canvas.rectangle(x: x...x + long, y: y - high * 1.7...y - high * 0.4, paint)
    for wheel: Float in [0.22, 0.78] {
      let cx = x + long * wheel
      canvas.disc(x: cx, y: y - high * 0.4, radius: high * 0.62, SceneColor(0.06, 0.06, 0.07))
      canvas.disc(x: cx, y: y - high * 0.4, radius: high * 0.3, SceneColor(0.7, 0.7, 0.72))
    }
    let lamp = SceneColor(1, 1, 0.92)
    canvas.rectangle(x: x + long * 0.94...x + long, y: y - high * 1.5...y - high, lamp)
  }

  mutating func paintSquare() {
    paintPavement()
    let count = max(4, cells(0.24))
    let pitch = width / Float(count)
    let start = random.below(8)
    for index in 0..<count {
      let center = SIMD2(
        (Float(index) + 0.5) * pitch + random.uniform(-0.04, 0.04) * unit,
        horizon + unit * random.uniform(0.265, 0.32))
      let size = min(pitch * 0.4, unit * random.uniform(0.07, 0.1))
      let foot = SIMD2(center.x, center.y + size * 1.45)
      canvas.line(
        from: center, to: foot, thickness: max(2, unit * 0.008), SceneColor(0.16, 0.15, 0.15))
      paintBoard((start + index) % 8, center: center, half: size)
    }
  }

  private mutating func paintPavement() {
    let top = horizon + unit * 0.24
    for joint in 0..<9 {
      let depth = Float(joint) / 8
      let y = top + (unit - top) * depth * depth
      canvas.rectangle(
        x: 0...width - 1, y: y...y + 1 + depth * unit * 0.003, SceneColor(0.18, 0.18, 0.16),
        alpha: 0.7)
    }
    let count = cells(0.11)
    let pitch = width / Float(count)
    for joint in 0..<count {
      let x = Float(joint) * pitch
      let lean = unit * 0.06 * (joint % 2 == 0 ? 1 : -1)
      canvas.line(
        from: SIMD2(x, top), to: SIMD2(x + lean, unit), thickness: 1.6,
        SceneColor(0.2, 0.2, 0.18))
    }
  }

  private mutating func paintBoard(_ kind: Int, center: SIMD2<Float>, half: Float) {
    let tilt = random.uniform(-0.3, 0.3)
    switch kind {
    case 0: panel(center, half, tilt: tilt, SceneChart.star(half: half))
    case 1: panel(center, half, tilt: tilt, SceneChart.checker(half: half))
    case 2: paintText(center, half)
    case 3: panel(center, half, tilt: tilt, SceneChart.rings(half: half))
    case 4: paintPalette(center, half)
    case 5: panel(center, half, tilt: tilt, SceneChart.bars(half: half))
    case 6: paintBalls(center, half)
    default: panel(center, half, tilt: 0.09, SceneChart.slantedEdge(half: half))
    }
  }

  /// A square board, turned by `tilt` radians, with a drawing on it and a white margin.
  private mutating func panel(
    _ center: SIMD2<Float>, _ half: Float, tilt: Float, _ chart: SceneChart
  ) {
    let reach = half * (abs(cosf(tilt)) + abs(sinf(tilt)))
    let (c, s) = (cosf(tilt), sinf(tilt))
    let x = center.x - reach...center.x + reach
    canvas.paint(x: x, y: center.y - reach...center.y + reach) { px, py in
      let dx = px - center.x
      let dy = py - center.y
      let u = dx * c + dy * s
      let v = dy * c - dx * s
      let margin = half - max(abs(u), abs(v))
      let drawn = edge(margin - half * 0.08)
      let paper = SceneColor(repeating: 0.95)
      let ink = chart.color(u, v)
      return SIMD4(paper + (ink - paper) * drawn, edge(margin))
    }
  }

  private mutating func paintText(_ center: SIMD2<Float>, _ half: Float) {
    let left = (center.x - half).rounded()
    let top = (center.y - half).rounded()
    canvas.rectangle(
      x: left...left + half * 2, y: top...top + half * 2, SceneColor(0.93, 0.92, 0.86))
    var y = top + half * 0.12
    var cell = max(1, (half / 14).rounded())
    while y + 5 * cell < top + half * 1.95 {
      let word = SceneLettering.words[random.below(SceneLettering.words.count)]
      let room = Int(half * 1.8 / (4 * cell))
      canvas.write(
        String(word.prefix(room)), x: (left + half * 0.12).rounded(), y: y.rounded(), cell: cell,
        SceneColor(0.07, 0.07, 0.09))
      y += 7 * cell
      cell = max(1, (cell * 0.8).rounded())
    }
  }

  private mutating func paintPalette(_ center: SIMD2<Float>, _ half: Float) {
    let x = center.x - half
    let y = center.y - half * 0.8
    canvas.rectangle(x: x...x + half * 2, y: y...y + half * 1.6, SceneColor(0.08, 0.08, 0.08))
    let patch = half * 2 / 6
    for index in 0..<24 {
      let left = x + patch * (Float(index % 6) + 0.1)
      let upper = y + patch * (Float(index / 6) * 1.2 + 0.1)
      let gray = SceneColor(repeating: 0.97 - 0.17 * Float(index % 6))
      let color = index < 18 ? varied(SceneColor(0.5, 0.45, 0.42), 0.42) : gray
      canvas.rectangle(x: left...left + patch * 0.8, y: upper...upper + patch, color)
    }
  }

  private mutating func paintBalls(_ center: SIMD2<Float>, _ half: Float) {
    for _ in 0..<5 {
      let radius = half * random.uniform(0.25, 0.55)
      let x = center.x + half * random.uniform(-0.8, 0.8)
      let y = center.y + half * random.uniform(-0.6, 1.0)
      let shadow = SceneColor(0.08, 0.09, 0.07)
      canvas.disc(x: x + radius * 0.5, y: y + radius * 0.6, radius: radius, shadow, alpha: 0.4)
      canvas.ball(x: x, y: y, radius: radius, varied(SceneColor(0.6, 0.35, 0.3), 0.3))
    }
  }
}
