/// When a device's samples were heard: a robust line through what its status said.
///
/// Each wake-up of the device gives one observation: a number of a sample, and a time that jitters. The
/// first half second of a segment is not used, since devices start unevenly. After that the median of every
/// half second, counted in samples, is a point; the line goes through the points of the last minute
/// (``RobustLine``). A segment is placed after one second, and the line holds for its earlier samples, too.
/// The rate is used after ten seconds. After a gap a new segment is placed anew, and the rate measured
/// before it is the prior.
///
/// The line depends on numbers and times alone, and not on when it is asked: a replay gives the same.
///
/// Why no loop: a delay-locked loop of 1 to 0.05 Hz was wrong by 250 to 809 ppm in the first seconds, which
/// is worse than a device that is off by 200 ppm and is left alone.
///
/// Cost: nothing is allocated after `init`; per observation a store, per half second five sorts of about
/// 100 numbers.
package struct AudioClock {
  /// The current line; it changes each half second.
  package private(set) var line: AudioLine

  /// Nominal, samples per second.
  private let rate: Double
  private let windowSamples: UInt64
  private var fit = RobustLine(capacity: mostPoints)
  /// Of the current half second: times beyond those of a device at the nominal rate, seconds.
  private var deviations: [Double]
  private var observed = 0
  /// Sum of the observations' distances from the segment's first sample, seconds.
  private var distances = 0.0
  private var window: UInt64 = 0
  /// Time of the segment's first observation.
  private var origin: Int64?
  /// Excess of a sample's duration over the nominal one, as a part of it.
  private var prior = (slope: 0.0, deviation: priorDeviation)

  /// The clock of a device, or of a file, with that nominal rate.
  package init(_ format: AudioFormat) {
    rate = Double(format.rate)
    windowSamples = UInt64(format.rate / 2)
    line = AudioLine(rate: rate)
    deviations = Array(repeating: 0, count: Self.mostObservations)
  }

  /// Begins a new segment of the clock with the sample `first`, after a gap or a restart of the device. To
  /// keep what was observed of a short segment, call ``settle()`` before.
  package mutating func begin(segment: UInt32, first: UInt64) {
    prior =
      line.isMeasured
      ? (rate / line.rate - 1, Self.keptDeviation) : (0, Self.priorDeviation)
    var new = AudioLine(rate: line.rate)
    (new.segment, new.first, new.sample) = (segment, first, first)
    new.isMeasured = line.isMeasured
    line = new
    fit.removeAll()
    (origin, window) = (nil, 0)
    clearWindow()
  }

  /// Takes what a source says of a block: `first` is the number of its first sample, `read` when it was read.
  package mutating func observe(
    _ timing: ArrivedSound.Timing, first: UInt64, count: Int, read: Int64
  ) {
    switch timing {
    case .exact(let time):
      (line.sample, line.time, line.rate) = (first, time, rate)
      (line.isPlaced, line.isMeasured) = (true, true)
    case .status(let ahead, let time):
      observe(sample: first &+ UInt64(bitPattern: Int64(ahead)), time: time)
    case .unknown:
      observe(sample: first &+ UInt64(count), time: read)
    }
  }

  /// The device has come to `sample` at `time` (nanoseconds). Called once per wake-up of the device; samples
  /// before the segment are ignored.
  package mutating func observe(sample: UInt64, time: Int64) {
    guard sample >= line.first else { return }
    let number = (sample - line.first) / windowSamples
    if number > window {
      // The first window is the half second that is not used.
      if window > 0 { closeWindow() } else { clearWindow() }
      window = number
    }
    guard observed < deviations.count else { return }
    let start = origin ?? time
    origin = start
    let distance = Double(sample - line.first) / rate
    deviations[observed] = Double(time &- start) / 1e9 - distance
    observed += 1
    distances += distance
  }

  /// Places a segment that ends before it was placed, by what was observed of it, however little. Without an
  /// observation it stays unplaced.
  package mutating func settle() {
    if !line.isPlaced, observed > 0 { closeWindow() }
  }

  private mutating func clearWindow() { (observed, distances) = (0, 0) }

  /// Adds the median of the window to the points, and makes the line anew.
  private mutating func closeWindow() {
    guard observed > 0, let origin else { return }
    let median = deviations.median(of: observed)
    let x = distances / Double(observed)
    let scatter = deviations.medianMagnitude(of: observed, around: median)
    fit.add(
      x: x, y: median,
      deviation: scatter * normalFromMedian * Self.medianDeviation / Double(observed).squareRoot())
    clearWindow()
    let found = fit.solve(slope: prior.slope, deviation: prior.deviation)
    if window >= Self.windowsToRate { line.isMeasured = true }
    if line.isMeasured { line.rate = rate / (1 + found.slope) }
    let samples = (x * rate).rounded()
    line.sample = line.first &+ UInt64(samples)
    // The line at that sample, which is the nearest to the point's own place.
    let at = samples / rate
    let seconds = at + found.value + found.slope * (at - x)
    line.time = origin.clampedSum(Int64(clamping: (seconds * 1e9).rounded()))
    line.isPlaced = true
  }

  /// The half second of a segment after which the measured rate is used: at 10 s. Larger: the rate is more
  /// exact when it is first used, and a device that is 200 ppm off goes uncorrected for longer.
  private static let windowsToRate: UInt64 = 19
  /// Points of the line: a minute of half seconds. Larger: less noise, and slower to follow a device that
  /// warms up.
  private static let mostPoints = 120
  /// Observations that are used in a window. Larger: more memory; a period of 1 ms gives 500.
  private static let mostObservations = 512
  /// Standard deviation of devices' rates from the nominal one. Larger: the first seconds follow the jitter
  /// more. Crystals are sold to within 50 to 100 ppm.
  private static let priorDeviation = 100e-6
  /// Standard deviation of a device's rate from the rate before a gap. Larger: as above.
  private static let keptDeviation = 5e-6
  /// Standard deviation of a median of n normal numbers, times the root of n: the root of pi / 2.
  private static let medianDeviation = 1.2533
}
