public import Sprocket

extension AssetWriter {
  /// Takes the sound of a track of a writer.
  public final class AudioInput: Sendable {
    private struct State {
      var source: PushAudioSource?
      var timeline: WriterTimeline?
      var isTaken = false
      var isFinished = false
      /// Time behind the samples that were appended last.
      var next: Int64?
    }

    public let format: AudioFormat
    let settings: AudioSettings
    private let state = Locked(State())

    public init(_ format: AudioFormat, _ settings: AudioSettings = AudioSettings()) {
      (self.format, self.settings) = (format, settings)
    }

    /// Whether a tenth of a second of sound would be taken now.
    public var isReadyForMoreMediaData: Bool {
      state.withLock { $0.isFinished ? nil : $0.source }?.hasRoom ?? false
    }

    /// Appends samples: interleaved, a second at most. `time` is when the first was heard, nanoseconds; by
    /// default behind the samples before, at first the session's start, or live now. What lies before the
    /// session's start, or behind the end of pictures and sound where that is known by then, is cut off.
    /// Where there is no room, it waits for `limit` at most, live not at all.
    ///
    /// `.early` and `.late` mean that none of it is in the file. The video input may have finished before.
    /// Throws if the writer does not write, if this input has finished, or if the bytes are not whole
    /// samples.
    @discardableResult
    public func append(
      _ samples: Span<UInt8>, at time: Int64? = nil, waiting limit: Duration = .seconds(10)
    ) throws(CaptureError) -> Appended {
      let size = format.sampleBytes
      guard samples.count % size == 0, samples.count <= size * format.rate else {
        throw CaptureError(
          .settingsRefused,
          "\(samples.count) bytes are not whole samples of \(size) bytes, a second at most")
      }
      let (source, heard, timeline, before) = try ready(for: samples.count / size, time)
      let early = cut(before: timeline.start, heard)
      let count = min(samples.count / size, timeline.end.map { cut(before: $0, heard) } ?? .max)
      guard early < samples.count / size else { return .early }
      guard count > early else { return .late }
      let pushed = source.push(
        samples.extracting(early * size..<count * size),
        heard: heard.clampedSum(format.nanoseconds(early)),
        waiting: source.isLive ? .zero : limit)
      if pushed != .taken, !source.isLive {
        // They may be appended again.
        let end = heard.clampedSum(format.nanoseconds(samples.count / size))
        state.withLock { if $0.next == end { $0.next = before } }
      }
      return try outcome(pushed)
    }

    /// No more sound comes: `append` throws from now on. What the pictures last longer is silence. Does
    /// nothing before `startWriting`.
    public func markAsFinished() {
      let (source, timeline) = state.withLock { state -> (PushAudioSource?, WriterTimeline?) in
        guard state.source != nil, !state.isFinished else { return (nil, nil) }
        state.isFinished = true
        return (state.source, state.timeline)
      }
      source?.finish()
      timeline?.finishSound()
    }

    // MARK: The writer's side

    /// Notes the samples that come, and tells when the first of them was heard.
    private func ready(
      for count: Int, _ time: Int64?
    ) throws(CaptureError) -> (PushAudioSource, Int64, WriterTimeline, before: Int64?) {
      try state.withLock { (state) throws(CaptureError) in
        guard let source = state.source, let timeline = state.timeline, let start = timeline.start
        else { throw notWriting }
        guard !state.isFinished else { throw hasFinished("sound") }
        let heard = time ?? state.next ?? (source.isLive ? monotonicNow() : start)
        let before = state.next
        state.next = heard.clampedSum(format.nanoseconds(count))
        return (source, heard, timeline, before)
      }
    }

    /// How many of the samples from `heard` on are before `time`.
    private func cut(before time: Int64?, _ heard: Int64) -> Int {
      guard let time, time > heard else { return 0 }
      let length = Double(time.clampedSum(-max(heard, -.max))) / 1e9
      return Int(clamping: Int64((length * Double(format.rate)).rounded(.up)))
    }

    /// Time (nanoseconds) by which the sound goes on behind `end`; 0 if it does not.
    func excess(beyond end: Int64?) -> Int64 {
      guard let end, let next = state.withLock(\.next), next > end else { return 0 }
      // Less than a sample is rounded away.
      let excess = next.clampedSum(-max(end, -.max))
      return excess > format.nanoseconds(1) ? excess : 0
    }

    func claim() -> Bool {
      state.withLock { state in
        defer { state.isTaken = true }
        return !state.isTaken
      }
    }

    func makeSource(
      isLive: Bool, clock: Timestamp.Clock, _ timeline: WriterTimeline
    ) -> PushAudioSource {
      let source = PushAudioSource("writer", format: format, isLive: isLive, clock: clock)
      // A start that failed may have left something.
      state.withLock { $0 = State(source: source, timeline: timeline, isTaken: true) }
      return source
    }
  }
}
