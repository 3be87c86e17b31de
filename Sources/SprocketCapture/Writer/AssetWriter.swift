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
///
/// The movie begins with the first picture. All tracks end at the same time: where ``endSession(at:)`` says,
/// else when the last picture ends. That lasts as long as `expectedFrameRate` or the format's rate says,
/// else as long as the one before it. Sound that is shorter is followed by silence; pictures and sound behind
/// the end are left out, `append` says `.late`, and the ``Asset`` tells how much that was.
///
/// Inputs finish by themselves and in any order: one that has finished takes no more, and the others go on.
/// Append pictures and sound in turn, or from two threads: sound waits where it is more than 3 s ahead of the
/// pictures.
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
    /// Pictures that a live writer lost: `append` returned `.full` for them, or the encoder was too slow
    /// after they were taken.
    public let droppedFrames: UInt64
    /// Pictures at the session's end or later, which are not in the file.
    public let leftOutFrames: UInt64
    /// What the user should know.
    public let notes: [String]
  }

  private struct Core {
    var state = State.preparing
    var videos: [VideoInput] = []
    var audios: [AudioInput] = []
    var engine: Engine?
    var movie: MovieSink?
    var sounds: [AudioEngine] = []
  }

  public let path: String
  /// What the file says of itself.
  public let metadata: MovieMetadata
  /// Whether `append` never waits: an input without room takes nothing then. The encoder makes no frame that
  /// refers to a later one.
  public let expectsMediaDataInRealTime: Bool
  let overwrite: Bool
  private let core = Locked(Core())
  let timeline = WriterTimeline()

  /// Longest time that completing a file may take. Larger: a slower encoder or disk is waited for; a stuck
  /// one is reported later.
  private static let patience = Duration.seconds(600)

  /// Makes no file yet. One that exists is refused by `startWriting`, unless `overwrite` is set.
  public init(
    path: String, expectsMediaDataInRealTime: Bool = false, overwrite: Bool = false,
    metadata: MovieMetadata = MovieMetadata()
  ) {
    (self.path, self.expectsMediaDataInRealTime) = (path, expectsMediaDataInRealTime)
    (self.overwrite, self.metadata) = (overwrite, metadata)
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
      let (engine, movie, sounds) = try makeEngine(video, core.audios)
      do throws(RunError) {
        try engine.start()
      } catch {
        throw CaptureError(error)
      }
      (core.engine, core.movie, core.sounds) = (engine, movie, sounds)
      core.state = .started
    }
  }

  /// Frames and sound from that time on are written; what is earlier is left out. The movie begins with the
  /// first picture. `time` is in nanoseconds, on the clock of the times that are appended.
  public func startSession(at time: Int64) throws(CaptureError) {
    try core.withLock { (core) throws(CaptureError) in
      guard case .started = core.state else { throw Self.outOfTurn("startSession", core.state) }
      core.state = .writing
      timeline.begin(at: time)
    }
  }

  /// Pictures and sound end at that time, nanoseconds on their clock: the last picture lasts until then, and
  /// so does the sound. What is appended later is taken if it is before that time; the rest is `.late`.
  /// Pictures at that time or later that were appended before are left out of a `.mov` or `.mp4`; a `.mkv`
  /// keeps those that were encoded by then, and a note of the ``Asset`` counts them. A `.mkv` says how long
  /// its last picture lasts only by its sound.
  ///
  /// It need not be called; `finishWriting` comes all the same. Throws out of turn, where it was called
  /// before, and for a time that is not later than the session's start.
  public func endSession(at time: Int64) throws(CaptureError) {
    let (movie, sounds) = try core.withLock { (core) throws(CaptureError) in
      guard case .writing = core.state else { throw Self.outOfTurn("endSession", core.state) }
      try timeline.end(at: time, pictures: core.videos.first?.shown)
      return (core.movie, core.sounds)
    }
    movie?.end(at: time)
    for sound in sounds { sound.extend(to: time) }
  }

  /// Completes the file, and finishes inputs that have not. Returns when the file has its name; throws if it
  /// could not be completed, and where no picture was appended, since there is no file then.
  public func finishWriting() async throws(CaptureError) -> Asset {
    let engine = try core.withLock { (core) throws(CaptureError) in
      guard let engine = core.engine else { throw Self.outOfTurn("finishWriting", core.state) }
      switch core.state {
      case .started, .writing: break
      default: throw Self.outOfTurn("finishWriting", core.state)
      }
      core.state = .finishing
      Self.finish(core)
      return engine
    }
    guard await engine.hasEnded(within: Self.patience) else {
      engine.stop()
      throw fail(CaptureError(.timedOut, "\(path) was not completed within 10 minutes"))
    }
    let summary = engine.summary
    if let error = summary.errors.first { throw fail(CaptureError(.failed, error.description)) }
    let (leftOut, audios) = core.withLock { core in
      core.state = .completed
      return (core.movie?.framesPastEnd ?? 0, core.audios)
    }
    let counts = summary.ledger.entries.first { $0.sink == MovieSink.kind.name }?.counts
    let delivered = counts?[.delivered] ?? 0
    let frames = delivered - min(leftOut, delivered)
    guard frames > 0 else {
      throw fail(
        CaptureError(
          .failed,
          "no picture was appended to \(path) between the start of its session and its end, so there is no "
            + "file; append one"))
    }
    let late = leftOut + timeline.latePictures
    return Asset(
      path: path, frames: frames, droppedFrames: (counts?.sum ?? 0) - delivered,
      leftOutFrames: late,
      notes: summary.notes + Self.notes(late, audios, timeline))
  }

  /// What was left out behind the end.
  private static func notes(
    _ pictures: UInt64, _ audios: [AudioInput], _ timeline: WriterTimeline
  ) -> [String] {
    var notes = pictures > 0 ? ["pictures behind the end that are left out: \(pictures)"] : []
    for (index, audio) in audios.enumerated() {
      let excess = Double(audio.excess(beyond: timeline.end)) / 1e9
      guard excess > 0 else { continue }
      let thousandths = Int((excess * 1000).rounded(.up))
      notes.append(
        "sound \(index + 1) goes on behind the end for \(thousandths) ms, which are left out")
    }
    return notes
  }

  private static func finish(_ core: Core) {
    for input in core.audios { input.markAsFinished() }
    for input in core.videos { input.markAsFinished() }
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
      Self.finish(core)
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
}
