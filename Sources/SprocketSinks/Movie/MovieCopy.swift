public import SprocketCore
internal import SprocketLibAV

/// What a movie or a file of sound holds.
public struct MovieContents: Sendable {
  /// One stream of the file.
  public struct Track: Sendable {
    /// The number of its stream in the file, as ffprobe counts.
    public var number: Int
    /// `video`, `audio`, or `reports`: lines of JSON about the frames.
    public var kind: String
    /// As ffprobe calls it.
    public var codec: String
    /// Whether it can be decoded here.
    public var isReadable = true
    /// In pixels; 0 for sound.
    public var width = 0
    public var height = 0
    /// How the pixels of decoded pictures lie, by FFmpeg's name, such as `yuv420p10le`; `nil` for sound, and
    /// where nothing says it.
    public var pixelFormat: String?
    /// Of pictures, what makes them upright, as EXIF numbers it: 1 is upright, 0 a turn by another angle.
    public var orientation = 1
    /// Of sound, in Hz, and its channels; 0 for pictures.
    public var rate = 0
    public var channels = 0
    /// Packets: of pictures one each.
    public var packets: UInt64
    /// Pictures that refer to no other.
    public var keys: UInt64
    public var bytes: UInt64
    /// From the first to the end of the last, seconds.
    public var start: Double
    public var duration: Double
    /// Places where time goes on without a picture, or sound, and how much is missing there.
    public var gaps: UInt64
    public var missing: Double
  }

  /// As libavformat calls it.
  public var container: String
  public var tracks: [Track]
  /// Whether its packets have times; those of Motion JPEG or H.264 without a container have none.
  public var hasTimes: Bool
  /// Parts of the file that are neither decoded nor copied, such as `subtitles (subrip)`.
  public var others: [String] = []
  /// What a copy left out, and what the file's clock did.
  public var notes: [String] = []
  /// Why the file could not be read to its end. For a copy, this describes the original.
  public var damage: String?
}

/// Reads movies and sound without decoding them, and copies them into plain files.
public enum MovieCopy {
  /// What is in a file: reads all of it. Throws where nothing can be read. Cost: as reading it from the disk.
  public static func contents(
    of path: String, isInterrupted: @escaping @Sendable () -> Bool = { false }
  ) throws(RunError) -> MovieContents {
    var copy = try open(path, isInterrupted)
    copy.scan()
    return MovieContents(copy.contents)
  }

  /// Copies pictures and sound without decoding into a plain .mov, .mp4 or .mkv. The input may be cut off by
  /// a crash. The copy begins with the key frame at or before `from`, nanoseconds from the file's beginning,
  /// and ends before `end`. Returns the contents of the copy.
  public static func copy(
    _ path: String, to target: String, from: Int64 = 0, until end: Int64 = .max,
    overwrite: Bool = false, isInterrupted: @escaping @Sendable () -> Bool = { false }
  ) throws(RunError) -> MovieContents {
    let container = try MovieSink.container(target)
    var copy = try open(path, isInterrupted)
    let output = try MovieOutput(path: target, overwrite: overwrite, isMadeUp: false)
    do throws(MuxerError) {
      try copy.copy(into: container, from: from, until: end, output: output)
    } catch {
      let failure = output.fail(error, end: 0, isOfUse: false)
      if case .unheld = error { throw RunError(.usage, failure.description) }
      throw failure
    }
    if let failure = copy.contents.failure, failure.code == .interrupted {
      output.abandonEmpty()
      throw RunError(.interrupted, "stopped: \(target) was not written")
    }
    guard copy.contents.reachesStart || from == 0 else {
      output.abandonEmpty()
      throw RunError(
        .usage,
        "\(path) has nothing at \(Duration.nanoseconds(from).settingText) or later; begin earlier"
      )
    }
    guard copy.contents.tracks.contains(where: { $0.packets > 0 }) else {
      output.abandonEmpty()
      throw RunError(
        .usage,
        copy.contents.failure.map { "\($0)" }
          ?? (copy.contents.hasTimes
            ? "\(path) has nothing that can be copied there; look at it with inspect"
            : "\(path) has no times, by which its pictures could be copied; encode it instead")
      )
    }
    try output.complete()
    copy.contents.container = container.rawValue
    return MovieContents(copy.contents)
  }

  /// What kind of movie a name says: `mov`, `mp4` or `mkv`. Throws for others.
  public static func ending(of path: String) throws(RunError) -> String {
    try MovieSink.container(path).rawValue
  }

  /// The contents of a file without what only all of it tells, such as lengths. Reads its headers only.
  public static func header(of path: String) throws(RunError) -> MovieContents {
    MovieContents(try open(path) { false }.contents)
  }

  private static func open(
    _ path: String, _ isInterrupted: @escaping @Sendable () -> Bool
  ) throws(RunError) -> MediaCopy {
    do throws(MediaError) {
      return try MediaCopy(path, isInterrupted: isInterrupted)
    } catch {
      let code: RunError.Code = error.isOfMachine ? .failed : .usage
      throw RunError(error.code == .interrupted ? .interrupted : code, "\(error)")
    }
  }
}

extension MovieContents {
  init(_ contents: MediaContents) {
    (container, hasTimes) = (contents.container, contents.hasTimes)
    tracks = contents.tracks.map { track in
      let start = Double(track.start ?? 0) / 1e9
      return Track(
        number: track.index, kind: track.kind.rawValue, codec: track.codec,
        isReadable: track.isReadable,
        width: track.width,
        height: track.height, pixelFormat: track.pixelFormat, orientation: track.orientation ?? 0,
        rate: track.rate, channels: track.channels, packets: track.packets, keys: track.keys,
        bytes: track.bytes, start: start,
        duration: max(0, Double(track.end ?? 0) / 1e9 - start), gaps: track.gaps,
        missing: Double(track.missing) / 1e9)
    }
    (others, notes) = (contents.others, contents.notes)
    let missing = contents.missingByteCount
    damage =
      contents.failure.map { "\($0)" }
      ?? (missing > 0 ? "\(missing) bytes are missing at its end" : nil)
  }
}
