import Glibc

/// A similarity from one pixel space to another: `q = center' + shift + scale * R(roll) (p -
/// center)`, where R turns x towards y (clockwise on the screen, whose y points down).
///
/// Pixels have whole-numbered centres. For `sceneFromFrame`, `center` is the frame's middle,
/// ((width - 1) / 2, (height - 1) / 2), and `center'` the middle of the texture.
package struct SceneSimilarity: Sendable, Hashable {
  /// Pixels.
  package var dx: Double
  package var dy: Double
  /// Radians.
  package var roll: Double
  package var scale: Double

  package init(dx: Double = 0, dy: Double = 0, roll: Double = 0, scale: Double = 1) {
    self.dx = dx
    self.dy = dy
    self.roll = roll
    self.scale = scale
  }

  package var rollDegrees: Double { roll * 180 / .pi }
}

/// How the scene's camera moves: an even pan and a hand that shakes. Pure: a function of time.
///
/// Shake is a sum of sinusoids whose frequencies, spread evenly over the logarithm from 0.5 to
/// 12 Hz, and phases come from the seed. Amplitude falls as 1/f, so speed is the same in every
/// band: hand tremor and sway as accelerometers see them.
package struct SceneMotion: Sendable {
  /// What a user may choose.
  package struct Settings: Sendable, Hashable {
    /// Pixels per second, to the right and downwards.
    package var panX = 0.0
    package var panY = 0.0
    /// Seconds; the pan begins and ends there.
    package var panStart = 0.0
    package var panEnd = Double.infinity
    /// RMS in pixels, in each direction.
    package var shake = 0.0
    /// RMS in degrees.
    package var rollDegrees = 0.0
    /// RMS of the scale's deviation from 1.
    package var zoom = 0.0

    package init() {}
  }

  /// One sinusoid.
  struct Wave: Sendable {
    var amplitude: Double
    /// Radians per second.
    var speed: Double
    var phase: Double
  }

  private let settings: Settings
  private let x: [Wave]
  private let y: [Wave]
  private let roll: [Wave]
  private let zoom: [Wave]

  package init(_ settings: Settings, seed: UInt64) {
    self.settings = settings
    x = Self.waves(rms: settings.shake, seed: seed, index: 0)
    y = Self.waves(rms: settings.shake, seed: seed, index: 1)
    roll = Self.waves(rms: settings.rollDegrees * .pi / 180, seed: seed, index: 2)
    zoom = Self.waves(rms: settings.zoom, seed: seed, index: 3)
  }

  /// Where the camera points at `seconds` since the start.
  package func sceneFromFrame(at seconds: Double) -> SceneSimilarity {
    let panned = max(0, min(seconds, settings.panEnd) - settings.panStart)
    return SceneSimilarity(
      dx: settings.panX * panned + Self.sum(x, seconds),
      dy: settings.panY * panned + Self.sum(y, seconds),
      roll: Self.sum(roll, seconds), scale: 1 + Self.sum(zoom, seconds))
  }

  private static let waveCount = 16
  private static let lowestHertz = 0.5
  private static let highestHertz = 12.0

  private static func waves(rms: Double, seed: UInt64, index: UInt64) -> [Wave] {
    guard rms > 0 else { return [] }
    var random = SceneRandom(seed: seed, stream: SceneStream.shake, index: index)
    var waves: [Wave] = []
    for step in 0..<waveCount {
      let place = (Double(step) + random.unit()) / Double(waveCount)
      let hertz = lowestHertz * pow(highestHertz / lowestHertz, place)
      waves.append(
        Wave(amplitude: 1 / hertz, speed: 2 * .pi * hertz, phase: random.between(0, 2 * .pi)))
    }
    // The mean square of a sum of sinusoids is the sum of half their squared amplitudes.
    let power = waves.reduce(0) { $0 + $1.amplitude * $1.amplitude / 2 }
    for index in waves.indices { waves[index].amplitude *= rms / power.squareRoot() }
    return waves
  }

  private static func sum(_ waves: [Wave], _ seconds: Double) -> Double {
    var sum = 0.0
    for index in 0..<waves.count {
      sum += waves[index].amplitude * sin(waves[index].speed * seconds + waves[index].phase)
    }
    return sum
  }
}
