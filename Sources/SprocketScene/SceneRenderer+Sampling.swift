import Glibc

/// A row of samples as a line in the texture: sample i lies at (x + i * step, y + i * step *
/// slope), in texels of one plane.
struct SceneLine {
  var x: Double
  var y: Double
  var step: Double
  var slope: Double
}

extension SceneRenderer {
  /// The line of samples that begins at frame pixel (x, y) and has one every `stride` pixels to
  /// the right; in luma texels, or in chroma texels, each in the middle of four of those.
  func line(
    _ moment: SceneMoment, x: Double, y: Double, stride: Double, isHalved: Bool
  ) -> SceneLine {
    let motion = moment.sceneFromFrame
    let across = motion.scale * cos(motion.roll)
    let down = motion.scale * sin(motion.roll)
    let u = x - Double(width - 1) / 2
    let v = y - Double(height - 1) / 2
    let dx = Self.folded(motion.dx, period: texture.width)
    let dy = Self.folded(motion.dy, period: 2 * texture.height)
    var line = SceneLine(
      x: Double(texture.width - 1) / 2 + dx + across * u - down * v,
      y: Double(texture.height - 1) / 2 + dy + down * u + across * v,
      step: across * stride, slope: down / across)
    if isHalved {
      line.x = (line.x - 0.5) / 2
      line.y = (line.y - 0.5) / 2
      line.step /= 2
    }
    return line
  }

  /// A way so far that its fractions of a pixel would be lost, after years of panning, without whole
  /// repetitions of the texture. Ways of up to a million pixels stay as they are, to the last bit.
  private static func folded(_ way: Double, period: Int) -> Double {
    abs(way) <= 1e6 ? way : way.truncatingRemainder(dividingBy: Double(period))
  }

  /// Leaves `count` samples of plane 0 (luma), 1 (U) or 2 (V), blurred by `sigma`, in `values`.
  mutating func sample(plane: Int, along line: SceneLine, count: Int, sigma: Double) {
    let first = Int(line.x.rounded(.down)) - 1
    let last = Int((line.x + line.step * Double(count - 1)).rounded(.down)) + 2
    let columns = first..<last + 1
    let mix = SceneLens.mix(sigma: sigma)
    let (width, height) = plane == 0 ? (texture.width, texture.height) : texture.chromaSize
    let near = texture.levels[mix.lower].plane(plane)
    let far = texture.levels[mix.lower + 1].plane(plane)
    if mix.share == 0 {
      line.cross(columns, of: near, width: width, height: height, into: &crossed)
    } else if mix.share == 1 {
      line.cross(columns, of: far, width: width, height: height, into: &crossed)
    } else {
      line.cross(
        columns, of: near, and: far, share: Float(mix.share), width: width, height: height,
        into: &crossed)
    }
    line.follow(crossed, first: first, columns: columns.count, count: count, into: &values)
  }
}

/// A stretch of a line that stays within one texture row, and does not leave it sideways.
private struct Stretch {
  var count: Int
  var phase: Float
  /// Where the four rows that it needs begin, in the texture's bytes.
  var starts: InlineArray<4, Int>
}

extension SceneLine {
  /// Interpolates texture columns in y, where the line crosses them, into `crossed`.
  func cross(
    _ columns: Range<Int>, of texels: [UInt8], width: Int, height: Int,
    into crossed: inout [Float]
  ) {
    let texels = texels.span
    var crossed = crossed.mutableSpan
    var done = 0
    while done < columns.count {
      let part = stretch(from: columns.lowerBound + done, to: columns.upperBound, width, height)
      let padded = Self.padded(part.count)
      var out = crossed._mutatingExtracting(done..<done + padded)
      crossRows(
        texels.extracting(part.starts[0]..<part.starts[0] + padded),
        texels.extracting(part.starts[1]..<part.starts[1] + padded),
        texels.extracting(part.starts[2]..<part.starts[2] + padded),
        texels.extracting(part.starts[3]..<part.starts[3] + padded), into: &out,
        phase: part.phase, step: Float(slope))
      done += part.count
    }
  }

  /// As above, of two textures mixed.
  func cross(
    _ columns: Range<Int>, of near: [UInt8], and far: [UInt8], share: Float, width: Int,
    height: Int, into crossed: inout [Float]
  ) {
    let (near, far) = (near.span, far.span)
    var crossed = crossed.mutableSpan
    var done = 0
    while done < columns.count {
      let part = stretch(from: columns.lowerBound + done, to: columns.upperBound, width, height)
      let padded = Self.padded(part.count)
      let a = part.starts[0]..<part.starts[0] + padded
      let b = part.starts[1]..<part.starts[1] + padded
      let c = part.starts[2]..<part.starts[2] + padded
      let d = part.starts[3]..<part.starts[3] + padded
      var out = crossed._mutatingExtracting(done..<done + padded)
      crossMixedRows(
        near.extracting(a), near.extracting(b), near.extracting(c), near.extracting(d),
        far.extracting(a), far.extracting(b), far.extracting(c), far.extracting(d), into: &out,
        share: share, phase: part.phase, step: Float(slope))
      done += part.count
    }
  }

  /// Whole vectors: what is computed too much is overwritten by the stretch that follows, and
  /// `SceneTexture.padding` keeps it within memory.
  private static func padded(_ count: Int) -> Int {
    (count + 7) & ~7
  }

  @inline(__always)
  private func stretch(from column: Int, to end: Int, _ width: Int, _ height: Int) -> Stretch {
    let place = y + (Double(column) - x) * slope
    let row = place.rounded(.down)
    var start = column
    // The usual case costs no division.
    if start < 0 || start >= width { start = (start % width + width) % width }
    let count = min(end - column, width - start, Self.runLength(place - row, slope))
    var starts = InlineArray<4, Int>(repeating: start)
    for index in 0..<4 {
      starts[index] += mirrored(Int(row) - 1 + index, height: height) * width
    }
    return Stretch(count: count, phase: Float(place - row), starts: starts)
  }

  /// Interpolates `crossed` in x at the line's samples.
  func follow(
    _ crossed: [Float], first: Int, columns: Int, count: Int, into values: inout [UInt16]
  ) {
    let crossed = crossed.span
    var values = values.mutableSpan
    var done = 0
    while done < count {
      let place = x + step * Double(done)
      let column = place.rounded(.down)
      let left = Int(column) - 1 - first
      // The column advances by one per sample while the phase, which drifts, stays within it.
      let run = min(count - done, columns - 3 - left, Self.runLength(place - column, step - 1))
      var out = values._mutatingExtracting(done..<done + run)
      alongRow(
        crossed.extracting(left..<left + run + 3), into: &out, phase: Float(place - column),
        step: Float(step - 1))
      done += run
    }
  }

  /// How many steps from `phase` (0..<1) stay within one texel.
  private static func runLength(_ phase: Double, _ step: Double) -> Int {
    if step == 0 { return .max }
    let steps = step > 0 ? ((1 - phase) / step).rounded(.up) : (phase / -step).rounded(.down) + 1
    return Int(min(max(steps, 1), 1e9))
  }
}

extension SceneTexture.Level {
  /// 0 luma, 1 U, 2 V.
  @inline(__always)
  fileprivate func plane(_ index: Int) -> [UInt8] {
    index == 0 ? luma : index == 1 ? u : v
  }
}
