public import Sprocket

extension AssetWriter {
  /// Whether an input took what was appended.
  public enum Appended: Sendable, Hashable {
    case taken
    /// It is before the session's start, and left out.
    case early
    /// It is at the end of pictures and sound or later, and left out; the ``AssetWriter/Asset`` counts it.
    case late
    /// There was no room. Live, the frame counts as dropped; else it may be appended again.
    case full
  }

  /// Takes the pictures of a writer.
  public final class VideoInput: Sendable {
    private struct State {
      var source: PushSource?
      var timeline: WriterTimeline?
      var isTaken = false
      var isFinished = false
      /// Times of the last two pictures that were taken.
      var last: Int64?
      var previous: Int64?
      /// The one before these.
      var earlier: Int64?
      var first: Int64?
    }

    /// The format of the pictures that are appended.
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
    public var isReadyForMoreMediaData: Bool {
      state.withLock { $0.isFinished ? nil : $0.source }?.hasRoom ?? false
    }

    /// Appends a picture: its planes one behind the other, rows without padding. `time` is in nanoseconds,
    /// and later than the one before. Where there is no room, it waits for `limit` at most, live not at all.
    ///
    /// Throws if the writer does not write, if this input has finished, if the bytes are not those of a
    /// picture, or if the time is not later.
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
      return try push(at: time, waiting: limit) { room in
        var room = room
        for index in bytes.indices { room[index] = bytes[index] }
      }
    }

    /// Has `fill` write a picture where the encoder takes it from, without a copy: what a pool of pixel
    /// buffers is for. `fill` gets memory of a whole picture, with other pixels in it, and is called once if
    /// the picture is taken. Else as `append(_:at:waiting:)`.
    @discardableResult
    public func append(
      at time: Int64, waiting limit: Duration = .seconds(10),
      filling fill: (consuming MutableSpan<UInt8>) -> Void
    ) throws(CaptureError) -> Appended {
      try push(at: time, waiting: limit, fill)
    }

    /// Appends a copy, at another time than that of its capture if one is given.
    @discardableResult
    public func append(
      _ frame: FrameCopy, at time: Int64? = nil, waiting limit: Duration = .seconds(10)
    ) throws(CaptureError) -> Appended {
      try check(frame.pixels, frame.width, frame.height)
      return try append(
        frame.bytes.span, at: time ?? frame.record.captured.nanoseconds, waiting: limit)
    }

    /// Appends the picture of a frame that is lent, at another time than that of its capture if one is
    /// given: one copy.
    @discardableResult
    public func append(
      _ frame: borrowing FrameView, at time: Int64? = nil, waiting limit: Duration = .seconds(10)
    ) throws(CaptureError) -> Appended {
      try check(frame.image.format, frame.format.width, frame.format.height)
      return try push(at: time ?? frame.record.captured.nanoseconds, waiting: limit) { room in
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
    }

    /// No more pictures come: `append` throws from now on. Sound may still be appended; it ends with the last
    /// picture, or where `endSession` says. Does nothing before `startWriting`.
    public func markAsFinished() {
      let (timeline, end) = state.withLock { state -> (WriterTimeline?, Int64?) in
        guard state.source != nil, !state.isFinished else { return (nil, nil) }
        state.isFinished = true
        return (state.timeline, state.last?.clampedSum(length(behind: state.previous, state.last)))
      }
      timeline?.finishPictures(at: end)
    }

    /// When the first and the last picture are shown.
    var shown: (first: Int64, last: Int64)? {
      state.withLock { state in
        guard let first = state.first, let last = state.last else { return nil }
        return (first, last)
      }
    }

    /// How long the last picture lasts: without a rate as long as the one before it, a second at most.
    private func length(behind previous: Int64?, _ last: Int64?) -> Int64 {
      let rate = format.rate.framesPerSecond
      if rate > 0 { return Int64((1e9 / rate).rounded(.up)) }
      guard let previous, let last else { return 0 }
      return min(last.clampedSum(-max(previous, -.max)), 1_000_000_000)
    }

    // MARK: The writer's side

    func claim() -> Bool {
      state.withLock { state in
        defer { state.isTaken = true }
        return !state.isTaken
      }
    }

    func makeSource(isLive: Bool, _ timeline: WriterTimeline) -> PushSource {
      let source = PushSource("writer", format: format, isLive: isLive)
      // A start that failed may have left something.
      state.withLock { $0 = State(source: source, timeline: timeline, isTaken: true) }
      return source
    }

    private func push(
      at time: Int64, waiting limit: Duration, _ fill: (consuming MutableSpan<UInt8>) -> Void
    ) throws(CaptureError) -> Appended {
      let (source, leftOut) = try ready(for: time)
      if let leftOut { return leftOut }
      let pushed = source.push(
        captured: time, waiting: source.isLive ? .zero : limit, filling: fill)
      if pushed != .taken {
        // It may be appended again.
        state.withLock { state in
          if state.last == time {
            (state.last, state.previous, state.earlier) = (state.previous, state.earlier, nil)
          }
        }
      }
      return try outcome(pushed)
    }

    /// Where a picture goes, or why it is left out. Notes its time.
    private func ready(for time: Int64) throws(CaptureError) -> (PushSource, Appended?) {
      try state.withLock { (state) throws(CaptureError) in
        guard let source = state.source, let timeline = state.timeline, let start = timeline.start
        else { throw notWriting }
        guard !state.isFinished else { throw hasFinished("pictures") }
        guard time >= start else { return (source, .early) }
        if let end = timeline.end, time >= end {
          timeline.countLatePicture()
          return (source, .late)
        }
        if let last = state.last, time <= last {
          throw CaptureError(
            .settingsRefused,
            "a picture at \(time) ns does not come after the one at \(last) ns; append them in order"
          )
        }
        (state.earlier, state.previous, state.last) = (state.previous, state.last, time)
        state.first = state.first ?? time
        return (source, nil)
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
}

var notWriting: CaptureError {
  CaptureError(
    .notRunning,
    "the input takes nothing yet; call startWriting and startSession of its writer first")
}

/// What is thrown where an input has finished that takes `things`.
func hasFinished(_ things: String) -> CaptureError {
  CaptureError(
    .settingsRefused,
    "the input was marked as finished and takes no more \(things); append them before, or make another writer"
  )
}

func outcome(_ pushed: PushSource.Pushed) throws(CaptureError) -> AssetWriter.Appended {
  switch pushed {
  case .taken: return .taken
  case .full: return .full
  case .over:
    throw CaptureError(
      .failed,
      "the writer takes no more: it has finished, was cancelled, or failed; finishWriting says why")
  }
}
