public import SprocketCore
internal import SprocketEngine

/// Sound that comes from the program itself: synthesized, decoded, received.
///
///     let source = PushAudioSource(format: AudioFormat(number: .s16, rate: 48_000, channels: 2))
///     let sound = try AudioEngine(source)
///     let movie = MovieSink(path: "drawn.mov", sound: [try sound.makeTap(for: "movie")])
///     let engine = try Engine(source: pictures, sinks: [movie], audio: [sound])
///     try engine.start()
///     while let samples = synthesize(), source.push(samples.span) == .taken {}
///     source.finish()
///
/// Its pictures are those of a ``PushSource`` with the same `isLive` and clock. A movie waits for the sound
/// of a picture's time, so push both in turn, or from two threads. All functions may be called from any
/// thread.
public final class PushAudioSource: AudioSource, Sendable {
  private struct Piece {
    /// Samples that wait.
    var count: Int
    /// When the first of them was heard.
    var heard: Int64
    var missing: UInt64 = 0
    var isRestarted = false
  }

  private struct State {
    /// A ring of samples.
    var bytes: [UInt8]
    var start = 0
    var count = 0
    /// The oldest first.
    var pieces: [Piece] = []
    /// Time behind the last sample that was pushed, and how many samples found no room behind it.
    var end: Int64?
    var refused: UInt64 = 0
    var isFinished = false
    var isClosed = false
  }

  private let name: String
  private let format: AudioFormat
  package let isLive: Bool
  private let clock: Timestamp.Clock
  private let state: Locked<State>
  private let changes = FutexWord()

  /// Most of a second that a block has. Larger: fewer blocks; sound comes later.
  private static let blocksPerSecond = 10
  /// A piece that begins within this time (nanoseconds) of the end of the one before continues it: programs
  /// round times to milliseconds, and samples are 21 us at 48 kHz. Larger: smaller gaps are not seen.
  private static let tolerance: UInt64 = 5_000_000
  /// Longest gap (nanoseconds) of which samples are missing; after a longer one a new segment begins.
  private static let longestGap: Int64 = 3_600_000_000_000

  /// Makes a source of sound that the program pushes.
  ///
  /// - Parameters:
  ///   - name: what the summary calls it.
  ///   - format: that of the samples.
  ///   - isLive: sound does not wait for the run: samples that find no room are `missing`. Else `push` waits,
  ///     and none is lost.
  ///   - clock: of the times; as the pictures' one. By default the monotonic one where it is live, else that
  ///     of a recording.
  ///   - room: how much sound may wait for the run, 100 ms or more.
  public init(
    _ name: String = "program", format: AudioFormat, isLive: Bool = false,
    clock: Timestamp.Clock? = nil, room: Duration = .seconds(2)
  ) {
    contract(
      room >= .milliseconds(100) && room <= .seconds(3600),
      "has room for \(room.settingText) of pushed sound; give 100ms to 1h")
    (self.name, self.format, self.isLive) = (name, format, isLive)
    self.clock = clock ?? (isLive ? .monotonic : .media)
    let samples = Int(Double(room.nanosecondCount) / 1e9 * Double(format.rate))
    state = Locked(State(bytes: [UInt8](repeating: 0, count: samples * format.sampleBytes)))
  }

  /// Hands over samples: interleaved, as `format` has them.
  ///
  /// - Parameters:
  ///   - samples: whole samples of all channels, at most as many as there is room for.
  ///   - heard: when the first of them was heard, nanoseconds on the source's clock; by default behind the
  ///     samples before, at first 0, or now where the clock is the monotonic one. Where it is more than 5 ms
  ///     later than that, the samples between are missing; where it is earlier, or more than an hour later, a
  ///     new segment begins.
  ///   - limit: how long to wait for room. By default not at all where the source is live, else until there
  ///     is room or the run is over.
  public func push(
    _ samples: Span<UInt8>, heard: Int64? = nil, waiting limit: Duration? = nil
  ) -> PushSource.Pushed {
    let size = format.sampleBytes
    let room = state.withLock(\.bytes.count)
    contract(
      samples.count % size == 0 && samples.count <= room,
      "pushes \(samples.count) bytes of sound; push whole samples of \(size) bytes, \(room) bytes at most"
    )
    let end = limit.map { deadline(in: $0.nanosecondCount) } ?? (isLive ? 0 : .max)
    while true {
      let seen = changes.value
      if let pushed = tryToPush(samples, heard: heard, isLast: monotonicNow() >= end) {
        return pushed
      }
      _ = changes.wait(while: seen, until: end)
    }
  }

