internal import Sprocket

/// What `inspect` says of a file.
struct FileEntry: Encodable, Sendable {
  struct Track: Encodable, Sendable {
    var kind: String
    /// Name of the source in a dump of several, or of the topic in another program's file; `nil` elsewhere.
    var source: String?
    var codec: String
    var width: Int?
    var height: Int?
    /// How pixels lie when they are decoded, by FFmpeg's name, which says how many bits they have.
    var pixelFormat: String?
    /// Of pictures that are shown turned or mirrored, what makes them upright, as EXIF numbers it; 0 for
    /// other angles.
    var orientation: Int?
    var rate: Int?
    var channels: Int?
    /// Pictures, or packets of sound.
    var count: UInt64
    /// Of a dump: frames between the first and the last that it does not have; `count` is without them.
    var missing: UInt64?
    var keyFrames: UInt64?
    var bytes: UInt64?
    var startSeconds: Double
    var durationSeconds: Double
    var framesPerSecond: Double?
    var gaps: UInt64
    var missingSeconds: Double

    enum CodingKeys: String, CodingKey {
      case kind, source, codec, width, height, orientation, rate, channels, count, missing, bytes,
        gaps
      case pixelFormat = "pixel_format"
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

  /// What a picture's file says of when and how it was taken.
  struct Picture: Encodable, Sendable {
    var orientation: Int
    var make, model, software, taken: String?
    var exposureTime: Double?
    var iso: Int?
    var comment: String?

    enum CodingKeys: String, CodingKey {
      case orientation, make, model, software, taken, iso, comment
      case exposureTime = "exposure_s"
    }

    init(_ notes: PictureNotes) {
      orientation = Int(notes.orientation.rawValue)
      (make, model, software, taken) = (notes.make, notes.model, notes.software, notes.taken)
      (exposureTime, iso, comment) = (notes.exposureTime, notes.sensitivity, notes.comment)
    }

    var lines: [String] {
      var parts: [String] = []
      if let taken { parts.append("taken \(taken)") }
      if let exposureTime, exposureTime > 0 {
        parts.append(
          exposureTime < 0.5
            ? "exposed for 1/\(fixed(1 / exposureTime, 0)) s"
            : "exposed for \(fixed(exposureTime, 1)) s")
      }
      if let iso { parts.append("ISO \(iso)") }
      if orientation != 1 { parts.append("orientation \(orientation)") }
      var lines = parts.isEmpty ? [] : ["  " + parts.joined(separator: ", ")]
      let device = [make, model].compactMap(\.self).joined(separator: " ")
      if !device.isEmpty || software != nil {
        lines.append(
          "  by \(([device] + [software].compactMap(\.self)).filter { !$0.isEmpty }.joined(separator: ", "))"
        )
      }
      if let comment { lines.append("  comment \(comment)") }
      return lines
    }
  }

  enum CodingKeys: CodingKey {
    case file, container, picture, tracks, others, topics, attachments, metadata, damage
  }

  var file: String
  var container: String
  private var isPicture: Bool
  /// Of pictures; `nil` for others, and where nothing is said.
  var picture: Picture?
  var tracks: [Track]
  /// Parts of a movie that are neither decoded nor copied; `nil` if there are none.
  var others: [String]?
  /// Of MCAP files; `nil` for others.
  var topics: [Topic]?
  var attachments: [String]?
  var metadata: [String]?
  /// Why it could not be read to its end, and whatever else is odd.
  var damage: [String]

  init(file: String, _ contents: MovieContents) {
    self.file = file
    // libavformat's demuxers of pictures are called png_pipe, jpeg_pipe and so on.
    let isPicture = contents.container.hasSuffix("_pipe")
    self.isPicture = isPicture
    container = isPicture ? String(contents.container.dropLast(5)) : contents.container
    others = contents.others.isEmpty ? nil : contents.others
    damage = (contents.damage.map { [$0] } ?? []) + contents.notes
    tracks = contents.tracks.map { track in
      let (isVideo, isSound) = (track.kind == "video", track.kind == "audio")
      let rate = track.duration > 0 ? Double(track.packets) / track.duration : 0
      return Track(
        kind: track.kind, codec: track.codec, width: isVideo ? track.width : nil,
        height: isVideo ? track.height : nil, pixelFormat: track.pixelFormat,
        orientation: isVideo && track.orientation != 1 ? track.orientation : nil,
        rate: isSound ? track.rate : nil,
        channels: isSound ? track.channels : nil, count: track.packets,
        keyFrames: isVideo ? track.keys : nil, bytes: track.bytes, startSeconds: track.start,
        durationSeconds: isPicture ? 0 : track.duration,
        framesPerSecond: isVideo && !isPicture ? rate : nil, gaps: track.gaps,
        missingSeconds: track.missing)
    }
  }

  /// Adds what a picture's own fields say, and its number of pages: libavformat counts one page only.
  mutating func add(_ notes: PictureNotes) {
    picture = Picture(notes)
    if notes.pageCount > 1, tracks.count == 1 { tracks[0].count = UInt64(notes.pageCount) }
    if notes.isCut { damage.append("it is cut off: pages may be missing at its end") }
  }

