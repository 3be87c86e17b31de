internal import Glibc
public import SprocketCore

/// The scene's microphone: a beep with each flash of the scene, and noise like distant speech.
///
/// The beep (1 kHz, 50 ms, -6 dBFS) begins at each whole second of the scene's time, as a flash does. The
/// noise has syllables of a quarter of a second, at -40 dBFS. Everything is decided by the settings.
///
/// The sound card's clock may run fast or slow (`drift`), and say its times badly (`jitter`, `outliers`);
/// sound may begin late and be lost. At real pace it behaves like a card with a buffer of half a second:
/// what is not read in time is lost.
@safe
public final class SceneMicrophone: AudioSource {
  private let settings: SceneMicrophoneSettings
  private let clock: SceneClock
  private let isReal: Bool
  private let format: AudioFormat
  /// Samples per second of the scene's time.
  private let trueRate: Double
  private let blockSamples: Int
  /// Number of the next sample of the card, those counted that were lost.
  private var position: UInt64
  private var hasReadSome = false
  private var nextGap: Int = 0
  private var numbers: [Float]
  private let interruption = SourceInterrupt()
  public private(set) var notes: [String] = []

  /// Blocks per second. Larger: a shorter latency, and more work.
  private static let blocksPerSecond = 100
  /// Seconds of the card's buffer.
  private static let bufferSeconds = 0.5

  /// Hears the scene whose time this is (`SceneSource.time`).
  public init(
    _ settings: SceneMicrophoneSettings, in time: SceneTime = SceneTime()
  ) throws(RunError) {
    try settings.check(of: "the scene's microphone")
    self.settings = settings
    clock = settings.genlock ? SceneClock(genlock: .perSecond) : time.clock
    isReal = time.pace == .real
    format = AudioFormat(
      number: settings.number, rate: settings.rate, channels: settings.channels)
    trueRate = Double(settings.rate) * (1 + settings.drift * 1e-6)
    blockSamples = settings.rate / Self.blocksPerSecond
    position = UInt64((settings.begins * trueRate).rounded(.up))
    numbers = Array(repeating: 0, count: blockSamples * settings.channels)
  }

  public func open() throws(RunError) -> AudioDescription {
    var description = AudioDescription(
      name: "scene", format: format, isLive: isReal, clock: isReal ? .monotonic : .media,
      blockSamples: blockSamples)
    description.setup = "blocks of \(1000 / Self.blocksPerSecond) ms"
    return description
  }

  public func interrupt() { interruption.set() }

  public func close() throws(RunError) {}

  /// Seconds of the scene's time at which a sample is heard.
  private func seconds(_ sample: UInt64) -> Double { Double(sample) / trueRate }

  public func read(
    into bytes: inout MutableSpan<UInt8>, timeout: Int64
  ) throws(RunError) -> AudioArrival {
    if interruption.isSet { return .end }
    let start = isReal ? clock.begin() : 0
    var missing: UInt64 = 0
    if let gap = gap(before: seconds(position &+ UInt64(blockSamples))) {
      missing = UInt64((gap * trueRate).rounded())
    }
    if isReal {
      let end = seconds(position &+ missing &+ UInt64(blockSamples))
      let due = start.clampedSum(Int64((end * 1e9).rounded(.up)))
      guard interruption.wait(until: due, timeout: timeout) else {
        if missing > 0 { nextGap -= 1 }
        return interruption.isSet ? .end : .nothing
      }
      missing &+= lost(at: start, behind: position &+ missing)
    }
    if missing > 0 { position &+= missing }
    let first = position
    make(from: first)
    var out = bytes._mutatingExtracting(first: blockSamples * format.sampleBytes)
    store(&out)
    position &+= UInt64(blockSamples)
    var arrived = ArrivedSound(
      count: blockSamples, missing: hasReadSome ? missing : 0, timing: timing(first, start))
    hasReadSome = true
    if arrived.missing == 0, missing > 0 { arrived.isRestarted = true }
    return .block(arrived)
  }

  /// Samples that the card's buffer could not hold.
  private func lost(at start: Int64, behind position: UInt64) -> UInt64 {
    let now = Double(monotonicNow() &- start) * 1e-9 * trueRate
    let waiting = now - Double(position)
    let room = Self.bufferSeconds * trueRate
    // Whole blocks, as a card loses whole periods.
    guard waiting > room else { return 0 }
    return UInt64(((waiting - room) / Double(blockSamples)).rounded(.up)) * UInt64(blockSamples)
  }

  /// Seconds of sound that are lost before the block that ends at `end`. Each second has at most one gap.
  private func gap(before end: Double) -> Double? {
    while Double(nextGap) < end {
      let second = nextGap
      nextGap += 1
      guard second > 0 else { continue }
      var random = SceneRandom(
        seed: settings.seed, stream: SceneStream.soundFaults, index: UInt64(second))
      if random.unit() < settings.gap { return Double(settings.gapLength.nanosecondCount) * 1e-9 }
    }
    return nil
  }

