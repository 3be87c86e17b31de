internal import Sprocket

/// Writes a movie from frames and sound that the program hands over: AVAssetWriter, over an engine of its
/// own.
///
///     let writer = AssetWriter(path: "clip.mp4")
///     let video = AssetWriter.VideoInput(format)
///     let audio = AssetWriter.AudioInput(AudioFormat(number: .s16, rate: 48_000, channels: 1))
///     try writer.add(video)
///     try writer.add(audio)
///     try writer.startWriting()
///     try writer.startSession(at: 0)
///     for (index, picture) in pictures.enumerated() {
///       try video.append(picture.span, at: Int64(index) * 40_000_000)
///     }
///     let asset = try await writer.finishWriting()
///
/// A writer writes one file: `.mov`, `.mp4` or `.mkv`. It has one video input, and any number of audio
/// inputs. Its moves are those of ``State``; one that is out of turn throws. All calls may come from any
/// thread.
public final class AssetWriter: Sendable {
  /// What the writer has been asked to do so far.
  public enum State: Sendable {
    /// Inputs may be added.
    case preparing
    /// `startSession` comes next.
    case started
    /// Inputs take frames and sound.
    case writing
    /// No more is taken, and the file is being completed.
    case finishing
    case completed
    case failed(CaptureError)
    case cancelled

    var name: String {
      switch self {
      case .preparing: "preparing"
      case .started: "started"
      case .writing: "writing"
      case .finishing: "finishing"
      case .completed: "completed"
      case .failed: "failed"
      case .cancelled: "cancelled"
      }
    }
  }

  /// A movie that was completed.
  public struct Asset: Sendable {
    public let path: String
    /// Pictures in the file.
    public let frames: UInt64
    /// Pictures that found no room, live: `append` said so.
    public let droppedFrames: UInt64
    /// What the user should know.
    public let notes: [String]
  }

  private struct Core {
    var state = State.preparing
    var videos: [VideoInput] = []
    var audios: [AudioInput] = []
    var engine: Engine?
    var movie: MovieSink?
  }

  public let path: String
  /// Whether `append` never waits: an input without room takes nothing then. The encoder makes no frame that
  /// refers to a later one.
  public let expectsMediaDataInRealTime: Bool
  private let overwrite: Bool
  private let core = Locked(Core())

  /// Longest time that completing a file may take. Larger: a slower encoder or disk is waited for; a stuck
  /// one is reported later.
  private static let patience = Duration.seconds(600)

  /// Makes no file yet. One that exists is refused by `startWriting`, unless `overwrite` is set.
  public init(path: String, expectsMediaDataInRealTime: Bool = false, overwrite: Bool = false) {
    (self.path, self.expectsMediaDataInRealTime) = (path, expectsMediaDataInRealTime)
    self.overwrite = overwrite
  }

  public var state: State { core.withLock(\.state) }

  // MARK: Moves

  /// Adds the video input: before `startWriting`.
  public func add(_ input: VideoInput) throws(CaptureError) {
    try core.withLock { (core) throws(CaptureError) in
      guard case .preparing = core.state else { throw Self.outOfTurn("add", core.state) }
      guard core.videos.isEmpty else {
        throw CaptureError(.inputRefused, "\(path) has a video input; make another writer")
      }
      guard input.claim() else { throw Self.taken }
      core.videos.append(input)
    }
  }

  /// Adds an audio input, which becomes a track: before `startWriting`.
  public func add(_ input: AudioInput) throws(CaptureError) {
    try core.withLock { (core) throws(CaptureError) in
      guard case .preparing = core.state else { throw Self.outOfTurn("add", core.state) }
      guard input.claim() else { throw Self.taken }
      core.audios.append(input)
    }
  }

  /// Makes the file and opens the encoders. Throws if the settings contradict each other, if the file exists
  /// or cannot be made, or if there is no video input.
  public func startWriting() throws(CaptureError) {
    try core.withLock { (core) throws(CaptureError) in
      guard case .preparing = core.state else { throw Self.outOfTurn("startWriting", core.state) }
      guard let video = core.videos.first else {
        throw CaptureError(.noInput, "\(path) has no video input; add one first")
      }
      let (engine, movie) = try makeEngine(video, core.audios)
      do throws(RunError) {
        try engine.start()
      } catch {
        throw CaptureError(error)
      }
      (core.engine, core.movie) = (engine, movie)
      core.state = .started
    }
  }

