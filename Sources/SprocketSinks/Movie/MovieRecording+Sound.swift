internal import SprocketCore
internal import SprocketLibAV

// Sound, and lines of frames.
extension MovieRecording {
  /// Live, while no picture comes: sound goes on, as far behind its time as the last picture was; and what
  /// was written is synced in time, if that is asked for. Else sound that came late is taken, up to the end
  /// if that is known.
  func idle(_ ending: MovieEnding) throws(RunError) {
    guard muxer != nil else { return }
    guard !hasWaitingSound else { return try takeSound(upTo: ending.time ?? lastTime, deadline: 0) }
    let wait = ending.keepsToPictures ? Self.longestPause : Self.pictureWait
    let silent = monotonicNow() - lastWritten
    if silent > Self.longestPause { try pauseEncoder() }
    if pausedAt == nil, !tracks.isEmpty, sound.isLive, silent > wait {
      let reached = min(lastTime.clampedSum(silent), ending.time ?? .max)
      try takeSound(upTo: reached, deadline: 0)
    }
    if output.isSynced || pausedAt != nil, Double(silent) > output.fragment * 1e9 {
      do throws(MuxerError) { try muxer?.flush() } catch { throw fail(error) }
    }
    try noteDurable()
  }

  /// When the last picture has lasted as long as pictures do.
  var usualEnd: Int64 { lastTime.clampedSum(nominalLength ?? nanoseconds(lastGap)) }

  /// Sound does not come by itself, so that it can be waited for.
  var hasWaitingSound: Bool { !tracks.isEmpty && !sound.isLive }

  /// Takes the sound before a picture. Waits for it once: what is late then comes with a later picture.
  func takeSound(upTo time: Int64) throws(RunError) {
    let waits = !sound.isLive && !isSoundLate
    try takeSound(upTo: time, deadline: waits ? monotonicNow() + Self.soundPatience : 0)
    isSoundLate = !tracks.allSatisfy { $0.hasReached(time) }
  }

  /// When pictures and sound end: at `next`, or when the last picture has lasted as long as pictures do, or
  /// as long as sound went on without pictures.
  func commonEnd(before next: Timestamp?) -> Int64 {
    max(next?.nanoseconds ?? usualEnd, tracks.compactMap(\.end).max() ?? .min)
  }

  /// Ends pictures and sound at the same time: at `fixed`, which leaves out what is behind it; else at the
  /// common end. In a pause they have ended. On the sink's thread, since the next file may begin with the
  /// sample behind.
  func endSound(before next: Timestamp?, at fixed: Int64? = nil) throws(RunError) {
    guard muxer != nil, pausedAt == nil, fixed != nil || !tracks.isEmpty else { return }
    let usual = usualEnd
    let heard = tracks.compactMap(\.end).max() ?? .min
    let end = fixed ?? commonEnd(before: next)
    // A tick may be rounded.
    let isUsual = end.clampedSum(-usual).magnitude <= UInt64(nanoseconds(1))
    self.end = isUsual && heard <= end || constant != nil ? nil : end
    let deadline = monotonicNow() + Self.soundPatience
    for index in tracks.indices {
      let isStuck = tracks[index].reader.isStuck
      try tracks[index].finish(
        at: end, deadline: isStuck ? 0 : deadline, hole: silentTime,
        skip: { (seconds) throws(RunError) in try skip(seconds: seconds, index) },
        emit: { (bytes) throws(RunError) in try write(sound: bytes, index) })
    }
    try noteDurable()
  }

  func takeSound(upTo time: Int64, deadline: Int64) throws(RunError) {
    for index in tracks.indices {
      try tracks[index].take(
        upTo: time, deadline: deadline, hole: silentTime,
        skip: { (seconds) throws(RunError) in try skip(seconds: seconds, index) },
        emit: { (bytes) throws(RunError) in try write(sound: bytes, index) })
    }
  }

  /// Ticks of the last picture, for a file whose blocks say it; `nil` for the usual ones.
  var lastLength: Int64? {
    guard let end, container == .mkv || container == .webm else { return nil }
    return clock.tick(of: end).map { max(1, $0 - lastTick) }
  }

  /// When silence is left out: in a hole of pictures that not all tracks have passed, and from 10 s behind
  /// the last picture on. Pictures of a constant rate have no hole.
  private var silentTime: Range<Int64>? {
    constant == nil ? hole ?? lastTime.clampedSum(Self.longestPause)..<Int64.max : nil
  }

  private func skip(seconds: Int64, _ track: Int) throws(RunError) {
    // What waits for pictures comes before.
    try drainEncoder()
    do throws(MuxerError) {
      try muxer?.skip(seconds: seconds, ofTrack: track)
    } catch {
      throw fail(error)
    }
    let format = tracks[track].format
    backlogs[track].pass(Int(seconds) * format.rate * format.sampleBytes)
  }

  private func write(sound bytes: Span<UInt8>, _ track: Int) throws(RunError) {
    guard encoder == nil else { return backlogs[track].add(bytes) }
    try add(sound: bytes, track)
    backlogs[track].pass(bytes.count)
  }

  func add(sound bytes: Span<UInt8>, _ track: Int) throws(RunError) {
    do throws(MuxerError) {
      try muxer?.write(audio: bytes, track: track)
    } catch {
      throw fail(error)
    }
    imageBytes = muxer?.byteCount ?? imageBytes
  }

  /// Pause between pictures after which silence is left out and an encoder begins anew, nanoseconds. Larger:
  /// more silence in the file; times of reordered pictures are further from those of decoding.
  static let longestPause: Int64 = 10_000_000_000
  /// Longest wait for sound at a file's end, and where pictures wait, nanoseconds. Larger: slower devices
  /// lose no sound, and a stuck one delays the file for longer.
  static let soundPatience: Int64 = 1_000_000_000
  /// Time without a picture after which sound goes on without it, nanoseconds. Larger: a fragment of a stuck
  /// camera is longer without its sound. Pictures are rarely further apart.
  private static let pictureWait: Int64 = 500_000_000

  /// Adds the lines of the frame that was written last.
  func write(lines: Span<UInt8>) throws(RunError) {
    guard hasReports, muxer != nil else { return }
    let tick = max(lastTick, nextLineTick)
    nextLineTick = tick + 1
    guard encoder != nil else { return try add(lines: lines, tick) }
    self.lines.add(lines)
    lineTicks.append((tick, lines.count))
  }

  /// Adds lines up to that tick, which waited for the encoder.
  func addLines(upTo last: Int64 = .max) throws(RunError) {
    while let (tick, count) = lineTicks.first, tick <= last {
      lineTicks.removeFirst()
      try lines.take(count) { (bytes) throws(RunError) in try add(lines: bytes, tick) }
    }
  }

  private func add(lines: Span<UInt8>, _ tick: Int64) throws(RunError) {
    do throws(MuxerError) {
      try muxer?.write(text: lines, tick: tick, gap: nominalTicks ?? lastGap)
    } catch {
      throw fail(error)
    }
  }
}
