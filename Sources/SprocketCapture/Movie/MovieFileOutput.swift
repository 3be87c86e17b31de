public import Sprocket
internal import SprocketPipelines

/// Records movies on request, while a session runs.
///
///     let recording = try movies.startRecording(to: "clip.mov")
///     try await Task.sleep(for: .seconds(5))
///     recording.stop()
///     print(await recording.finished().duration)
///
/// The ending of the path says what kind of file it is: `.mov`, `.mp4` or `.mkv`. It is made of fragments of
/// a second at most, under a partial name, until it is complete; an existing file is never replaced. While
/// nothing is recorded the output costs nothing, unless it has a pre-roll.
///
/// In a session without a camera a recording is sound alone: `.mov`, `.mkv`, `.wav` or `.flac`.
public final class MovieFileOutput: TakesVideo, TakesAudio, SessionOutput {
  struct State {
    /// The engine's recording, which goes on from file to file.
    var id: RecordingID?
    /// Files that were asked for and have not begun, and those that have not ended.
    var toStart: [Recording] = []
    var toEnd: [Recording] = []
    /// `stop` was asked for.
    var isStopping = false
    /// `pause` was asked for, and `resume` was not.
    var isPaused = false
  }

  public let core = OutputCore("movie")
  let takes: Set<CaptureDevice.MediaType> = [.video, .audio]
  private let codec: MovieCodec
  private let shape: MovieShape
  private let quality: Int
  private let limits: RecordingLimits
  private let preRoll: PreRoll?
  private let sound: RecordedSound
  /// What each file says of itself.
  public let metadata: MovieMetadata
  private let turn = OrientationSetting()
  private let choice = MovieChoice()
  let state = Locked(State())
  /// Those of a session without a camera.
  let sounds = SoundRecordings()

  /// - Parameters:
  ///   - codec: by default Motion-JPEG: the camera's own pictures, where it gives these.
  ///   - shape: the part of the pictures that the movie shows, and its size. Only the movie has it: previews,
  ///     photographs and data outputs keep the whole picture. A camera's own pictures are then encoded anew.
  ///   - quality: 1 to 100, of JPEGs that are encoded.
  ///   - limits: `duration`, `bytes` and `freeBytes` end a recording, with an error that says that the file
  ///     can be used. Files that follow each other without a gap count together.
  ///   - preRoll: a recording begins that much before it was asked for.
  ///   - sound: how the session's microphone is recorded.
  ///   - metadata: what each file says of itself: title, make, location and so on.
  public init(
    codec: MovieCodec = MovieCodec(), shape: MovieShape = MovieShape(), quality: Int = 90,
    limits: RecordingLimits = RecordingLimits(), preRoll: PreRoll? = nil,
    sound: RecordedSound = RecordedSound(), metadata: MovieMetadata = MovieMetadata()
  ) {
    (self.sound, self.metadata) = (sound, metadata)
    (self.codec, self.shape) = (codec, shape)
    self.quality = quality
    (self.limits, self.preRoll) = (limits.ofOneFile, preRoll)
    core.state.withLock { [turn] in $0.turn = turn }
  }

  /// Whether a recording is under way; true in a pause, too.
  public var isRecording: Bool {
    state.withLock { !$0.toEnd.isEmpty && !$0.isStopping } || sounds.isRecording
  }

  /// How long the file under way is: from its first frame to the last that was written, without pauses. 0
  /// where there is none.
  public var recordedDuration: Duration {
    sounds.present?.duration ?? .nanoseconds(underWay?.nanoseconds ?? 0)
  }

  /// Bytes of the file under way. 0 where there is none.
  public var recordedFileSize: UInt64 { sounds.present?.fileSize ?? underWay?.byteCount ?? 0 }

  private var underWay: RecordingRecord? {
    core.run?.engine?.recordingRecords.last { $0.sink == core.name && $0.reason == nil }
  }

  func makeSinks(_ setup: OutputSetup) throws(CaptureError) -> [any Sink] {
    let (taps, late) = try setup.sound(for: core)
    let sink = MovieSink(
      core.name, path: Self.container, hasOwnPaths: true, turn: turn, quality: quality,
      codec: codec, shape: shape, isOnDemand: true, limits: limits, preRoll: preRoll,
      sound: taps, lateSound: late, soundSettings: sound, metadata: metadata)
    sink.choice = choice
    return [sink]
  }

  var part: Part {
    var settings = MovieSettings()
    (settings.codec, settings.quality, settings.isOnDemand) = (codec, quality, true)
    (settings.shape, settings.metadata) = (shape, metadata)
    settings.longest =
      limits.duration.map { .time($0) } ?? limits.bytes.map { .bytes(ByteCount(Int(clamping: $0))) }
    settings.keepFree = limits.freeBytes.map { ByteCount(Int(clamping: $0)) }
    settings.preRoll = preRoll?.duration
    if let preRoll { settings.preRollMemory = ByteCount(preRoll.bytes) }
    return Part(MovieSink.kind.name, id: core.name, settings)
  }

  /// Says which container an encoder's pictures are for.
  private static let container = "movie.mov"

  // MARK: Recording

  /// Begins a recording with the next frame. While one is under way it goes on in the new file instead: no
  /// frame between the two is lost, and none is in both. A recording that is paused goes on.
  ///
  /// - Parameters:
  ///   - path: its ending says what kind of file it is.
  ///   - limits: of this file alone, counted from its first frame; `nil`: the output's own.
  ///   - metadata: what this file says of itself, in place of all that the output's files do; `nil`: the same
  ///     as these.
  ///
  /// Throws if the output is part of no running session, if its link is disabled, and if no such file can be
  /// made, for example because it exists.
  public func startRecording(
    to path: String, limits: RecordingLimits? = nil, metadata: MovieMetadata? = nil
  ) throws(CaptureError) -> Recording {
    try core.ask("the movie output") { run throws(CaptureError) in
      try startRecording(to: path, limits, metadata, in: run)
    }
  }