  /// Of an MCAP file: its topics, and the pictures and sound that can be replayed.
  init(dump: String, _ listing: MCAPListing) throws(RunError) {
    file = dump
    isPicture = false
    container = "mcap"
    topics = listing.topics.map {
      Topic(
        name: $0.name, schema: $0.schema, encoding: $0.encoding, messages: $0.messages,
        startNanoseconds: $0.start, endNanoseconds: $0.end)
    }
    (attachments, metadata) = (listing.attachments, listing.metadata)
    damage = listing.damage.map { [$0] } ?? []
    tracks = []
    for name in listing.streams { try addTracks(of: name) }
  }

  /// Adds what can be replayed of one source of a dump, or of one topic.
  private mutating func addTracks(of stream: String) throws(RunError) {
    var settings = ReplaySettings()
    settings.stream = stream
    let source = ReplaySource(path: file, settings)
    // Files of other programs may have no pictures.
    guard let found = try? source.open() else { return }
    let name = stream.isEmpty ? nil : stream
    let rate = found.format.rate.framesPerSecond
    let extent = source.extent(interval: rate > 0 ? Int64(nearest: 1e9 / rate) : 0)
    let whole = UInt64(found.frameCount ?? 0)
    let count = whole - min(extent.missingFrames, whole)
    tracks.append(
      Track(
        kind: "video", source: name, codec: found.format.pixelFormat.settingText,
        width: found.format.width, height: found.format.height, count: count,
        missing: extent.missingFrames, startSeconds: 0,
        durationSeconds: Double(extent.nanoseconds) / 1e9, framesPerSecond: rate,
        gaps: extent.gaps, missingSeconds: Double(extent.missing) / 1e9))
    for sound in ReplayAudioSource.all(of: source) {
      let format = try sound.open().format
      tracks.append(
        Track(
          kind: "audio", source: name, codec: format.number.settingText, rate: format.rate,
          channels: format.channels, count: UInt64(sound.blockCount), startSeconds: 0,
          durationSeconds: Double(sound.sampleCount) / Double(max(1, format.rate)), gaps: 0,
          missingSeconds: 0))
      sound.close()
    }
    source.close()
    damage += source.notes
  }

  /// What is done to a picture before it is shown.
  private static func turn(_ orientation: Int) -> String {
    switch orientation {
    case 3: ", shown turned by 180 degrees"
    case 6: ", shown turned by 90 degrees"
    case 8: ", shown turned by 270 degrees"
    case 2, 4, 5, 7: ", shown mirrored (EXIF orientation \(orientation))"
    default: ", shown turned by another angle"
    }
  }

  private func line(_ topic: Topic) -> String {
    let seconds = Double(topic.endNanoseconds &- topic.startNanoseconds) / 1e9
    let schema = topic.schema.isEmpty ? "" : " \(topic.schema)"
    return "  topic \(topic.name)\(schema) (\(topic.encoding)): \(topic.messages) messages, "
      + "\(fixed(seconds, 3)) s"
  }

  /// Prints the contents of a copy, and the damage of its original; `isBrief`: the damage alone.
  func tell(copyOf original: String, isBrief: Bool = false) {
    var copy = self
    (copy.damage, copy.others) = ([], nil)
    let notes = damage.map { "  \(original): \($0)" }
    for line in (isBrief ? [] : copy.lines) + notes { Console.errors.say(line) }
  }

  var lines: [String] {
    var lines = ["\(file): \(container)"]
    for track in tracks {
      var line = "  \(track.source.map { "\($0): " } ?? "")\(track.kind) \(track.codec)"
      if let width = track.width, let height = track.height { line += " \(width)x\(height)" }
      if let format = track.pixelFormat { line += " \(format)" }
      if let orientation = track.orientation { line += Self.turn(orientation) }
      if let rate = track.rate, let channels = track.channels {
        line += " \(rate) Hz, \(channels) channel\(channels == 1 ? "" : "s")"
      }
      if track.count > 0, !isPicture {
        line += ", \(track.count) \(track.kind == "video" ? "frames" : "packets")"
        if let missing = track.missing, missing > 0 { line += ", \(missing) missing" }
        if let keys = track.keyFrames, keys < track.count { line += " (\(keys) key)" }
        line += ", \(fixed(track.durationSeconds, 3)) s"
      }
      if isPicture, track.count > 1 { line += ", \(track.count) pages" }
      if let rate = track.framesPerSecond, rate > 0 {
        line += ", \(rateText(rate)) frames/s"
      }
      if let bytes = track.bytes, track.durationSeconds > 0 {
        line += ", \(fixed(Double(bytes) * 8 / track.durationSeconds / 1e6, 2)) Mbit/s"
      }
      if abs(track.startSeconds) > 0.0005 {
        line += ", begins at \(fixed(track.startSeconds, 3)) s"
      }
      lines.append(line)
      if track.gaps > 0 {
        let gaps = track.gaps == 1 ? "gap" : "gaps"
        lines.append(
          "    \(track.gaps) \(gaps), in which \(fixed(track.missingSeconds, 3)) s are missing")
      }
    }
    lines += picture?.lines ?? []
    lines += others?.map { "  \($0)" } ?? []
    lines += topics?.map(line) ?? []
    lines += attachments?.map { "  attachment \($0)" } ?? []
    lines += metadata?.map { "  metadata \($0)" } ?? []
    return lines + damage.map { "  damaged: \($0)" }
  }
}
