public import SprocketCore

/// What a user may choose about the built-in scene.
public struct SceneSettings: SourceSettings {
  /// How chroma of the scene's JPEGs is subsampled.
  public enum Subsampling: String, Sendable, CaseIterable, SettingValue {
    case half420 = "420"
    case half422 = "422"
  }

  public var format = PixelFormat.mjpeg
  public var width = 1280
  public var height = 720
  public var rate = FrameRate(frames: 30)

  public var seed: UInt64 = 1
  public var pace: SourcePace?
  public var genlock = false
  public var phase = Duration.zero
  public var cached = 0
  public var startup = 0
  public var truth = OutputName()
  public var quality = 85
  public var subsampling = Subsampling.half420

  public var panX = 40.0
  public var panY = 0.0
  public var panStart = 0.0
  public var panFor = 0.0
  public var shake = 2.0
  public var roll = 0.15
  public var zoom = 0.0
  public var object = 0.0
  public var objectSpeed = 90.0

  public var exposure = 10_000.0
  public var gain = 1.0
  public var lens = 0.5
  public var delay = 2
  public var exposureLag = 0
  public var gainLag = 0
  public var lensLag = 0
  public var focus = 0.5
  public var focusStep = 0.0
  public var focusAt = 0.0
  public var focusFor = 0.0
  public var defocus = 11.2
  public var lensSpeed = 0.0
  public var backlash = 0.0
  public var light = 0.0
  public var lightStep = 0.0
  public var lightAt = 0.0
  public var lightFor = 0.0
  public var flash = 0.0
  public var gamma = 0.0
  public var noise = 1.0

  package var faults = SceneFaults.Settings()

  public init() {}
}

extension SceneSettings {
  /// By name, as `--source-set` takes them. Size, rate and format have options of their own.
  public static let settings: [Setting<SceneSettings>] =
    general + motion + camera + faultSettings

  private static let general: [Setting<SceneSettings>] = [
    Setting("seed", \.seed, "decides texture, shake, noise and faults"),
    Setting(
      "pace", \.pace,
      "real: frames appear when due; fast: as fast as they are taken; auto: real, but in a run of some frames"
    ),
    Setting(
      "genlock", \.genlock,
      "frames are captured at multiples of their period on the monotonic clock; flashes at whole seconds"
    ),
    Setting("phase", \.phase, "with genlock: by how much later"),
    Setting(
      "cached", \.cached, range: 0...10_000, unit: "frames",
      "drawn at the start and repeated; 0 draws each frame"),
    Setting("startup", \.startup, range: 0...10_000, unit: "frames", "marked as not to be used"),
    Setting("truth", \.truth, "path of a JSON Lines file for what was true of each frame"),
    Setting("quality", \.quality, range: 1...100, "JPEG quality"),
    Setting("subsampling", \.subsampling, "chroma of JPEG frames"),
  ]

  private static let motion: [Setting<SceneSettings>] = [
    Setting("pan", \.panX, range: -20_000...20_000, unit: "pixels/s", "camera speed to the right"),
    Setting("pany", \.panY, range: -20_000...20_000, unit: "pixels/s", "camera speed downwards"),
    Setting("panstart", \.panStart, range: 0...1e6, unit: "s", "when the pan begins"),
    Setting("panfor", \.panFor, range: 0...1e6, unit: "s", "how long it lasts; 0 is for ever"),
    Setting("shake", \.shake, range: 0...40, unit: "pixels", "RMS of the hand's shake, each way"),
    Setting("roll", \.roll, range: 0...5, unit: "degrees", "RMS of the hand's turning"),
    Setting("zoom", \.zoom, range: 0...0.05, "RMS of the scale's deviation from 1"),
    Setting(
      "object", \.object, range: 0...0.9,
      "share of the picture that a thing before the camera covers; 0 is none"),
    Setting(
      "objectspeed", \.objectSpeed, range: -20_000...20_000, unit: "pixels/s",
      "of its way from side to side"),
  ]

