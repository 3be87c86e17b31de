internal import Glibc
public import SprocketCore
internal import SprocketEngine

/// A source whose frames come from the program itself: drawn, computed, received.
///
///     let source = PushSource(format: format)
///     let engine = try Engine(source: source, sinks: [MovieSink(path: "drawn.mov")])
///     try engine.start()
///     while let frame = draw(), source.push(frame.span) == .taken {}
///     source.finish()
///
/// Frames are raw pixels (`FrameFormat.pixelFormat` other than MJPEG). Each is copied twice: here, and
/// into the run. All functions may be called from any thread.
public final class PushSource: Source, Sendable {
  /// What became of a frame that was pushed.
  public enum Pushed: Sendable, Hashable {
    /// The frame will be in the run, unless that is stopped before; the summary's notes say how many
    /// were not.
    case taken
    /// There was no room within the time allowed. Where the source is live the frame counts as missing once
    /// another one is taken; else push it again.
    case full
    /// The run is over.
    case over
  }

  private struct State {
    /// Frames that wait, the oldest first: place in memory, number, time.
    var waiting: [(place: Int, sequence: UInt64, captured: Int64)] = []
    var free: [Int]
    /// The bytes of each place.
    var bytes: [[UInt8]]
    var sequence: UInt64 = 0
    /// A place is being filled: other frames wait for it, and the run's end, too.
    var isFilling = false
    /// Nothing is pushed any more.
    var isFinished = false
    /// The run takes nothing any more.
    var isClosed = false
  }

  private let name: String
  private let format: FrameFormat
  package let isLive: Bool
  private let frameBytes: Int
  private let state: Locked<State>
  /// Counts what happened, so that each side can wait for the other.
  private let changes = FutexWord()

  /// Makes a source of frames that the program pushes.
  ///
  /// - Parameters:
  ///   - name: what the summary calls it.
  ///   - format: that of each frame. Where the source is not live, frames are as far apart as `format.rate`
  ///     says, if that is known.
  ///   - isLive: frames do not wait for the run: one that finds no room is `missing`, and sinks may fall
  ///     behind. Else `push` waits, and no frame is lost.
  ///   - room: frames that may wait for the run, 1 or more; each takes its bytes of memory.
  public init(_ name: String = "program", format: FrameFormat, isLive: Bool = false, room: Int = 4)
  {
    contract(
      !format.pixelFormat.isEncoded,
      "pushes \(format.pixelFormat.fourcc) frames; push pixels in another format, such as .i420 or .rgb24"
    )
    contract(room > 0, "has room for \(room) frames; give 1 or more")
    self.name = name
    self.format = format
    self.isLive = isLive
    frameBytes = format.pixelFormat.byteCount(width: format.width, height: format.height)
    let bytes = [UInt8](repeating: 0, count: frameBytes)
    state = Locked(State(free: Array(0..<room), bytes: Array(repeating: bytes, count: room)))
  }

  /// Hands over a frame: its planes one behind the other, rows without padding.
  ///
  /// - Parameters:
  ///   - bytes: all of a frame; another number of bytes stops the program.
  ///   - captured: nanoseconds on the source's clock: the monotonic one where it is live or the rate is not
  ///     known, and by default now; else the time of a recording, and by default a frame's time after the
  ///     frame before. Times rise from frame to frame.
  ///   - limit: how long to wait for room. By default not at all where the source is live, else until there
  ///     is room or the run is over.
  public func push(
    _ bytes: Span<UInt8>, captured: Int64? = nil, waiting limit: Duration? = nil
  ) -> Pushed {
    contract(
      bytes.count == frameBytes,
      "pushes \(bytes.count) bytes as a frame of \(frameBytes); push whole frames without padding")
    return push(captured: captured, waiting: limit) { copy(bytes, into: $0) }
  }

  /// Hands over a copy, at the time of its capture, or at `captured`. `FrameCopy.pictureFormat` is the
  /// format of a source for copies like it. Throws where the copy has other pixels, or another size,
  /// than the source.
  public func push(
    _ frame: FrameCopy, captured: Int64? = nil, waiting limit: Duration? = nil
  ) throws(RunError) -> Pushed {
    guard frame.pixels == format.pixelFormat, frame.width == format.width,
      frame.height == format.height
    else {
      throw RunError(
        .usage,
        "the source takes \(format.pixelFormat.fourcc) \(format.width)x\(format.height), not "
          + "\(frame.pixels.fourcc) \(frame.width)x\(frame.height); make it for that format, or convert "
          + "the copy")
    }
    return push(
      frame.bytes.span, captured: captured ?? frame.record.captured.nanoseconds, waiting: limit)
  }

