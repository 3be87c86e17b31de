import Glibc
internal import SprocketCore

/// Paints the scene: sky, hills, a town, a road and a square with test charts.
///
/// All sizes are fractions of the canvas's height (`unit`), so that the same picture appears at
/// every frame size. Far things first; nearer things cover them.
struct ScenePainter {
  var canvas: SceneCanvas
  var random: SceneRandom
  let seed: UInt64
  let unit: Float
  let width: Float
  /// Where the sky meets the ground, in pixels from the top.
  let horizon: Float
  let interruption: SourceInterrupt

  init(
    width: Int, height: Int, seed: UInt64, interruption: SourceInterrupt = SourceInterrupt()
  ) {
    canvas = SceneCanvas(width: width, height: height, interruption)
    self.interruption = interruption
    random = SceneRandom(seed: seed, stream: SceneStream.texture, index: 0)
    self.seed = seed
    unit = Float(height)
    self.width = Float(width)
    horizon = Float(height) * 0.55
  }

  mutating func paintAll() {
    paintSky()
    paintSun()
    paintHills()
    paintBalloons()
    paintTown(far: true)
    paintTown(far: false)
    paintGround()
    paintRoad()
    paintTrees()
    paintSquare()
    addGrain()
  }

  /// Lattice cells across the width for a feature size given as a fraction of the height.
  func cells(_ size: Float) -> Int {
    max(1, Int((width / (size * unit)).rounded()))
  }

  func noise(_ stream: UInt64, size: Float, octaves: Int, persistence: Float = 0.55) -> SceneNoise {
    SceneNoise(
      seed: SceneRandom.mix(seed &* 31 &+ stream), octaves: octaves, persistence: persistence,
      cells: cells(size), width: canvas.width)
  }

  /// A colour with every part moved by up to `spread`, and all by a common shade.
  mutating func varied(_ color: SceneColor, _ spread: Float) -> SceneColor {
    let shade = random.uniform(-spread, spread)
    let tint = SceneColor(
      random.uniform(-spread, spread), random.uniform(-spread, spread),
      random.uniform(-spread, spread))
    return color + tint * 0.5 + SceneColor(repeating: shade)
  }
}

// Sky and land.
extension ScenePainter {
  private mutating func paintSky() {
    var clouds = noise(1, size: 0.5, octaves: 6, persistence: 0.56)
    var row = [Float](repeating: 0, count: canvas.width)
    let top = SceneColor(0.24, 0.44, 0.76)
    let low = SceneColor(0.80, 0.86, 0.91)
    for y in 0..<Int(horizon) where !interruption.isSet {
      let depth = Float(y) / horizon
      clouds.fill(&row, y: Float(y) / (0.22 * unit) + depth * 2)
      let base = top + (low - top) * (depth * depth * 0.6 + depth * 0.4)
      for x in row.indices {
        let body = smooth(0.02, 0.42, row[x])
        let shadow = smooth(0.25, 0.75, row[x]) * 0.22
        let cloud = SceneColor(0.97, 0.97, 0.98) - SceneColor(repeating: shadow)
        canvas.set(x, y, base + (cloud - base) * (body * 0.92))
      }
    }
  }

  private mutating func paintSun() {
    let x = width * 0.62
    let y = horizon * 0.25
    let reach = unit * 0.2
    canvas.paint(x: x - reach...x + reach, y: y - reach...y + reach) { px, py in
      let near = max(0, 1 - hypotf(px - x, py - y) / reach)
      return SIMD4(1, 0.97, 0.86, near * near * 0.9)
    }
    canvas.disc(x: x, y: y, radius: unit * 0.026, SceneColor(1, 1, 0.98))
  }

  private mutating func paintHills() {
    var ridge = [Float](repeating: 0, count: canvas.width)
    var rough = ridge
    let layers: [(height: Float, color: SceneColor)] = [
      (0.30, SceneColor(0.50, 0.58, 0.68)), (0.20, SceneColor(0.33, 0.43, 0.42)),
    ]
    for (index, layer) in layers.enumerated() {
      var outline = noise(2 + UInt64(index), size: 0.7, octaves: 7, persistence: 0.48)
      outline.fill(&ridge, y: 0.5)
      var texture = noise(5 + UInt64(index), size: 0.05, octaves: 4, persistence: 0.7)
      let highest = horizon - unit * layer.height * (0.75 + 0.6 * (ridge.max() ?? 0))
      for y in Int(horizon * 0.4)..<Int(horizon) where !interruption.isSet {
        guard edge(Float(y) - highest) > 0 else { continue }
        texture.fill(&rough, y: Float(y) / (0.03 * unit))
        for x in ridge.indices {
          let crest = horizon - unit * layer.height * (0.75 + 0.6 * ridge[x])
          let cover = edge(Float(y) - crest)
          guard cover > 0 else { continue }
          let color = layer.color + SceneColor(repeating: rough[x] * 0.16)
          let under = canvas.color(x, y)
          canvas.set(x, y, under + (color - under) * cover)
        }
      }
    }
  }

  private mutating func paintGround() {
    var blades = noise(10, size: 0.05, octaves: 5, persistence: 0.8)
    var patches = noise(11, size: 0.4, octaves: 4)
    var fine = [Float](repeating: 0, count: canvas.width)
    var broad = fine
    let grass = SceneColor(0.34, 0.46, 0.22)
    let earth = SceneColor(0.55, 0.48, 0.36)
    for y in Int(horizon)..<canvas.height where !interruption.isSet {
      // Rows towards the horizon see more ground each.
      let depth = 1 / (Float(y) - horizon + 0.12 * unit)
      blades.fill(&fine, y: depth * unit * 6)
      patches.fill(&broad, y: depth * unit * 0.9)
      for x in fine.indices {
        let mix = smooth(-0.15, 0.3, broad[x])
        let color = grass + (earth - grass) * mix
        canvas.set(x, y, color + SceneColor(repeating: fine[x] * 0.5))
      }
    }
  }

  /// Fine texture over everything: a fabric that keeps smooth places trackable.
  private mutating func addGrain() {
    var grain = noise(20, size: 3 / unit, octaves: 1)
    var weave = noise(21, size: 0.03, octaves: 3, persistence: 0.7)
    var fine = [Float](repeating: 0, count: canvas.width)
    var broad = fine
    for y in 0..<canvas.height where !interruption.isSet {
      grain.fill(&fine, y: Float(y) / 3)
      weave.fill(&broad, y: Float(y) / (0.03 * unit))
      for x in fine.indices {
        let lift = fine[x] * 0.02 + broad[x] * 0.03
        canvas.set(x, y, canvas.color(x, y) + SceneColor(repeating: lift))
      }
    }
  }
}

/// 0 below `low`, 1 above `high`, Hermite between.
@inline(__always)
func smooth(_ low: Float, _ high: Float, _ value: Float) -> Float {
  let t = min(max((value - low) / (high - low), 0), 1)
  return t * t * (3 - 2 * t)
}