  private static let camera: [Setting<SceneSettings>] = [
    Setting("exposure", \.exposure, range: exposures, unit: "us", "at the start"),
    Setting("gain", \.gain, range: gains, "at the start; 1 is the sensor's base"),
    Setting("lens", \.lens, range: 0...1, "position at the start, 0 nearest to 1 furthest"),
    Setting("delay", \.delay, range: 0...16, unit: "frames", "until a control write shows"),
    Setting(
      "exposurelag", \.exposureLag, range: 0...16, unit: "frames",
      "by which the picture follows the answer to a write, as behind a driver; 0: not at all"),
    Setting("gainlag", \.gainLag, range: 0...16, unit: "frames", "the same of gain"),
    Setting("lenslag", \.lensLag, range: 0...16, unit: "frames", "the same of the lens"),
    Setting("focus", \.focus, range: 0...1, "lens position at which the scene is sharp"),
    Setting("focusstep", \.focusStep, range: -1...1, "by which that position changes"),
    Setting("focusat", \.focusAt, range: 0...1e6, unit: "s", "when it does"),
    Setting("focusfor", \.focusFor, range: 0...1e6, unit: "s", "how long; 0 is for ever"),
    Setting("defocus", \.defocus, range: 0...1000, unit: "pixels", "blur per unit off focus"),
    Setting(
      "lensspeed", \.lensSpeed, range: 0...1000, unit: "1/s",
      "of the lens in its range; 0 is there at once"),
    Setting(
      "backlash", \.backlash, range: 0...0.5, "play of the lens that a change of direction takes up"
    ),
    Setting("light", \.light, range: -16...16, unit: "EV", "on the scene"),
    Setting("lightstep", \.lightStep, range: -16...16, unit: "EV", "by which the light changes"),
    Setting("lightat", \.lightAt, range: 0...1e6, unit: "s", "when it does"),
    Setting("lightfor", \.lightFor, range: 0...1e6, unit: "s", "how long; 0 is for ever"),
    Setting(
      "flash", \.flash, range: 0...16, unit: "EV",
      "by which it is brighter for 50 ms from each whole second on, when the microphone beeps"),
    Setting("gamma", \.gamma, range: 0...4, "of the camera, 1.8 to 2.6 are usual; 0 is sRGB"),
    Setting("noise", \.noise, range: 0...100, "of the sensor, times a usual one; 0 is none"),
  ]

  package static let exposures = 10.0...1_000_000.0
  package static let gains = 1.0...64.0

  private static let faultSettings: [Setting<SceneSettings>] = [
    Setting(
      "drop", \.faults.drop, range: 0...1,
      "probability per frame that 1 to `longestdrop` are lost before it"),
    Setting(
      "longestdrop", \.faults.longestDrop, range: 1...1000, unit: "frames",
      "the most that one drop loses"),
    Setting("corrupt", \.faults.corrupt, range: 0...1, "probability: structure is broken"),
    Setting("truncate", \.faults.truncate, range: 0...1, "probability: the end is missing"),
    Setting("stall", \.faults.stall, range: 0...1, "probability: nothing for a while"),
    Setting("stallfor", \.faults.stallDuration, "how long a stall lasts"),
    Setting("late", \.faults.late, range: 0...1, "probability: handed over late"),
    Setting("latefor", \.faults.lateDuration, "by how much"),
    Setting("backwards", \.faults.backwards, range: 0...1, "probability: time goes backwards"),
    Setting("backwardsby", \.faults.backwardsDuration, "by how much"),
    Setting("stamps", \.faults.stamps, "how the driver stamps frames; what is wrong is repaired"),
    Setting("stampsat", \.faults.stampsAt, range: 0...1e6, unit: "s", "when it begins to do so"),
    Setting("stampsfor", \.faults.stampsFor, range: 0...1e6, unit: "s", "how long; 0 is for ever"),
    Setting(
      "jitter", \.faults.jitter, range: 0...1000, unit: "ms",
      "by up to which frames are handed over late, and jittered stamps are off"),
    Setting("unplug", \.faults.unplug, range: 0...1, "probability: unplugged and replugged"),
    Setting("unplugfor", \.faults.unplugDuration, "how long it is gone"),
    Setting("formatchange", \.faults.formatChange, range: 0...1, "probability: another size"),
  ]
}

extension SceneSettings {
  /// The size that `formatChange` switches to is three quarters of the first, both ways.
  func size(isAlternate: Bool) -> (width: Int, height: Int) {
    guard isAlternate else { return (width, height) }
    return (max(16, width * 3 / 4), max(16, height * 3 / 4))
  }

  func frameFormat(width: Int, height: Int) -> FrameFormat {
    let transfer: Color.Transfer =
      switch gamma {
      case 0: .srgb
      case 1: .linear
      case 2.2: .gamma22
      case 2.8: .gamma28
      default: .unspecified
      }
    let image: PixelFormat? =
      format.isEncoded ? (subsampling == .half422 ? .yuv422p : .i420) : nil
    return FrameFormat(
      pixelFormat: format, image: image, width: width, height: height,
      color: Color(range: .full, matrix: .bt601, transfer: transfer), rate: rate)
  }

