public import Sprocket

/// One source and what becomes of its frames: a value that says what a run is to be, and makes nothing yet.
public struct Pipeline: Sendable, Equatable {
  /// `nil`: the first camera.
  public var source: Part?
  /// What kind of frames is wanted of the source.
  public var format = SourceFormat()
  /// Values of the source's controls at the start, in the order in which they are written.
  public var controls: [ControlWish] = []
  public var sound = SoundParts()
  /// The chain, in its order.
  public var stages: [Part] = []
  public var outputs: [Part] = []
  public var asking = AskingSettings()

  public init(source: Part? = nil) { self.source = source }

  /// Whether an output records only when it is asked to.
  public var waitsForRequests: Bool {
    outputs.contains {
      $0[MovieSettings.self]?.isOnDemand ?? $0[StillSettings.self]?.isOnDemand ?? false
    }
  }
}

/// A control of a source, by its name, and the value that it is to have.
public struct ControlWish: Sendable, Hashable {
  public var name: String
  /// A number, or the name of a menu's entry.
  public var value: String

  public init(_ name: String, _ value: String) { (self.name, self.value) = (name, value) }
}

/// What kind of frames a pipeline wants; `nil` for what may be as the source likes.
public struct SourceFormat: KindSettings {
  public var format: PixelFormat?
  public var size: FrameSize?
  public var rate: FrameRate?

  public init() {}

  public static var settings: [Setting<Self>] {
    [
      Setting("format", \.format, "pixel format, as a fourcc"),
      Setting("size", \.size, unit: "pixels", "of the frames"),
      Setting("rate", \.rate, unit: "frames/s", "30, 29.97, 30000/1001"),
    ]
  }

  var request: FormatRequest { FormatRequest(format: format, size: size, rate: rate) }
}

/// How a pipeline is asked while it runs.
public struct AskingSettings: KindSettings {
  /// Path of a Unix socket.
  public var controlSocket = OutputName()
  /// A file of requests, each with the frame or time from which it holds.
  public var script = InputName("")
  /// Condition on the stages' reports that ends the run; empty for none.
  public var until = ""

  public init() {}

  public static var settings: [Setting<Self>] {
    [
      Setting(
        "control-socket", \.controlSocket, "Unix socket on which other programs ask the run"),
      Setting("script", \.script, "a file of requests, each with its frame or time"),
      Setting("until", \.until, "ends when a condition on the stages' reports holds"),
    ]
  }
}

/// What a pipeline hears.
public struct SoundParts: Sendable, Equatable {
  /// Empty: a file's own sound, where an output holds sound. The kinds `auto` (the scene's, or the first
  /// microphone) and `none` (not a file's own either) have no settings.
  public var microphones: [Part] = []
  public var stages: [Part] = []
  public var files = SoundFiles()

  public init() {}

  public static let automatic = "auto"
  public static let none = "none"
}

/// How sound is written.
public struct SoundFiles: KindSettings {
  /// A file of the first microphone's sound alone.
  public var path = OutputName()
  /// A file of levels, of the first microphone.
  public var levels = OutputName()
  public var rate: Int?
  public var channels: Int?
  public var codec: AudioCodec?
  public var bitRate: BitRate?
  public var correction = AudioSync.auto
  public var sync: Duration?

  public init() {}

  public static var settings: [Setting<Self>] {
    [
      Setting(
        "path", \.path, "a file of the first microphone's sound alone: .wav, .flac, .mov or .mkv"),
      Setting(
        "levels", \.levels, "JSON Lines of each block's levels; - is standard output"),
      Setting(
        "rate", \.rate, range: AudioFormat.rates, unit: "Hz",
        "samples per second in files; auto: the microphone's"),
      Setting(
        "channels", \.channels, range: 1...AudioFormat.mostChannels,
        "in files; auto: the microphone's, 1 mixes them down"),
      Setting("codec", \.codec, "how movies hold sound; auto: pcm, in .mp4 aac"),
      Setting(
        "bitrate", \.bitRate,
        "of aac and opus, all channels together; auto: 64k and 48k per channel"),
      Setting(
        "correction", \.correction,
        "of a sound card's wrong clock in files: auto, once it is 3 ms off, or exact: never"),
      Setting(
        "sync", \.sync, range: .milliseconds(100)...Duration.seconds(3600),
        "what is written is on the disk so much later at most; auto: as the kernel does it"),
    ]
  }

  var recorded: RecordedSound {
    var recorded = RecordedSound()
    (recorded.rate, recorded.channels, recorded.sync) = (rate, channels, correction)
    (recorded.codec, recorded.bitRate) = (codec, bitRate)
    return recorded
  }
}

/// A run: pipelines by their labels, and what they share.
public struct Run: Sendable, Equatable {
  /// Version of descriptions of runs. It is increased where an older program would misread a newer file.
  public static let version = 1

  /// One source of the run, with its label.
  public struct Source: Sendable, Equatable {
    /// Names the source in names of files, options and messages.
    public var label: String
    public var pipeline: Pipeline

    public init(_ label: String, _ pipeline: Pipeline) {
      (self.label, self.pipeline) = (label, pipeline)
    }
  }

  public var sources: [Source]
  public var settings = RunSettings()
  /// The files that it was read from, which no output may replace. They are no part of a description.
  public var origins: [String] = []

  /// A run of one pipeline.
  public init(_ pipeline: Pipeline = Pipeline()) {
    sources = [Source(pipeline.source?.kind ?? "source", pipeline)]
  }
}

/// What the pipelines of a run share.
public struct RunSettings: KindSettings {
  public var summary = OutputName()
  public var histograms = false
  public var trace = OutputName()
  /// Longest time between the frames of a pair, of several sources; `nil`: frames are not paired.
  public var pair: Duration?
  public var pairs = OutputName()
  public var frames: UInt64?
  public var duration: Duration?
  public var workers: Int?
  public var memory: ByteCount?
  public var wait = WaitStrategy.park
  public var verify = false
  /// Whether files that exist are replaced. Never stored and never repeated: each run is asked anew.
  public var overwrite = false

  public init() {}

  public static var settings: [Setting<Self>] {
    [
      Setting(
        "frames", \.frames, range: 1...UInt64.max, "ends after so many produced, gaps counted"),
      Setting(
        "duration", \.duration, range: .nanoseconds(1)...Duration.seconds(3_000_000_000),
        "ends after so long: of a file the frames' time, live the clock's"),
      Setting(
        "summary", \.summary, isShared: true,
        "how the run went, as one JSON object; - is standard output"),
      Setting("histograms", \.histograms, "whole distributions of durations in the summary"),
      Setting(
        "trace", \.trace, isShared: true,
        "what each thread did to each frame, for Perfetto or chrome://tracing"),
      Setting(
        "pair", \.pair, range: .nanoseconds(1)...Duration.seconds(3600),
        "pairs each frame of the first source with the nearest of each other, so far apart at most"),
      Setting(
        "pairs", \.pairs, isShared: true, "JSON Lines of pairs, and of frames without a partner"),
      Setting(
        "workers", \.workers, range: 1...64, "threads of each parallel lane; auto: one per core"),
      Setting(
        "memory", \.memory, "that frames may take, such as 4G; auto: three quarters of what is free"
      ),
      Setting("wait", \.wait, "how threads wait for work"),
      Setting("verify", \.verify, "decodes every frame, so that all damage is found"),
    ]
  }
}