  /// Frames and sound from that time on are written; what is earlier is left out. The movie begins with the
  /// first picture. `time` is in nanoseconds, on the clock of the times that are appended.
  public func startSession(at time: Int64) throws(CaptureError) {
    let inputs = try core.withLock { (core) throws(CaptureError) in
      guard case .started = core.state else { throw Self.outOfTurn("startSession", core.state) }
      core.state = .writing
      return (core.videos, core.audios)
    }
    for input in inputs.0 { input.begin(at: time) }
    for input in inputs.1 { input.begin(at: time) }
  }

  /// Completes the file. Returns when it has its name; throws if it could not be completed.
  public func finishWriting() async throws(CaptureError) -> Asset {
    let engine = try core.withLock { (core) throws(CaptureError) in
      guard let engine = core.engine else { throw Self.outOfTurn("finishWriting", core.state) }
      switch core.state {
      case .started, .writing: break
      default: throw Self.outOfTurn("finishWriting", core.state)
      }
      core.state = .finishing
      for input in core.videos { input.markAsFinished() }
      for input in core.audios { input.markAsFinished() }
      return engine
    }
    guard await engine.hasEnded(within: Self.patience) else {
      engine.stop()
      throw fail(CaptureError(.timedOut, "\(path) was not completed within 10 minutes"))
    }
    let summary = engine.summary
    if let error = summary.errors.first { throw fail(CaptureError(.failed, error.description)) }
    let counts = summary.ledger.entries.first { $0.sink == MovieSink.kind.name }?.counts
    core.withLock { $0.state = .completed }
    return Asset(
      path: path, frames: counts?[.delivered] ?? 0, droppedFrames: counts?[.missing] ?? 0,
      notes: summary.notes)
  }

  /// Writes no more, and makes no file: one that was there before is kept. Does nothing to one that is
  /// complete.
  public func cancelWriting() async {
    guard let engine = cancel() else { return }
    _ = await engine.hasEnded(within: Self.patience)
  }

  /// The engine that ends; `nil` if there is nothing to be cancelled.
  private func cancel() -> Engine? {
    core.withLock { core in
      switch core.state {
      case .preparing, .started, .writing: break
      case .finishing, .completed, .failed, .cancelled: return nil
      }
      core.state = .cancelled
      core.movie?.giveUp()
      for input in core.videos { input.markAsFinished() }
      for input in core.audios { input.markAsFinished() }
      core.engine?.stop()
      return core.engine
    }
  }

  /// A writer that is released without being finished makes no file.
  deinit { _ = cancel() }

  private func fail(_ error: CaptureError) -> CaptureError {
    core.withLock { $0.state = .failed(error) }
    return error
  }

  private static func outOfTurn(_ move: String, _ state: State) -> CaptureError {
    CaptureError(
      .settingsRefused,
      "\(move) is not allowed while a writer is \(state.name); make another writer, or call it in turn"
    )
  }

  private static var taken: CaptureError {
    CaptureError(.inputRefused, "the input belongs to a writer; make another one")
  }

  // MARK: The engine

  private func makeEngine(
    _ video: VideoInput, _ audios: [AudioInput]
  ) throws(CaptureError) -> (Engine, MovieSink) {
    let codec = try video.settings.movieCodec(video.format.rate)
    let stages = try video.settings.stages()
    let recorded = try audios.map { (input) throws(CaptureError) in
      try input.settings.recorded(input.format)
    }
    guard Set(recorded).count <= 1 else {
      throw CaptureError(
        .settingsRefused, "all sound of a file has the same settings; give its inputs equal ones")
    }
    do throws(RunError) {
      let isLive = expectsMediaDataInRealTime
      let pictures = video.makeSource(isLive: isLive)
      let sounds = try audios.map { (input) throws(RunError) in
        try AudioEngine(input.makeSource(isLive: isLive, clock: pictures.clock))
      }
      let movie = MovieSink(
        path: path, quality: video.settings.quality, codec: codec, overwrite: overwrite,
        sound: try sounds.map { (sound) throws(RunError) in try sound.makeTap(for: "movie") },
        soundSettings: recorded.first ?? RecordedSound())
      return (
        try Engine(source: pictures, stages: stages, sinks: [movie], audio: sounds), movie
      )
    } catch {
      throw CaptureError(error, .settingsRefused)
    }
  }
}
