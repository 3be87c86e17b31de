public import Sprocket

extension AssetWriter {
  /// Whether an input took what was appended.
  public enum Appended: Sendable, Hashable {
    case taken
    /// It is before the session's start, and left out.
    case early
    /// There was no room; live, the frame counts as dropped.
    case full
  }

  /// Takes the pictures of a writer.
  public final class VideoInput: Sendable {
    private struct State {
      var source: PushSource?
      var start: Int64?
      var isTaken = false
      var last: Int64?
    }

    /// Of the pictures that are appended.
    public let format: FrameFormat
    let settings: VideoSettings
    private let state = Locked(State())

    /// Pictures of `format`; of encoded ones, as they come from many cameras, what they are decoded to
    /// (`FrameFormat.image`). Traps for encoded frames that have no picture.
    public init(_ format: FrameFormat, _ settings: VideoSettings = VideoSettings()) {
      var format = format
      if format.pixelFormat.isEncoded, let image = format.image { format.pixelFormat = image }
      if let rate = settings.expectedFrameRate { format.rate = rate }
      format.presentation.orientation = settings.transform
      (self.format, self.settings) = (format, settings)
    }

    /// Whether a picture would be taken now.
    public var isReadyForMoreMediaData: Bool { state.withLock(\.source)?.hasRoom ?? false }

    /// Appends a picture: its planes one behind the other, rows without padding. `time` is in nanoseconds,
    /// and later than the one before. Where there is no room, it waits for `limit` at most, live not at all.
    ///
    /// Throws if the writer does not write, if the bytes are not those of a picture, or if the time is not
    /// later.
    @discardableResult
    public func append(
      _ bytes: Span<UInt8>, at time: Int64, waiting limit: Duration = .seconds(10)
    ) throws(CaptureError) -> Appended {
      let expected = format.pixelFormat.byteCount(width: format.width, height: format.height)
      guard bytes.count == expected else {
        throw CaptureError(
          .settingsRefused,
          "a picture of \(format.pixelFormat.fourcc) \(format.width)x\(format.height) has \(expected) "
            + "bytes, not \(bytes.count); append whole pictures without padding")
      }
      guard let source = try ready(for: time) else { return .early }
      return try outcome(
        source.push(bytes, captured: time, waiting: source.isLive ? .zero : limit))
    }

    /// Appends a copy, at the time of its capture.
    @discardableResult
    public func append(
      _ frame: FrameCopy, waiting limit: Duration = .seconds(10)
    ) throws(CaptureError) -> Appended {
      try check(frame.pixels, frame.width, frame.height)
      return try append(frame.bytes.span, at: frame.record.captured.nanoseconds, waiting: limit)
    }

    /// Appends the picture of a frame that is lent, at the time of its capture: one copy.
    @discardableResult
    public func append(
      _ frame: borrowing FrameView, waiting limit: Duration = .seconds(10)
    ) throws(CaptureError) -> Appended {
      try check(frame.image.format, frame.format.width, frame.format.height)
      let time = frame.record.captured.nanoseconds
      guard let source = try ready(for: time) else { return .early }
      let pushed = source.push(captured: time, waiting: source.isLive ? .zero : limit) { room in
        var room = room
        var place = 0
        for plane in 0..<frame.image.format.planeCount {
          for y in 0..<frame.image[plane: plane].rows {
            let row = frame.image[plane: plane][row: y]
            for x in row.indices { room[place + x] = row[x] }
            place += row.count
          }
        }
      }
      return try outcome(pushed)
    }

    /// No more pictures come.
    public func markAsFinished() { state.withLock(\.source)?.finish() }

    // MARK: The writer's side

    func claim() -> Bool {
      state.withLock { state in
        defer { state.isTaken = true }
        return !state.isTaken
      }
    }

    func makeSource(isLive: Bool) -> PushSource {
      let source = PushSource("writer", format: format, isLive: isLive)
      state.withLock { $0.source = source }
      return source
    }

    func begin(at time: Int64) { state.withLock { $0.start = time } }

    /// `nil` for what is before the session's start.
    private func ready(for time: Int64) throws(CaptureError) -> PushSource? {
      try state.withLock { (state) throws(CaptureError) in
        guard let source = state.source, let start = state.start else { throw notWriting }
        guard time >= start else { return nil }
        if let last = state.last, time <= last {
          throw CaptureError(
            .settingsRefused,
            "a picture at \(time) ns does not come after the one at \(last) ns; append them in order"
          )
        }
        state.last = time
        return source
      }
    }

    private func check(_ pixels: PixelFormat, _ width: Int, _ height: Int) throws(CaptureError) {
      guard pixels == format.pixelFormat, width == format.width, height == format.height else {
        throw CaptureError(
          .settingsRefused,
          "the input takes \(format.pixelFormat.fourcc) \(format.width)x\(format.height), not "
            + "\(pixels.fourcc) \(width)x\(height); make it for that format")
      }
    }
  }

  /// Takes the sound of a track of a writer.
  public final class AudioInput: Sendable {
    private struct State {
      var source: PushAudioSource?
      var start: Int64?
      var isTaken = false
    }

    public let format: AudioFormat
    let settings: AudioSettings
    private let state = Locked(State())

    public init(_ format: AudioFormat, _ settings: AudioSettings = AudioSettings()) {
      (self.format, self.settings) = (format, settings)
    }

    /// Whether a tenth of a second of sound would be taken now.
    public var isReadyForMoreMediaData: Bool { state.withLock(\.source)?.hasRoom ?? false }

    /// Appends samples: interleaved, a second at most. `time` is when the first was heard, nanoseconds; by
    /// default behind the samples before. Where there is no room, it waits for `limit` at most, live not at
    /// all. Throws if the writer does not write, or if the bytes are not whole samples.
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
      let (source, start) = state.withLock { ($0.source, $0.start) }
      guard let source, let start else { throw notWriting }
      let patience = source.isLive ? .zero : limit
      guard let time else { return try outcome(source.push(samples, waiting: patience)) }
      // What lies before the start is cut off.
      let early = start > time ? start.clampedSum(-time) : 0
      let cut = Int((Double(early) * Double(format.rate) / 1e9).rounded(.up))
      guard cut < samples.count / size else { return .early }
      let heard = time.clampedSum(format.nanoseconds(cut))
      return try outcome(
        source.push(
          samples.extracting(droppingFirst: cut * size), heard: heard,
          waiting: patience))
    }

    /// No more sound comes.
    public func markAsFinished() { state.withLock(\.source)?.finish() }

    func claim() -> Bool {
      state.withLock { state in
        defer { state.isTaken = true }
        return !state.isTaken
      }
    }

    func makeSource(isLive: Bool, clock: Timestamp.Clock) -> PushAudioSource {
      let source = PushAudioSource("writer", format: format, isLive: isLive, clock: clock)
      state.withLock { $0.source = source }
      return source
    }

    func begin(at time: Int64) { state.withLock { $0.start = time } }
  }
}

private var notWriting: CaptureError {
  CaptureError(
    .notRunning,
    "the input takes nothing yet; call startWriting and startSession of its writer first")
}

private func outcome(_ pushed: PushSource.Pushed) throws(CaptureError) -> AssetWriter.Appended {
  switch pushed {
  case .taken: return .taken
  case .full: return .full
  case .over:
    throw CaptureError(
      .failed,
      "the writer takes no more: it has finished, was cancelled, or failed; finishWriting says why")
  }
}
