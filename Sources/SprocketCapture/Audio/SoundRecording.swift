internal import Sprocket
internal import Synchronization

/// A recording of sound alone: a file of the microphone's blocks from one to another.
///
/// Unchecked: the sink's thread alone uses the file; what others ask for is atomic.
final class SoundRecording: AudioSink, @unchecked Sendable {
  let name: String
  let recording: Recording
  private let file: SoundSink
  private let limits: RecordingLimits
  private let onEnd: @Sendable (SoundRecording) -> Void
  private let isAsked = Atomic<Bool>(false)
  private let nanoseconds = Atomic<Int64>(0)
  private let byteCount = Atomic<UInt64>(0)
  private var rate = 1

  /// Makes the file, empty and under its partial name. `onEnd` is called before the recording is told.
  init(
    _ name: String, _ recording: Recording, _ settings: RecordedSound, _ limits: RecordingLimits,
    onEnd: @escaping @Sendable (SoundRecording) -> Void
  ) throws(RunError) {
    (self.name, self.recording, self.limits, self.onEnd) = (name, recording, limits, onEnd)
    file = try SoundSink(path: recording.path, settings)
  }

  /// It was asked to end.
  func ask() { isAsked.store(true, ordering: .releasing) }

  /// How long the sound is that was taken.
  var duration: Duration { .nanoseconds(nanoseconds.load(ordering: .relaxed)) }
  /// Bytes of the file, up to its last whole second.
  var fileSize: UInt64 { byteCount.load(ordering: .relaxed) }

  func configure(_ sound: AudioDescription) throws(RunError) {
    rate = sound.format.rate
    try file.configure(sound)
  }

  func run(_ tap: any AudioTap) throws(RunError) {
    let watched = WatchedTap(tap) { [self] first, end in take(first: first, end: end) }
    do throws(RunError) {
      try file.run(watched)
    } catch {
      end(RecordingResult(path: recording.path, CaptureError(error)))
      // The recording tells of it; the run goes on.
      return
    }
    guard let account = watched.file else {
      return end(
        RecordingResult(
          path: recording.path,
          CaptureError(.failed, "the recording \(recording.path) has ended: no sound came")))
    }
    let isAsked = isAsked.load(ordering: .acquiring)
    end(
      RecordingResult(
        account, seconds: Double(account.samples) / Double(rate), file.fileByteCount,
        watched.end ?? (isAsked ? .asked : .end)))
  }

  private func end(_ result: RecordingResult) {
    onEnd(self)
    recording.didFinish(result)
  }

  /// The file gets the block with the samples from `first` to `end`, counted from its own first one. Returns
  /// why it is the last block; `nil` if it is not.
  private func take(first: UInt64, end: UInt64) -> RecordingEnd? {
    if first == 0 { recording.didStart(recording.path) }
    let time = Int64(Double(end) * 1e9 / Double(rate))
    nanoseconds.store(time, ordering: .relaxed)
    byteCount.store(file.fileByteCount, ordering: .relaxed)
    if let limit = limits.duration, time >= limit.nanosecondCount { return .duration }
    if let limit = limits.bytes, file.fileByteCount >= limit { return .size }
    // Once a second.
    guard let limit = limits.freeBytes, first / UInt64(rate) != end / UInt64(rate) else {
      return nil
    }
    return file.freeByteCount.map { $0 < limit } ?? false ? .disk : nil
  }
}

/// A tap that somebody watches: each block, and the file that is made of them.
private final class WatchedTap: AudioTap {
  private let tap: any AudioTap
  private let onBlock: (_ first: UInt64, _ end: UInt64) -> RecordingEnd?
  private var first: UInt64?
  /// Why the sound ended before its source.
  private(set) var end: RecordingEnd?
  private(set) var file: AudioFileAccount?

  init(
    _ tap: any AudioTap, onBlock: @escaping (_ first: UInt64, _ end: UInt64) -> RecordingEnd?
  ) {
    (self.tap, self.onBlock) = (tap, onBlock)
  }

  var description: AudioDescription { tap.description }
  var before: AudioPast { tap.before }
  var hasSource: Bool { tap.hasSource }

  func next(timeout: Int64) -> AudioStep {
    guard end == nil else { return .end }
    let step = tap.next(timeout: timeout)
    guard case .block = step else { return step }
    let record = tap.withBlock { record, _ in record }
    let start = first ?? record.first
    first = start
    end = onBlock(record.first - start, record.end - start)
    return step
  }

  func withBlock<Result>(_ body: (AudioRecord, Span<UInt8>) -> Result) -> Result {
    tap.withBlock(body)
  }
  func line(ofSegment segment: UInt32) -> AudioLine? { tap.line(ofSegment: segment) }
  func release() { tap.release() }
  func count(_ samples: UInt64, as fate: Fate) { tap.count(samples, as: fate) }
  func recount(_ samples: UInt64, _ old: Fate, as new: Fate) {
    tap.recount(samples, old, as: new)
  }
  func note(_ file: AudioFileAccount) {
    self.file = file
    tap.note(file)
  }
  func close() { tap.close() }
}

/// The recordings of sound alone of one output: one at a time.
final class SoundRecordings: Sendable {
  private struct State {
    var present: SoundRecording?
    /// Those that have not ended, with the sound that they record.
    var running: [(SoundRecording, AudioEngine)] = []
    var count = 0
  }

  private let state = Locked(State())

  var isRecording: Bool { state.withLock { $0.present != nil } }
  var present: SoundRecording? { state.withLock { $0.present } }

  /// Begins a recording with the next block. While one is under way it goes on in the new file instead: no
  /// sample between the two is lost, and none is in both.
  func start(
    _ core: OutputCore, _ run: SessionRun, _ recording: Recording, _ settings: RecordedSound,
    _ limits: RecordingLimits
  ) throws(CaptureError) {
    guard core.link.isSoundEnabled else {
      throw CaptureError(.settingsRefused, "the link of \(core.name) is disabled; enable it")
    }
    guard let sound = run.sound, sound.device != nil else {
      throw CaptureError(.noInput, "the session has no microphone; add one to record sound")
    }
    guard settings.codec ?? .pcm == .pcm, settings.bitRate == nil else {
      throw CaptureError(
        .settingsRefused,
        "a file of sound alone is PCM, or FLAC by its ending; leave out codec and bit rate")
    }
    do throws(RunError) {
      try state.withLock { (state) throws(RunError) in
        state.count += 1
        let new = try SoundRecording(
          "\(core.name)-sound-\(state.count)", recording, settings, limits
        ) { [weak self] in self?.didEnd($0) }
        let old = state.present
        old?.ask()
        try sound.engine.attach(new, inPlaceOf: old?.name)
        state.present = new
        state.running.append((new, sound.engine))
      }
    } catch {
      throw CaptureError(error, .fileRefused)
    }
  }

  /// Asks the recording under way to end with the sound so far; `recording`: only that one.
  func stop(_ recording: Recording? = nil) {
    state.withLock { state in
      guard let present = state.present, recording.map({ present.recording === $0 }) ?? true else {
        return
      }
      present.ask()
      for (running, engine) in state.running where running === present {
        engine.detach(present.name)
      }
      state.present = nil
    }
  }

  private func didEnd(_ ended: SoundRecording) {
    state.withLock { state in
      state.running.removeAll { $0.0 === ended }
      if state.present === ended { state.present = nil }
    }
  }
}
