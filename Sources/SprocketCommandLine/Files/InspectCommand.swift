internal import ArgumentParser
internal import Sprocket

/// `inspect`: what is in a file.
struct InspectCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "inspect",
    abstract:
      "Says what is in a movie, a file of sound, or a dump: how much, when, and what is missing.",
    discussion: "Reads the whole file, without decoding it.")

  @Argument(help: "Files to look at.", completion: .file())
  var files: [String]

  @Flag(help: "Prints a JSON list instead: an entry for each file.")
  var json = false

  func execute(_ signals: inout StopSignals) throws {
    var failure: RunError?
    var entries: [FileEntry] = []
    for file in files {
      do throws(RunError) {
        let entry = try inspected(file, &signals)
        entries.append(entry)
        if !json {
          if entries.count > 1 { Console.output.say("") }
          for line in entry.lines { Console.output.say(line) }
        }
      } catch {
        if error.code == .interrupted || files.count == 1 { throw error }
        tellError(error.told)
        failure = failure ?? error
      }
    }
    if json { try Console.output.say(encoding: entries) }
    if failure != nil { throw ExitCode(1) }
  }

  private func inspected(_ file: String, _ signals: inout StopSignals) throws(RunError) -> FileEntry
  {
    try interruptible(&signals) { (isInterrupted) throws(RunError) in
      if file.lowercased().hasSuffix(".mcap") {
        return try FileEntry(dump: file, MCAPListing.read(file, isInterrupted: isInterrupted))
      }
      return FileEntry(
        file: file, try MovieCopy.contents(of: file, isInterrupted: isInterrupted))
    }
  }
}

/// What `inspect` says of a file.
struct FileEntry: Encodable, Sendable {
  struct Track: Encodable, Sendable {
    var kind: String
    var codec: String
    var width: Int?
    var height: Int?
    var rate: Int?
    var channels: Int?
    /// Pictures, or packets of sound.
    var count: UInt64
    var keyFrames: UInt64?
    var bytes: UInt64?
    var startSeconds: Double
    var durationSeconds: Double
    var framesPerSecond: Double?
    var gaps: UInt64
    var missingSeconds: Double

    enum CodingKeys: String, CodingKey {
      case kind, codec, width, height, rate, channels, count, bytes, gaps
      case keyFrames = "key_frames"
      case startSeconds = "start_s"
      case durationSeconds = "duration_s"
      case framesPerSecond = "frames_per_second"
      case missingSeconds = "missing_s"
    }
  }

  /// A channel of an MCAP file.
  struct Topic: Encodable, Sendable {
    var name: String
    var schema: String
    var encoding: String
    var messages: UInt64
    /// Log times of the first and the last message.
    var startNanoseconds: UInt64
    var endNanoseconds: UInt64

    enum CodingKeys: String, CodingKey {
      case name, schema, encoding, messages
      case startNanoseconds = "start_ns"
      case endNanoseconds = "end_ns"
    }
  }

  var file: String
  var container: String
  var tracks: [Track]
  /// Of MCAP files; `nil` for others.
  var topics: [Topic]?
  var attachments: [String]?
  var metadata: [String]?
  /// Why it could not be read to its end, and whatever else is odd.
  var damage: [String]

  init(file: String, _ contents: MovieContents) {
    self.file = file
    container = contents.container
    damage = contents.damage.map { [$0] } ?? []
    tracks = contents.tracks.map { track in
      let isVideo = track.kind == "video"
      let rate = track.duration > 0 ? Double(track.packets) / track.duration : 0
      return Track(
        kind: track.kind, codec: track.codec, width: isVideo ? track.width : nil,
        height: isVideo ? track.height : nil, rate: isVideo ? nil : track.rate,
        channels: isVideo ? nil : track.channels, count: track.packets,
        keyFrames: isVideo ? track.keys : nil, bytes: track.bytes, startSeconds: track.start,
        durationSeconds: track.duration, framesPerSecond: isVideo ? rate : nil, gaps: track.gaps,
        missingSeconds: track.missing)
    }
  }

