public import SprocketCore
internal import SprocketFiles

/// `--sound`: a file of sound alone, WAV, FLAC, MOV or MKV, by the ending of its name.
///
/// It begins with the first sample and has no holes: what is missing is silence. When the first sample was
/// heard is written into the file, as in movies. Until it is complete it has a partial name, and plays up
/// to its last whole second.
public final class SoundSink: AudioSink {
  public let name = "sound"
  private let settings: RecordedSound
  private let file: AudioFileWriter
  private var durable: UInt64 = 0
  public private(set) var notes: [String] = []
  /// Bytes of the file up to its last whole second, or up to its end. On the sink's thread.
  public var fileByteCount: UInt64 { file.fileByteCount }
  /// Bytes that are free on the file's disk; `nil` where that is not known. On the sink's thread.
  public var freeByteCount: UInt64? { file.freeByteCount }

  /// The file is made at once, empty. An existing one is refused unless `overwrite` is set.
  /// With `sync` nothing that was recorded is off the disk for longer.
  public init(
    path: String, overwrite: Bool = false, _ settings: RecordedSound = RecordedSound(),
    sync: Duration? = nil
  ) throws(RunError) {
    self.settings = settings
    file = try AudioFileWriter(path: path, overwrite: overwrite, isMadeUp: false, sync: sync)
  }

  /// Whether a file of that name holds sound alone.
  public static func isAlone(_ path: String) -> Bool {
    [".wav", ".flac"].contains { path.lowercased().hasSuffix($0) }
  }

  public func configure(_ sound: AudioDescription) throws(RunError) {
    try RunError.checkLibAV(for: file.path)
    try file.check(settings.format(of: sound.format))
  }

  public func run(_ tap: any AudioTap) throws(RunError) {
    let reader = AudioReader(tap)
    defer {
      reader.skip()
      tap.close()
    }
    guard let start = firstTime(reader) else {
      notes.append("sound: no sound came, so there is no \(file.path)")
      return file.abandon()
    }
    let track = try AudioTrack(reader, settings, start: start)
    if let loss = file.loss(track.format) { notes.append("sound: \(loss)") }
    do throws(RunError) {
      let description = tap.description
      // A microphone's name is a title; a file has its own, or none.
      let hasTitle = description.tags["title"] != nil || description.clock == .media
      try file.begin(
        track.format, microphone: hasTitle ? "" : description.name,
        tags: Timestamp(nanoseconds: start, clock: description.clock).movieTags(description.tags))
      try write(track, isLive: description.isLive)
      try file.finish()
    } catch {
      if file.durableCount > 0 { track.settle(upTo: file.durableCount) } else { track.revoke() }
      track.settle(as: .failed)
      throw error
    }
    track.settle(as: .delivered)
    track.note(path: file.path)
    if let kept = file.keptPath { notes.append(PartialFile.note(kept: kept, "sound")) }
    if track.cut > 0 {
      notes.append(
        "sound: \(track.cut) samples whose times lie before those of earlier ones are left out")
    }
  }

  /// Until the tap ends. Live, what is heard is waited for in short steps, so that a stuck microphone becomes
  /// silence in time.
  private func write(_ track: AudioTrack, isLive: Bool) throws(RunError) {
    let reader = track.reader
    var (time, end) = (track.start, track.start)
    while true {
      let now = monotonicNow()
      time = isLive ? now : time.clampedSum(Self.step)
      end = max(end, fetch(reader, upTo: time, deadline: now + Self.step) ?? end)
      if reader.hasEnded, isLive || end <= time { break }
      try track.take(upTo: time, deadline: 0) { (bytes) throws(RunError) in try file.write(bytes) }
      if file.durableCount > durable {
        durable = file.durableCount
        track.settle(upTo: durable)
      }
    }
    try track.finish(at: end, deadline: 0) { (bytes) throws(RunError) in try file.write(bytes) }
  }

  /// Fetches sound up to `time`, or up to the end. Returns when the last sample ended that is known.
  private func fetch(_ reader: AudioReader, upTo time: Int64, deadline: Int64) -> Int64? {
    while true {
      let end = reader.knownEnd
      if end ?? .min >= time || reader.hasEnded { return end }
      guard case .block = reader.fetch(until: deadline) else { return reader.knownEnd }
    }
  }

  /// When the first sample was heard.
  private func firstTime(_ reader: AudioReader) -> Int64? {
    while true {
      if reader.runCount > 0, let line = reader.line(ofRun: 0) {
        return line.time(of: reader.runs[0].first)
      }
      if reader.hasEnded { return nil }
      _ = reader.fetch(until: monotonicNow() + Self.step)
    }
  }

  /// Nanoseconds of sound that are taken at once. Larger: fewer looks at the clock, and sound is written
  /// later.
  private static let step: Int64 = 100_000_000
}

extension RecordedSound {
  /// What sound of that format becomes in a file.
  func format(of source: AudioFormat) -> AudioFormat {
    var format = AudioFormat(
      number: source.number, rate: rate ?? source.rate, channels: channels ?? source.channels)
    if format.channels == source.channels { format.speakers = source.speakers }
    return format
  }
}