  /// `nil` where there may be room later.
  private func tryToPush(
    _ samples: Span<UInt8>, heard: Int64?, isLast: Bool
  ) -> PushSource.Pushed? {
    let count = samples.count / format.sampleBytes
    let pushed: PushSource.Pushed? = state.withLock { state in
      if state.isClosed || state.isFinished { return .over }
      guard state.count + samples.count <= state.bytes.count else {
        guard isLast else { return nil }
        if isLive { state.refused += UInt64(count) }
        return .full
      }
      guard count > 0 else { return .taken }
      append(samples, to: &state)
      add(count, heard: heard, to: &state)
      return .taken
    }
    if pushed == .taken { changes.advance() }
    return pushed
  }

  private func add(_ count: Int, heard: Int64?, to state: inout State) {
    let refused = format.nanoseconds(Int(clamping: state.refused))
    let usual =
      state.end.map { $0.clampedSum(refused) } ?? (clock == .monotonic ? monotonicNow() : 0)
    var piece = Piece(count: count, heard: usual, missing: state.end == nil ? 0 : state.refused)
    state.refused = 0
    if let heard,
      state.end == nil || heard.clampedSum(-max(usual, -.max)).magnitude > Self.tolerance
    {
      piece.heard = heard
      if let end = state.end {
        let gap = heard.clampedSum(-max(end, -.max))
        piece.isRestarted = gap <= 0 || gap > Self.longestGap
        piece.missing =
          piece.isRestarted ? 0 : UInt64((Double(gap) * Double(format.rate) / 1e9).rounded())
      }
    }
    state.end = piece.heard.clampedSum(format.nanoseconds(count))
    if piece.missing == 0, !piece.isRestarted, let last = state.pieces.indices.last {
      state.pieces[last].count += count
    } else {
      state.pieces.append(piece)
    }
  }

  private func append(_ samples: Span<UInt8>, to state: inout State) {
    var place = (state.start + state.count) % state.bytes.count
    for index in samples.indices {
      state.bytes[place] = samples[index]
      place = place + 1 == state.bytes.count ? 0 : place + 1
    }
    state.count += samples.count
  }

  /// Whether a tenth of a second of sound would be taken now.
  public var hasRoom: Bool {
    state.withLock { state in
      state.count + format.rate / Self.blocksPerSecond * format.sampleBytes <= state.bytes.count
        && !state.isClosed && !state.isFinished
    }
  }

  /// The sound ends when the run has taken what was pushed.
  public func finish() {
    state.withLock { $0.isFinished = true }
    changes.advance()
  }

  // MARK: The run's side

  public func open() throws(RunError) -> AudioDescription {
    AudioDescription(
      name: name, format: format, isLive: isLive, clock: clock,
      blockSamples: format.rate / Self.blocksPerSecond)
  }

  public func read(
    into bytes: inout MutableSpan<UInt8>, timeout: Int64
  ) throws(RunError) -> AudioArrival {
    let end = deadline(in: timeout)
    while true {
      let seen = changes.value
      if let arrival = take(into: &bytes) {
        if case .block = arrival { changes.advance() }
        return arrival
      }
      guard changes.wait(while: seen, until: end) else { return .nothing }
    }
  }

  /// `nil` while nothing waits.
  private func take(into bytes: inout MutableSpan<UInt8>) -> AudioArrival? {
    state.withLock { state in
      if state.isClosed { return .end }
      guard let first = state.pieces.first else { return state.isFinished ? .end : nil }
      let count = min(first.count, format.rate / Self.blocksPerSecond)
      let length = count * format.sampleBytes
      for index in 0..<length {
        bytes[index] = state.bytes[state.start]
        state.start = state.start + 1 == state.bytes.count ? 0 : state.start + 1
      }
      state.count -= length
      var sound = ArrivedSound(count: count, missing: first.missing, timing: .exact(first.heard))
      sound.isRestarted = first.isRestarted
      if count == first.count {
        state.pieces.removeFirst()
      } else {
        state.pieces[0] = Piece(
          count: first.count - count, heard: first.heard.clampedSum(format.nanoseconds(count)))
      }
      return .block(sound)
    }
  }

  public func interrupt() { close() }

  public func close() {
    state.withLock { $0.isClosed = true }
    changes.advance()
  }

  public var notes: [String] {
    let left = state.withLock(\.count) / format.sampleBytes
    return left == 0
      ? [] : ["\(left) samples of sound were pushed and not taken before the run was stopped"]
  }
}