  /// Of an MCAP file: its topics, and the pictures and sound that can be replayed.
  init(dump: String, _ listing: MCAPListing) throws(RunError) {
    file = dump
    container = "mcap"
    topics = listing.topics.map {
      Topic(
        name: $0.name, schema: $0.schema, encoding: $0.encoding, messages: $0.messages,
        startNanoseconds: $0.start, endNanoseconds: $0.end)
    }
    (attachments, metadata) = (listing.attachments, listing.metadata)
    damage = listing.damage.map { [$0] } ?? []
    tracks = []
    let source = ReplaySource(path: dump)
    // Files of other programs may have no pictures.
    guard let found = try? source.open() else { return }
    let rate = found.format.rate.framesPerSecond
    let count = UInt64(found.frameCount ?? 0)
    tracks = [
      Track(
        kind: "video", codec: found.format.pixelFormat.settingText, width: found.format.width,
        height: found.format.height, count: count, startSeconds: 0,
        durationSeconds: rate > 0 ? Double(count) / rate : 0, framesPerSecond: rate, gaps: 0,
        missingSeconds: 0)
    ]
    for sound in ReplayAudioSource.all(of: source) {
      let format = try sound.open().format
      tracks.append(
        Track(
          kind: "audio", codec: format.number.settingText, rate: format.rate,
          channels: format.channels, count: 0, startSeconds: 0, durationSeconds: 0, gaps: 0,
          missingSeconds: 0))
      sound.close()
    }
    source.close()
    damage = source.notes
  }

  private func line(_ topic: Topic) -> String {
    let seconds = Double(topic.endNanoseconds &- topic.startNanoseconds) / 1e9
    let schema = topic.schema.isEmpty ? "" : " \(topic.schema)"
    return "  topic \(topic.name)\(schema) (\(topic.encoding)): \(topic.messages) messages, "
      + "\(fixed(seconds, 3)) s"
  }

  var lines: [String] {
    var lines = ["\(file): \(container)"]
    for track in tracks {
      var line = "  \(track.kind) \(track.codec)"
      if let width = track.width, let height = track.height { line += " \(width)x\(height)" }
      if let rate = track.rate, let channels = track.channels {
        line += " \(rate) Hz, \(channels) channel\(channels == 1 ? "" : "s")"
      }
      if track.count > 0 {
        line += ", \(track.count) \(track.kind == "video" ? "frames" : "packets")"
        if let keys = track.keyFrames, keys < track.count { line += " (\(keys) key)" }
        line += ", \(fixed(track.durationSeconds, 3)) s"
      }
      if let rate = track.framesPerSecond, rate > 0 { line += ", \(fixed(rate, 2)) frames/s" }
      if let bytes = track.bytes, track.durationSeconds > 0 {
        line += ", \(fixed(Double(bytes) * 8 / track.durationSeconds / 1e6, 2)) Mbit/s"
      }
      if abs(track.startSeconds) > 0.0005 {
        line += ", begins at \(fixed(track.startSeconds, 3)) s"
      }
      lines.append(line)
      if track.gaps > 0 {
        lines.append(
          "    \(track.gaps) gaps, in which \(fixed(track.missingSeconds, 3)) s are missing")
      }
    }
    lines += topics?.map(line) ?? []
    lines += attachments?.map { "  attachment \($0)" } ?? []
    lines += metadata?.map { "  metadata \($0)" } ?? []
    return lines + damage.map { "  damaged: \($0)" }
  }
}

/// Does work on another thread; the first signal asks it to stop.
func interruptible<Result: Sendable>(
  _ signals: inout StopSignals,
  _ body: @escaping @Sendable (@escaping @Sendable () -> Bool) throws(RunError) -> Result
) throws(RunError) -> Result {
  let flag = StopFlag()
  do {
    return try BackgroundWork("file") { try body { flag.isSet } }.value(&signals) {
      flag.set()
      return .seconds(2)
    }
  } catch let error as RunError {
    throw error
  } catch {
    throw RunError(
      .failed, "stopped, though the file's disk does not answer; look at what it waits for")
  }
}
