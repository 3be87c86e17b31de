internal import SprocketCodecs
public import SprocketCore
internal import SprocketEngine
public import SprocketSinks
internal import SprocketSources

/// A movie, or a file of sound, as a program looks at it: how long it is, what is in it, a picture at a time.
///
///     let asset = try Asset(path: "clip.mov")
///     print(asset.duration, asset.frameRate ?? 0, asset.hasSound)
///     let frame = try await asset.frame(at: .seconds(2), .bgra)
///     let small = try await asset.thumbnail(at: .seconds(2))
///
/// The file is read when the asset is made, and must not change afterwards.
public struct Asset: Sendable {
  /// The file.
  public let path: String
  /// All that is known of it without decoding, such as what is damaged.
  public let contents: MovieContents
  /// When each picture is shown, counted from the first one, in order; empty for sound alone.
  public let times: [Duration]
  /// From the first picture to the end of the last one; of a file without pictures, that of its sound.
  public let duration: Duration
  private let clip: FilmClip?

  /// Reads a file from its beginning to its end, without decoding.
  ///
  /// Throws if it cannot be read, or is no movie or sound (`.usage`). Cost: as reading the file from the disk
  /// twice.
  public init(path: String) throws(RunError) {
    self.path = path
    contents = try MovieCopy.contents(of: path)
    clip =
      contents.tracks.contains { $0.kind == "video" && $0.isReadable }
      ? try FilmClip(path: path) : nil
    times = clip?.times ?? []
    duration = clip?.duration ?? .seconds(contents.tracks.map(\.duration).max() ?? 0)
  }

  /// Pictures, sound and reports, in the file's order.
  public var tracks: [MovieContents.Track] { contents.tracks }

  /// Whether there is sound that can be decoded.
  public var hasSound: Bool { tracks.contains { $0.kind == "audio" && $0.isReadable } }

  private var video: MovieContents.Track? { tracks.first { $0.number == clip?.stream } }

  /// Mean number of pictures in a second; `nil` without pictures.
  public var frameRate: Double? {
    times.isEmpty || duration <= .zero
      ? nil : Double(times.count) / (Double(duration.nanosecondCount) / 1e9)
  }

  /// What makes its pictures upright.
  public var orientation: Orientation {
    video.flatMap { Orientation(rawValue: UInt8(clamping: $0.orientation)) } ?? .upright
  }

  /// Width and height of its pictures as they lie in the file, in pixels; `nil` without pictures.
  public var size: (width: Int, height: Int)? { video.map { ($0.width, $0.height) } }

  /// The picture that is shown at a time, counted from the first picture: the last one that begins by then.
  /// Times before the first picture and behind the last one mean these. `record.captured` is its time.
  ///
  /// Throws if the file has no pictures, and if it cannot be decoded there. Cost: decodes from the key frame
  /// before; some ten milliseconds to open the file.
  public func frame(
    at time: Duration, _ content: FrameCopy.Content = .image
  ) async throws(RunError) -> FrameCopy {
    let copies = FrameCopies(of: content, keeping: .every(1))
    let engine = try engine(at: time, copies)
    try engine.start()
    var found: FrameCopy?
    for await frame in copies {
      found = frame
      break
    }
    await engine.end()
    guard let found else { throw engine.summary.errors.first ?? nothing(at: time) }
    return found
  }

  /// The picture that is shown at a time as a JPEG of its size, with what makes it upright as EXIF's tag.
  /// `quality` is 1 to 100. Throws and costs as `frame(at:)`, and the encoding.
  public func photograph(at time: Duration, quality: Int = 90) async throws(RunError) -> [UInt8] {
    let (photos, reader) = AsyncStream.makeStream(of: [UInt8].self)
    let sink = PhotoSink("photo", quality: quality) { photo in
      reader.yield(photo.bytes)
      reader.finish()
    }
    let engine = try engine(at: time, sink)
    try engine.ask([.record(sink: "photo", frames: 1)])
    try engine.start()
    // A file that has no such picture ends the run.
    let end = Task {
      while !engine.wait(for: .zero) { try await Task.sleep(for: .milliseconds(5)) }
      reader.finish()
    }
    var found: [UInt8]?
    for await photo in photos {
      found = photo
      break
    }
    end.cancel()
    await engine.end()
    guard let found else { throw engine.summary.errors.first ?? nothing(at: time) }
    return found
  }

  /// A small JPEG of the picture that is shown at a time: 160 to 319 pixels on the longer side, or the
  /// picture's own size where that is smaller. It lies as in the file: `orientation` makes it upright. Throws
  /// and costs as `photograph(at:)`.
  public func thumbnail(at time: Duration) async throws(RunError) -> [UInt8] {
    guard let thumbnail = CameraStill.thumbnail(in: try await photograph(at: time)) else {
      throw RunError(.failed, "\(path) has no thumbnail at \(time.settingText)")
    }
    return thumbnail
  }

  private func nothing(at time: Duration) -> RunError {
    RunError(.failed, "\(path) has no picture that can be decoded at \(time.settingText)")
  }

  /// A run that begins with the picture of a time.
  private func engine(at time: Duration, _ sink: any Sink) throws(RunError) -> Engine {
    guard let clip else { throw RunError(.usage, "\(path) has no pictures; take a movie") }
    return try Engine(
      source: clip.source(from: clip.shown(at: time)), sinks: [sink],
      options: RunOptions(frameLimit: 1))
  }
}

extension Engine {
  /// Stops the run and waits for its end, 10 s at most.
  fileprivate func end() async {
    stop()
    let limit = deadline(in: 10_000_000_000)
    while !wait(for: .zero), monotonicNow() < limit {
      // A task of its own is not cancelled with the caller's.
      await Task { try? await Task.sleep(for: .milliseconds(2)) }.value
    }
  }
}