  private func startRecording(
    to path: String, _ limits: RecordingLimits?, _ metadata: MovieMetadata?, in run: SessionRun
  ) throws(CaptureError) -> Recording {
    guard let engine = run.engine else { throw Self.isOver }
    guard core.link.isEnabled else {
      throw CaptureError(.settingsRefused, "the link of the movie output is disabled; enable it")
    }
    let recording = Recording(path: path) { [weak self] in self?.stop($0) }
    guard run.device != nil else {
      guard preRoll == nil else {
        throw CaptureError(
          .settingsRefused,
          "a recording of sound alone has no pre-roll; make a movie output without one")
      }
      guard (metadata ?? self.metadata) == MovieMetadata() else {
        throw CaptureError(
          .settingsRefused,
          "a recording of sound alone says nothing of itself; leave out the metadata")
      }
      try sounds.start(core, run, recording, sound, limits ?? self.limits)
      return recording
    }
    sounds.stop()
    let own = MovieChoice.Value(limits: limits?.ofOneFile, metadata: metadata)
    if let error = ask(engine, recording, own) { throw error }
    return recording
  }

  /// Asks for the recording, which has some settings of its own.
  private func ask(
    _ engine: Engine, _ recording: Recording, _ own: MovieChoice.Value
  ) -> CaptureError? {
    let path = recording.path
    return state.withLock { state in
      do throws(RunError) {
        if let id = state.id, !state.isStopping, engine.isUnderWay(id) {
          let more: [Request] = state.isPaused ? [.resume(id)] : []
          _ = try choice.hold(own) { () throws(RunError) in
            try engine.ask([.next(id, path: path)] + more)
          }
        } else {
          let name = core.name
          state.id = try choice.hold(own) { () throws(RunError) in
            try engine.ask([.record(sink: name, path: path)])[0]
          }
        }
        (state.isStopping, state.isPaused) = (false, false)
        state.toStart.append(recording)
        state.toEnd.append(recording)
        return nil
      } catch {
        return CaptureError(error, .fileRefused)
      }
    }
  }

  /// Asks the recording to end with the frames so far. Does nothing if none is under way.
  public func stopRecording() {
    sounds.stop()
    let engine = core.run?.engine
    state.withLock { state in
      guard let id = state.id, !state.isStopping, let engine else { return }
      do throws(RunError) {
        try engine.ask([.stop(id)])
        state.isStopping = true
      } catch {
        // It has ended by itself, or the engine is full of requests: then it can be asked again.
        state.isStopping = !engine.isUnderWay(id)
      }
    }
  }

  /// Stops a recording if it is the newest file: earlier ones have ended.
  private func stop(_ recording: Recording) {
    sounds.stop(recording)
    if state.withLock({ $0.toEnd.last === recording }) { stopRecording() }
  }

  private static let isOver = CaptureError(.notRunning, "the session has stopped; start it again")

  // MARK: What comes

  func take(_ news: RunNews) {
    switch news {
    case .started(let record) where record.sink == core.name:
      let recording = state.withLock { state in
        Self.place(of: record, in: state.toStart).map { state.toStart.remove(at: $0) }
      }
      recording?.didStart(record.path)
    case .paused(let record) where record.sink == core.name:
      file(of: record)?.tell(.didPause(path: record.path))
    case .resumed(let record) where record.sink == core.name:
      file(of: record)?.tell(.didResume(path: record.path))
    case .ended(let record) where record.sink == core.name:
      let recording = state.withLock { state -> Recording? in
        guard let place = Self.place(of: record, in: state.toEnd) else { return nil }
        let ended = state.toEnd.remove(at: place)
        state.toStart.removeAll { $0 === ended }
        if state.toEnd.isEmpty {
          (state.id, state.isStopping, state.isPaused) = (nil, false, false)
        }
        return ended
      }
      recording?.didFinish(RecordingResult(record))
    default: break
    }
  }

  private func file(of record: RecordingRecord) -> Recording? {
    state.withLock { state in Self.place(of: record, in: state.toEnd).map { state.toEnd[$0] } }
  }

  /// The one of that path; the first where a path has a number in it.
  private static func place(of record: RecordingRecord, in files: [Recording]) -> Int? {
    files.firstIndex { $0.path == record.path } ?? files.indices.first
  }

  /// Which files began with a microphone is known to their thread: this is true for all.
  func soundCame() {
    let running = state.withLock { $0.toEnd.map { $0 } }
    for recording in running {
      recording.note(
        "a microphone was added or exchanged while \(recording.path) was recorded; a file that begins "
          + "without one has no sound, and the next file has it")
    }
  }

  func didLeave() {
    sounds.stop()
    let left = state.withLock { state in
      defer { state = State() }
      return state.toEnd.map { $0 }
    }
    for recording in left {
      recording.didFinish(RecordingResult(path: recording.path, Self.isOver))
    }
  }
}

extension RecordingLimits {
  /// Limits at which a recording of a session ends: only `startRecording` begins another file.
  fileprivate var ofOneFile: RecordingLimits {
    var limits = self
    limits.endsAtDiscontinuity = true
    (limits.fileDuration, limits.fileBytes) = (nil, nil)
    return limits
  }
}
