internal import SprocketCodecs
public import SprocketCore

/// What a user may choose about stills.
public struct StillSettings: KindSettings {
  /// A folder, or a pattern of names.
  public var path = OutputName()
  /// Whether stills are taken only when they are asked for.
  public var isOnDemand = false
  /// Time for which frames are kept of which a request may choose one; zero for none.
  public var preRoll = Duration.zero
  /// `nil`: 256 MiB.
  public var preRollMemory: ByteCount?
  /// Zero for a still of every frame.
  public var every = Duration.zero
  /// Zero for none.
  public var sharpest = Duration.zero
  /// Empty for none.
  public var when = ""
  /// None before so much time after the first frame.
  public var after = Duration.zero
  /// Zero for any number.
  public var count: UInt64 = 0
  public var quality = 90
  public var thumbnail = true
  /// For DNG; named as the settings of the stage `debayer`.
  public var red = 1.0
  public var blue = 1.0
  public var black = 0.0

  public init() {}

  public static var settings: [Setting<StillSettings>] {
    [
      Setting(
        "path", \.path, places: StillName.places, use: .folder,
        "a folder, or names with {n}, {time}, {name} or {bracket}, such as shots/{time}-{n}.png"),
      Setting("on-demand", \.isOnDemand, "takes stills only when they are asked for"),
      Setting(
        "pre-roll", \.preRoll,
        "on demand, frames are kept for so long, so that one of a past moment can be asked for"),
      Setting(
        "pre-roll-memory", \.preRollMemory,
        "most memory of a pre-roll, which is shorter then; auto: 256M"),
      Setting("every", \.every, "one per so much time, the first frame at or after each; 0s: all"),
      Setting(
        "sharpest", \.sharpest,
        "one per so much time, the sharpest frame, by the stage focus; 0s: none"),
      Setting(
        "when", \.when,
        "of frames for which a condition on the stages' reports holds, such as motion.score > 0.2"),
      Setting("after", \.after, "none before so much time after the first frame"),
      Setting(
        "count", \.count,
        "at most so many; the run ends when no other output goes on; 0: any number"),
      Setting("quality", \.quality, range: 1...100, "of JPEG that is encoded"),
      Setting("thumbnail", \.thumbnail, "a small picture within a JPEG's EXIF"),
      Setting("red", \.red, range: 0.1...8, "white balance of a DNG: what red is multiplied by"),
      Setting("blue", \.blue, range: 0.1...8, "white balance of a DNG: what blue is multiplied by"),
      Setting(
        "black", \.black, range: 0...0.5, unit: "fraction of full scale",
        "the sensor's level of black, of a DNG"),
    ]
  }
}

extension StillSettings {
  public func errors(at path: (String) -> SettingPath) -> [RunError] {
    var errors = RunError.thrown { () throws(RunError) in
      _ = try StillName(path: self.path.settingText, isSingle: true)
    }.map { RunError($0.code, $0.description, [path("path")]) }
    if sharpest > .zero, every > .zero || isOnDemand {
      errors.append(
        RunError(
          .usage,
          "stills: the sharpest are not taken together with every, nor on demand; leave one out",
          change: path("sharpest")))
    }
    let chosen = ["after": after > .zero, "count": count > 0, "when": !when.isEmpty]
    for (name, isGiven) in chosen.sorted(by: { $0.key < $1.key }) where isGiven && isOnDemand {
      errors.append(
        RunError(
          .usage, "stills: those on demand are taken without \(name); leave one out",
          change: path(name)))
    }
    if preRoll > .zero, !isOnDemand {
      errors.append(
        RunError(
          .usage, "stills: a pre-roll is of stills on demand; say so, or leave it out",
          [path("pre-roll"), path("on-demand")]))
    }
    if preRollMemory != nil, preRoll == .zero {
      errors.append(
        RunError(
          .usage, "stills: there is no pre-roll that could take memory; give its time",
          [path("pre-roll-memory"), path("pre-roll")]))
    }
    return errors
  }

  /// `nil` for none.
  public var usedPreRoll: PreRoll? {
    guard isOnDemand, preRoll > .zero else { return nil }
    return PreRoll(preRoll, bytes: preRollMemory?.bytes ?? PreRoll.usualBytes)
  }
}

extension StillSink {
  public static let kind = SinkKind(
    "stills", "a JPEG, PNG, TIFF or DNG file per frame", argument: "path",
    shown: "FOLDER|PATTERN", StillSettings.self
  ) { (settings, request) throws(RunError) in
    let every = settings.every > .zero ? settings.every : nil
    let sharpest = settings.sharpest > .zero ? settings.sharpest : nil
    let when = settings.when.isEmpty ? nil : settings.when
    let sink = StillSink(
      path: settings.path.settingText, every: every, sharpestOf: sharpest,
      quality: settings.quality,
      overwrite: request.overwrite,
      isOnDemand: settings.isOnDemand, hasThumbnail: settings.thumbnail,
      mosaic: MosaicLevels(red: settings.red, blue: settings.blue, black: settings.black),
      isSingle: request.frameLimit == 1 && !settings.isOnDemand, when: when, after: settings.after,
      count: settings.count, preRoll: settings.usedPreRoll)
    return request.naming(sink)
  }
}
