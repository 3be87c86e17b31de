package import SprocketCore

/// The picture that the scene's camera looks at: drawn once from a seed, larger than the frame, at
/// several degrees of blur.
///
/// A luma byte is `255 * sqrt(reflectance)`: the square root spends the 256 steps as the eye and
/// shot noise do, and undoing it is one multiplication. Chroma is JFIF's (BT.601) of the same
/// square roots, at half resolution in both directions, sited in the middle of four luma texels.
/// The picture repeats in x without a seam and is mirrored in y, so every coordinate shows
/// something.
package struct SceneTexture: Sendable {
  /// One degree of blur.
  package struct Level: Sendable {
    /// `width * height` bytes, and padding.
    package var luma: [UInt8]
    /// `width / 2 * height / 2` bytes each, and padding.
    package var u: [UInt8]
    package var v: [UInt8]
  }

  /// Standard deviation of the Gaussian of each level, in texels. Blurs between are mixed.
  package static let sigmas: [Double] = [0, 0.7, 1.4, 2.8, 5.6]

  /// Bytes behind each plane that may be read but mean nothing.
  static let padding = 8

  /// In texels, even.
  package let width: Int
  package let height: Int
  package let levels: [Level]

  /// Size of a level's U and V.
  package var chromaSize: (width: Int, height: Int) { (width / 2, height / 2) }

  /// Draws the picture for frames of that size: half as wide again, so that the two ends never
  /// show at once, and a quarter higher. Takes some 0.25 microseconds per texel, unless it is
  /// interrupted; then the picture is of no use.
  package init(
    frameWidth: Int, frameHeight: Int, seed: UInt64,
    interruption: SourceInterrupt = SourceInterrupt()
  ) {
    let (width, height) = Self.size(frameWidth: frameWidth, frameHeight: frameHeight)
    var painter = ScenePainter(
      width: width, height: height, seed: seed, interruption: interruption)
    painter.paintAll()
    self.init(painter.canvas, interruption)
  }

  /// Bytes needed to draw frames of that size: the canvas, the light of what is blurred, and for each degree
  /// of blur a luma plane and half as much chroma.
  static func drawingBytes(frameWidth: Int, frameHeight: Int) -> Int {
    let (width, height) = size(frameWidth: frameWidth, frameHeight: frameHeight)
    return width * height * (8 + 3 * sigmas.count / 2 + 1)
  }

  private static func size(frameWidth: Int, frameHeight: Int) -> (width: Int, height: Int) {
    (max(64, frameWidth * 3 / 2 + 1) & ~1, max(48, frameHeight * 5 / 4 + 1) & ~1)
  }

  init(_ canvas: SceneCanvas, _ interruption: SourceInterrupt = SourceInterrupt()) {
    precondition(canvas.width % 2 == 0 && canvas.height % 2 == 0, "The canvas has an even size.")
    width = canvas.width
    height = canvas.height
    var levels = [Self.level(of: canvas, interruption)]
    for index in 1..<Self.sigmas.count {
      let (from, to) = (Self.sigmas[index - 1], Self.sigmas[index])
      // Variances of Gaussians add, so each level starts from the one before.
      let sigma = (to * to - from * from).squareRoot()
      levels.append(
        Self.blurred(levels[index - 1], width: width, height: height, sigma: sigma, interruption))
    }
    self.levels = levels
  }

  private static func level(of canvas: SceneCanvas, _ interruption: SourceInterrupt) -> Level {
    let (width, height) = (canvas.width, canvas.height)
    var level = Level(
      luma: [UInt8](repeating: 0, count: width * height + padding),
      u: [UInt8](repeating: 0, count: width * height / 4 + padding),
      v: [UInt8](repeating: 0, count: width * height / 4 + padding))
    for y in 0..<height where !interruption.isSet {
      for x in 0..<width {
        let luma = (canvas.color(x, y) * lumaWeights).sum()
        level.luma[y * width + x] = byte(luma * 255)
      }
    }
    for y in 0..<height / 2 where !interruption.isSet {
      for x in 0..<width / 2 {
        let upper = canvas.color(2 * x, 2 * y) + canvas.color(2 * x + 1, 2 * y)
        let lower = canvas.color(2 * x, 2 * y + 1) + canvas.color(2 * x + 1, 2 * y + 1)
        let mean = (upper + lower) * 0.25
        let luma = (mean * lumaWeights).sum()
        // ITU-T T.871 (JFIF), section 7.
        let place = y * (width / 2) + x
        level.u[place] = UInt8(min(128.5 + 127.5 * (mean.z - luma) / 0.886, 255))
        level.v[place] = UInt8(min(128.5 + 127.5 * (mean.x - luma) / 0.701, 255))
      }
    }
    return level
  }

  private static let lumaWeights = SceneColor(0.299, 0.587, 0.114)

  private static func blurred(
    _ level: Level, width: Int, height: Int, sigma: Double, _ interruption: SourceInterrupt
  ) -> Level {
    let full = SceneBlur(sigma: sigma, isSquared: true, interruption)
    let half = SceneBlur(sigma: sigma / 2, isSquared: false, interruption)
    return Level(
      luma: full.apply(level.luma, width: width, height: height),
      u: half.apply(level.u, width: width / 2, height: height / 2),
      v: half.apply(level.v, width: width / 2, height: height / 2))
  }
}

/// Where a texture row lies that is mirrored at the upper and the lower edge.
@inline(__always)
package func mirrored(_ row: Int, height: Int) -> Int {
  // The usual case costs no division: this is called for every short run of a slanted row.
  if row >= 0 && row < height { return row }
  var folded = row % (2 * height)
  if folded < 0 { folded += 2 * height }
  return folded < height ? folded : 2 * height - 1 - folded
}
