import Glibc
import Sprocket
import SprocketStages

/// One run of the engine with pictures and sound, all of it drawn from a number.
final class Storm {
  var random: StormRandom
  let isLive: Bool
  /// Whether all sound is stored bit for bit.
  let isCopied: Bool
  /// Bytes that any file may have, like a disk that is full.
  let fileLimit: Int?
  private let source: SceneSource
  private var sound = RecordedSound()
  private(set) var audio: [AudioEngine] = []
  private(set) var hesitant: [HesitantSink] = []
  /// Paths of sound that is recorded alone.
  private var sinks: [any Sink] = []
  private(set) var isOnDemand = false
  /// The storm in words.
  private(set) var told: [String] = []

  init(seed: UInt64) throws {
    random = StormRandom(seed: seed)
    isLive = random.chance(400_000)
    source = try SceneSource(Self.scene(&random, isLive: isLive))
    isCopied = random.chance(600_000)
    sound.sync = isCopied ? .exact : .auto
    fileLimit = random.chance(300_000) ? random.below(4096 << random.below(10)) : nil
    if !isCopied, random.chance(500_000) {
      sound.rate = random.pick([8000, 22_050, 44_100, 96_000])
      if random.chance(500_000) { sound.channels = 1 + random.below(4) }
    }
    for index in 0...(random.chance(300_000) ? 1 : 0) { try addMicrophone(index) }
    try addMovies()
  }

  private static func scene(_ random: inout StormRandom, isLive: Bool) -> SceneSettings {
    var settings = SceneSettings()
    (settings.width, settings.height) = (64, 48)
    settings.rate = FrameRate(frames: random.pick([5, 25, 30, 60, 100]))
    (settings.seed, settings.cached) = (random.next() >> 1, 8)
    settings.pace = isLive ? .real : .fast
    settings.startup = random.chance(200_000) ? random.below(10) : 0
    let faults = [
      ("backwards", 0.05), ("corrupt", 0.1), ("drop", 0.2), ("formatchange", 0.02), ("late", 0.1),
    ]
    for (name, most) in faults where random.chance(200_000) {
      let value = Double(random.below(1000)) / 1000 * most
      for setting in SceneSettings.settings where setting.name == name {
        try? setting.apply("\(value)", to: &settings)
      }
    }
    if isLive, random.chance(200_000) {
      for (name, value) in [("stall", "0.05"), ("stallfor", "700ms")] {
        for setting in SceneSettings.settings where setting.name == name {
          try? setting.apply(value, to: &settings)
        }
      }
    }
    return settings
  }

  private func addMicrophone(_ index: Int) throws {
    var settings = SceneMicrophoneSettings()
    settings.number = random.pick([.s24, .s32, .s32])
    settings.rate = random.pick([8000, 16_000, 44_100, 48_000, 48_000])
    settings.channels = random.pick([1, 2, 2, 3])
    settings.seed = random.next() >> 1
    if random.chance(500_000) { settings.drift = Double(random.below(10_000) - 5000) }
    if random.chance(500_000) { settings.jitter = Double(random.below(5)) }
    if random.chance(200_000) { settings.outliers = Double(random.below(40) - 20) }
    if random.chance(300_000) { settings.begins = Double(random.below(2000)) / 1000 }
    if random.chance(300_000) {
      settings.gap = Double(random.below(1000)) / 1000
      // Less than 0.8 s are missing of each second on average: a file of little else has no end.
      let longest = min(3000, Int(800 / max(settings.gap, 0.001)))
      settings.gapLength = .milliseconds(1 + random.below(longest))
    }
    let faults = SoundFaults(&random, isLive: isLive)
    told.append("live: \(isLive), \(sound), \(settings), \(faults)")
    let microphone = NumberedSound(
      try SceneMicrophone(settings, in: source.time), faults, seed: random.next())
    var sinks: [any AudioSink] = []
    if random.chance(400_000) {
      let kinds = settings.number == .s32 ? ["wav", "mov", "mkv"] : ["wav", "flac", "mov", "mkv"]
      sinks.append(try SoundSink(path: "sound\(index).\(random.pick(kinds))", sound))
    }
    if random.chance(300_000) { sinks.append(LevelSink(path: "levels\(index).jsonl")) }
    if random.chance(400_000) {
      let sink = HesitantSink(&random)
      hesitant.append(sink)
      sinks.append(sink)
    }
    let held = random.chance(500_000) ? 10 : 1 + random.below(2000)
    audio.append(
      try AudioEngine(
        microphone, sinks: sinks, held: held == 10 ? .seconds(10) : .milliseconds(held)))
  }

  private func addMovies() throws {
    isOnDemand = random.chance(500_000)
    var limits = RecordingLimits()
    if random.chance(200_000) { limits.fileBytes = UInt64(50_000 + random.below(1_000_000)) }
    if random.chance(200_000) { limits.fileDuration = .milliseconds(100 + random.below(3000)) }
    if random.chance(100_000) { limits.duration = .milliseconds(100 + random.below(3000)) }
    let preRoll = random.chance(300_000) ? PreRoll(.milliseconds(1 + random.below(2000))) : nil
    let ending = random.pick(["mov", "mkv"])
    var taps: [any AudioTap] = []
    for engine in audio { taps.append(try engine.makeTap(for: "movie")) }
    var codec = MovieCodec()
    if random.chance(400_000) {
      codec.name = "h264"
      codec.preset = random.pick(["ultrafast", "veryfast"])
    }
    sinks.append(
      MovieSink(
        path: "movie.\(ending)", codec: codec, isOnDemand: isOnDemand,
        limits: isOnDemand ? limits : RecordingLimits(), preRoll: isOnDemand ? preRoll : nil,
        sound: taps, soundSettings: sound))
    if random.chance(300_000) { sinks.append(NullSink()) }
  }

  /// Chains of stages: what is encoded anew, what waits for later frames, what drops frames.
  func chain() -> [StageChoice] {
    let names = random.pick([[], [], ["negate"], ["latedrop"], ["stabilize"]])
    return names.flatMap { name in
      builtinStages.filter { $0.name == name }.map { plugin in
        var choice = StageChoice(plugin)
        choice[Stabilizer.Settings.self]?.mode = .cinematic
        return choice
      }
    }
  }

  func makeEngine() throws -> Engine {
    var options = RunOptions(workers: 1 + random.below(3), drainLimit: .seconds(20))
    if isLive {
      options.durationLimit = .milliseconds(100 + random.below(2500))
    } else {
      options.frameLimit = UInt64(1 + random.below(500))
    }
    return try Engine(
      source: source, stages: chain(), sinks: sinks, audio: audio, options: options)
  }
}