  public mutating func request(_ request: FormatRequest) throws(RunError) {
    format = request.format ?? format
    width = request.size?.width ?? width
    height = request.size?.height ?? height
    rate = request.rate ?? rate
  }

  /// Throws what makes the settings impossible together.
  func check() throws(RunError) {
    guard format == .mjpeg || SceneFrameWriter.rawFormats.contains(format) else {
      let offered = ([.mjpeg] + SceneFrameWriter.rawFormats).map(\.settingText)
      throw RunError(
        .usage,
        "the scene does not draw \(format.settingText); choose \(offered.joined(separator: ", "))")
    }
    guard (16...8192).contains(width), (16...8192).contains(height) else {
      throw RunError(
        .usage, "the scene draws 16x16 to 8192x8192 pixels, not \(width)x\(height)")
    }
    guard rate.frames > 0, rate.seconds > 0, rate.framesPerSecond <= 10_000 else {
      throw RunError(.usage, "the scene needs a rate above 0 and up to 10000 frames per second")
    }
    guard phase <= .seconds(1), genlock || phase == .zero else {
      throw RunError(
        .usage, "phase is for genlock=true, and is 1s at most", change: .source("phase"))
    }
    let most = Self.cacheLimit / worstBytes
    guard cached <= most else {
      throw RunError(
        .usage,
        "cached=\(cached) frames of \(width)x\(height) could take more than 2 GB; "
          + (most > 0 ? "give cached=\(most) or less, or" : "draw each with cached=0, or")
          + " choose a smaller size", change: .size, .source("cached"))
    }
    try checkThatCachedFramesShowAll()
  }

  /// A cached scene repeats its first frames: what begins after them would never be seen.
  private func checkThatCachedFramesShowAll() throws(RunError) {
    let last = Double(cached - 1) * (1 / rate.framesPerSecond)
    let starts: [(name: String, start: Double, size: Double)] = [
      ("lightat", lightAt, lightStep), ("focusat", focusAt, focusStep),
      ("panstart", panStart, abs(panX) + abs(panY)),
    ]
    let late = starts.first { $0.size != 0 && $0.start > last }
    guard cached > 0, let (name, start, _) = late else { return }
    throw RunError(
      .usage,
      "\(name)=\(start) would never be seen, as the last of cached=\(cached) frames is at "
        + "\(Int(last * 1000)) ms; let it begin by then, or draw each with cached=0")
  }

  /// 2 GB: what a computer can spare, and some minutes of drawing.
  private static let cacheLimit = 2_000_000_000

  /// The most that one frame of each size can have, in bytes; by `check` the size is possible.
  private var worstBytes: Int {
    let sizes = faults.formatChange > 0 ? [false, true] : [false]
    return sizes.reduce(0) { sum, isAlternate in
      let (width, height) = size(isAlternate: isAlternate)
      return sum + SceneFrameWriter.capacity(frameFormat(width: width, height: height))
    }
  }

  var motionSettings: SceneMotion.Settings {
    var motion = SceneMotion.Settings()
    motion.panX = panX
    motion.panY = panY
    motion.panStart = panStart
    motion.panEnd = panFor == 0 ? .infinity : panStart + panFor
    motion.shake = shake
    motion.rollDegrees = roll
    motion.zoom = zoom
    return motion
  }

  /// Whether the answer to a write comes with the first frame that shows it.
  var tellsWhatShows: Bool { exposureLag == 0 && gainLag == 0 && lensLag == 0 }

  var lensModel: SceneLens {
    var model = SceneLens()
    (model.focus, model.blurPerUnit) = (focus, defocus)
    return model
  }

  var lensDrive: SceneLensDrive {
    SceneLensDrive(position: lens, speed: lensSpeed, backlash: backlash)
  }

  /// What the light step and the flash add at that many seconds from the start, in EV.
  func lightStep(at seconds: Double) -> Double {
    (isOn(seconds, from: lightAt, for: lightFor) ? lightStep : 0)
      + (seconds - seconds.rounded(.down) < 0.05 ? flash : 0)
  }

  /// By how much the position of best focus has moved then.
  func focusStep(at seconds: Double) -> Double {
    isOn(seconds, from: focusAt, for: focusFor) ? focusStep : 0
  }

  private func isOn(_ seconds: Double, from start: Double, for length: Double) -> Bool {
    seconds >= start && (length == 0 || seconds < start + length)
  }

  var sensorModel: SceneSensor {
    var sensor = SceneSensor()
    sensor.transfer = gamma == 0 ? .srgb : .gamma(gamma)
    sensor.noise = noise
    sensor.light = light
    return sensor
  }
}