  private func timing(_ first: UInt64, _ start: Int64) -> ArrivedSound.Timing {
    let isExact = settings.drift == 0 && settings.jitter == 0 && settings.outliers == 0
    guard !isExact else {
      return .exact(start.clampedSum(Int64((seconds(first) * 1e9).rounded())))
    }
    let end = first &+ UInt64(blockSamples)
    var random = SceneRandom(seed: settings.seed, stream: SceneStream.soundTimes, index: end)
    var error = random.gaussian() * settings.jitter
    if random.unit() < Self.outlierShare { error += settings.outliers }
    let time = seconds(end) * 1e9 + error * 1e6
    return .status(ahead: blockSamples, time: start.clampedSum(Int64(time.rounded())))
  }

  /// Part of the times that `outliers` shifts. Larger: more of them are wrong.
  private static let outlierShare = 0.02

  // MARK: Samples

  private func make(from first: UInt64) {
    let (channels, seed) = (format.channels, settings.seed)
    // One access of the class for all of them.
    var numbers = numbers.mutableSpan
    for index in 0..<blockSamples {
      let sample = first &+ UInt64(index)
      let time = seconds(sample)
      let beep = Self.beep(time - time.rounded(.down))
      let loudness = Self.speech * Float(0.5 - 0.5 * cos(2 * .pi * 4 * time))
      for channel in 0..<channels {
        let word = SceneRandom.mix(
          seed &+ sample &* 8 &+ UInt64(channel) &+ SceneStream.sound << 60)
        let noise = Float(Int32(truncatingIfNeeded: word)) * 0x1p-31
        numbers[index * channels + channel] = beep + noise * loudness
      }
    }
  }

  /// Amplitude of the noise. White noise between -1 and 1 has a mean square of 1/3, and its envelope of 3/8.
  private static let speech: Float = 0.028

  /// `time` is in seconds since the whole second.
  private static func beep(_ time: Double) -> Float {
    time < 0.05 ? 0.5 * Float(sin(2 * .pi * 1000 * time)) : 0
  }

  private func store(_ bytes: inout MutableSpan<UInt8>) {
    let size = format.number.bytes
    let numbers = numbers
    guard format.number != .f32 else {
      for index in numbers.indices { bytes.store(numbers[index].bitPattern, 4, at: 4 * index) }
      return
    }
    let scale = Double(sign: .plus, exponent: 8 * size - 1, significand: 1)
    for index in numbers.indices {
      let number = Int32((Double(numbers[index]) * scale).rounded())
      bytes.store(UInt32(bitPattern: number), size, at: size * index)
    }
  }
}

extension MutableSpan<UInt8> {
  /// The lowest bytes of a word, the lowest first.
  fileprivate mutating func store(_ word: UInt32, _ size: Int, at start: Int) {
    for byte in 0..<size {
      self[start &+ byte] = UInt8(truncatingIfNeeded: word >> UInt32(8 &* byte))
    }
  }
}

/// What a user may choose of the scene's microphone.
public struct SceneMicrophoneSettings: KindSettings {
  public var number = AudioFormat.Number.s16
  public var rate = 48_000
  public var channels = 2
  public var seed: UInt64 = 1
  public var drift = 0.0
  public var jitter = 0.0
  public var outliers = 0.0
  public var begins = 0.0
  public var genlock = false
  public var gap = 0.0
  public var gapLength = Duration.milliseconds(200)

  public init() {}

  public static var settings: [Setting<SceneMicrophoneSettings>] {
    [
      Setting("number", \.number, "how a number is stored"),
      Setting("rate", \.rate, range: AudioFormat.rates, unit: "Hz", "samples per second"),
      Setting(
        "channels", \.channels, range: 1...AudioFormat.mostChannels, "with noise of their own"),
      Setting("seed", \.seed, "decides noise, jitter and gaps"),
      Setting(
        "drift", \.drift, range: -5000...5000, unit: "ppm", "by which the card's clock is fast"),
      Setting(
        "jitter", \.jitter, range: 0...1000, unit: "ms", "RMS error of the times that it says"),
      Setting(
        "outliers", \.outliers, range: -1000...1000, unit: "ms", "by which 1 time in 50 is wrong"),
      Setting("begins", \.begins, range: 0...1e6, unit: "s", "when the first sample is heard"),
      Setting(
        "genlock", \.genlock,
        "it begins at a whole second of the monotonic clock, as a scene with genlock and flash does"
      ),
      Setting("gap", \.gap, range: 0...1, "probability per second that sound is lost"),
      Setting("gapfor", \.gapLength, "how long a gap lasts"),
    ]
  }
}