  /// Has `fill` write a frame where it will be taken from: one copy less. `fill` is called once, if there is
  /// room. Meanwhile the run goes on, and other frames wait for this one: what `fill` itself pushes to this
  /// source is `full`. Parameters are those of `push(_:)`.
  public func push(
    captured: Int64? = nil, waiting limit: Duration? = nil,
    filling fill: (consuming MutableSpan<UInt8>) -> Void
  ) -> Pushed {
    let end = limit.map { deadline(in: $0.nanosecondCount) } ?? (isLive ? 0 : .max)
    while true {
      let seen = changes.value
      let pushed = tryToPush(fill, captured: captured, isLast: monotonicNow() >= end)
      if let pushed { return pushed }
      _ = changes.wait(while: seen, until: end)
    }
  }

  /// Whether a frame would be taken now.
  public var hasRoom: Bool {
    state.withLock { !$0.free.isEmpty && !$0.isFilling && !$0.isClosed && !$0.isFinished }
  }

  /// `nil` where there may be room later.
  private func tryToPush(
    _ fill: (consuming MutableSpan<UInt8>) -> Void, captured: Int64?, isLast: Bool
  ) -> Pushed? {
    // Taken out of the state, so that nobody waits for `fill`, which is the program's.
    let (pushed, room) = state.withLock { state -> (Pushed?, (place: Int, bytes: [UInt8])?) in
      if state.isClosed || state.isFinished { return (.over, nil) }
      guard !state.isFilling, let place = state.free.popLast() else {
        guard isLast else { return (nil, nil) }
        if isLive { state.sequence += 1 }
        return (.full, nil)
      }
      state.isFilling = true
      return (.taken, (place, exchange(&state.bytes[place], with: [])))
    }
    guard let room else { return pushed }
    let place = room.place
    var bytes = room.bytes
    fill(bytes.mutableSpan)
    let isOver = state.withLock { state in
      state.bytes[place] = bytes
      state.isFilling = false
      guard !state.isClosed else {
        state.free.append(place)
        return true
      }
      let time = captured ?? usualTime(of: state.sequence)
      state.waiting.append((place, state.sequence, time))
      state.sequence += 1
      return false
    }
    signal()
    return isOver ? .over : .taken
  }

  /// The run ends when it has taken what was pushed.
  public func finish() {
    state.withLock { $0.isFinished = true }
    signal()
  }

  private func signal() { changes.advance() }

  package var clock: Timestamp.Clock { isLive || format.rate.frames <= 0 ? .monotonic : .media }

  private func usualTime(of sequence: UInt64) -> Int64 {
    guard clock == .media else { return monotonicNow() }
    let (frames, seconds) = (UInt64(format.rate.frames), UInt64(max(format.rate.seconds, 1)))
    // In two parts: nanoseconds times frames leave 64 bits after some hours.
    let whole = sequence / frames * seconds * 1_000_000_000
    return Int64(whole + sequence % frames * seconds * 1_000_000_000 / frames)
  }

  // MARK: The run's side

  public func open() throws(RunError) -> SourceDescription {
    SourceDescription(
      name: name, format: format, isLive: isLive, clock: clock, capacity: frameBytes)
  }

  public func next(timeout: Int64) throws(RunError) -> Arrival {
    let end = deadline(in: timeout)
    while true {
      let seen = changes.value
      let arrival: Arrival? = state.withLock { state in
        if state.isClosed { return .end }
        guard let first = state.waiting.first else {
          return state.isFinished && !state.isFilling ? .end : nil
        }
        let captured = Timestamp(nanoseconds: first.captured, clock: clock)
        return .frame(ArrivedFrame(sequence: first.sequence, captured: captured))
      }
      if let arrival { return arrival }
      guard changes.wait(while: seen, until: end) else { return .nothing }
    }
  }

  public func take(into slot: inout CaptureSlot) {
    // Taken out of the state, so that nobody waits for the copy.
    let taken = state.withLock { state in
      state.waiting.first.map {
        (place: $0.place, bytes: exchange(&state.bytes[$0.place], with: []))
      }
    }
    guard let taken else { return }
    copy(taken.bytes.span, into: slot.bytes)
    slot.filled(frameBytes)
    state.withLock { $0.bytes[taken.place] = taken.bytes }
    discard()
  }

  public func discard() {
    state.withLock { state in
      guard !state.waiting.isEmpty else { return }
      state.free.append(state.waiting.removeFirst().place)
    }
    signal()
  }

  public func reclaim(_ lent: UnsafeMutableRawPointer) {}

  public func interrupt() { close() }

  public func close() {
    state.withLock { $0.isClosed = true }
    signal()
  }

  public var notes: [String] {
    let left = state.withLock { $0.waiting.count }
    return left == 0 ? [] : ["\(left) frames were pushed and not taken before the run was stopped"]
  }
}

private func copy(_ bytes: Span<UInt8>, into room: consuming MutableSpan<UInt8>) {
  for index in bytes.indices { room[index] = bytes[index] }
}
