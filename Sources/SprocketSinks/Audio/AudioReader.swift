internal import SprocketCore

/// The sound that a tap gave and no file has taken yet. The files of one microphone share a reader: where one
/// ends in the middle of a block the next begins, and nothing is lost or there twice.
///
/// Blocks are copied into a window of memory and given back at once, so that the tap is not lapped while
/// a segment of the clock is not placed. The samples that were consumed last stay in the window as long
/// as there is room: a resampler begins with them.
///
/// Each sample is accounted for when it is consumed, and what is missing when the block behind it is taken.
/// Cost: a copy; nothing is allocated after `init`.
final class AudioReader {
  let tap: any AudioTap
  let format: AudioFormat
  let isLive: Bool
  /// There will be no more than what is in the window.
  private(set) var hasEnded = false
  /// When the last file ended; `nil` if samples were consumed since.
  var fileEnd: Int64?
  /// By how much that file's sound was corrected at its end; `nil` if it was not.
  var fileCorrection: Double?
  /// When the last block came, or this was made, on the monotonic clock.
  private var lastCame = monotonicNow()

  /// The first `runCount` say what lies in the window and is not consumed, in order. Runs begin where samples
  /// are missing, and where the clock's line changes: some in a second.
  private(set) var runs: [AudioRun]
  private(set) var runCount = 0
  private var bytes: [UInt8]
  /// In samples, of `bytes`: the first that is not consumed, and behind the last.
  private var (start, end) = (0, 0)
  /// Samples before `start` that were heard just before it.
  private var consumed = 0
  /// The number behind the last sample that was taken, and how many are missing before it.
  private var taken: UInt64 = 0
  private var missing: UInt64 = 0
  /// The newest line of a segment that is no longer in the window.
  private(set) var lastLine: AudioLine?

  /// Segment of the clock of the newest block.
  private var segment: UInt32 = 0
  /// There is no room: a segment is not placed for too long.
  private(set) var isFull = false
  private let blockSamples: Int

  init(_ tap: any AudioTap) {
    self.tap = tap
    let description = tap.description
    (taken, missing) = (tap.before.produced, tap.before.missing)
    (format, isLive) = (description.format, description.isLive)
    blockSamples = max(1, description.blockSamples)
    let held = Int(Double(format.rate) * Self.secondsToPlace)
    let room = Self.kept + Self.mostAhead + held + 2 * blockSamples
    bytes = [UInt8](repeating: 0, count: room * format.sampleBytes)
    runs = Array(
      repeating: AudioRun(line: AudioLine(rate: Double(format.rate))), count: Self.mostRuns)
  }

  enum Fetched { case block, nothing, end, full }

  /// Takes a block of the tap, or waits for it until `deadline`, nanoseconds of the monotonic clock.
  func fetch(until deadline: Int64) -> Fetched {
    if hasEnded { return .end }
    isFull = !makeRoom()
    if isFull { return .full }
    let timeout = deadline > 0 ? max(0, deadline.clampedSum(-monotonicNow())) : 0
    switch tap.next(timeout: timeout) {
    case .nothing: return .nothing
    case .end:
      hasEnded = true
      return .end
    case .block:
      lastCame = monotonicNow()
      tap.withBlock { record, sound in append(record, sound) }
      tap.release()
      return .block
    }
  }

  /// No live sound has come for so long that it is not worth waiting for.
  var isStuck: Bool { isLive && lastCame.clampedSum(Self.longestPeriod) < monotonicNow() }

  /// Longest period of a device, nanoseconds, with some slack: its blocks come once in it. Larger: each file
  /// that ends while a microphone is stuck waits longer for it once.
  private static let longestPeriod: Int64 = 1_200_000_000

  /// Whether another block has room; moves the window to the front of its memory for it.
  private func makeRoom() -> Bool {
    guard runCount < Self.mostRuns else { return false }
    let size = format.sampleBytes
    if (end + blockSamples) * size > bytes.count {
      let kept = min(consumed, Self.kept)
      move(&bytes, from: (start - kept) * size, count: (end - start + kept) * size)
      (start, end, consumed) = (kept, end - start + kept, kept)
    }
    return (end + blockSamples) * size <= bytes.count
  }

  private func append(_ record: AudioRecord, _ sound: Span<UInt8>) {
    guard record.count > 0 else { return }
    let gap = record.first >= taken ? record.first - taken : 0
    let lost = min(gap, record.missing >= missing ? record.missing - missing : 0)
    if lost > 0 { tap.count(lost, as: .missing) }
    let isBroken = gap > 0 || record.line.segment != segment
    (taken, missing, segment) = (record.end, record.missing, record.line.segment)
    copy(sound, into: &bytes, at: end * format.sampleBytes)
    end += record.count
    let isSame = !isBroken && runCount > 0 && runs[runCount - 1].line == record.line
    if !isSame {
      runs[runCount] = AudioRun(
        first: record.first, behind: gap - lost, line: record.line, isBroken: isBroken)
      runCount += 1
    }
    runs[runCount - 1].count += record.count
    runs[runCount - 1].read = record.read
  }

  /// The run in which the sample lies that is `ahead` samples behind the first one, and where in it; `nil` if
  /// it has not been fetched.
  func locate(_ ahead: Int) -> (run: Int, offset: Int)? {
    var offset = ahead
    var index = 0
    while index < runCount {
      if offset < runs[index].count { return (index, offset) }
      offset -= runs[index].count
      index += 1
    }
    return nil
  }

  /// Samples, from `ahead` on, that were fetched.
  func withSound<Result, Failure: Error>(
    _ ahead: Int, _ count: Int, _ body: (Span<UInt8>) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let size = format.sampleBytes
    let bytes = bytes
    let from = (start + ahead) * size
    return try body(bytes.span.extracting(from..<from + count * size))
  }

  /// The samples that were heard just before the first one, at most `most`.
  func withConsumed<Result, Failure: Error>(
    _ most: Int, _ body: (Span<UInt8>) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let isBroken = runCount > 0 && runs[0].isBroken
    let count = isBroken ? 0 : min(most, consumed)
    return try withSound(-count, count, body)
  }

  /// Skips the next samples. Counts them as `fate`; `nil`: the caller counts them.
  func consume(_ count: Int, as fate: Fate?) {
    if let fate, count > 0 { tap.count(UInt64(count), as: fate) }
    if count > 0 { fileEnd = nil }
    var left = count
    while left > 0, runCount > 0 {
      if runs[0].isBroken { (consumed, runs[0].isBroken) = (0, false) }
      let some = min(left, runs[0].count)
      runs[0].first += UInt64(some)
      runs[0].count -= some
      (start, consumed, left, isFull) = (start + some, consumed + some, left - some, false)
      if runs[0].count == 0 {
        if runs[0].line.isPlaced { lastLine = runs[0].line }
        runCount -= 1
        for index in 0..<runCount { runs[index] = runs[index + 1] }
      }
    }
  }

  /// Accounts for the samples that this tap lost before a run.
  func settleBehind(of run: Int, unselected: UInt64) {
    let behind = runs[run].behind
    guard behind > 0 else { return }
    let cut = min(behind, unselected)
    if cut > 0 { tap.count(cut, as: .unselected) }
    if behind > cut { tap.count(behind - cut, as: .behind) }
    runs[run].behind = 0
  }

  /// Passes over what came without waiting, while no file is open: all of it, or what was heard before
  /// `time`.
  func skip(before time: Int64? = nil) {
    repeat {
      while runCount > 0 {
        let run = runs[0]
        settleBehind(of: 0, unselected: run.behind)
        var count = run.count
        if let time {
          guard let line = line(ofRun: 0) else { break }
          let wanted = Int64(clamping: line.sample(at: time).rounded())
          count = Int(clamping: max(0, min(Int64(count), wanted - Int64(clamping: run.first))))
          if count == 0 { return }
        }
        consume(count, as: .unselected)
      }
    } while fetch(until: 0) == .block
  }

  /// Longest time until a segment is placed, with some slack. Larger: more memory.
  private static let secondsToPlace = 1.5
  /// Samples that stay in the window after they are consumed, for a resampler. Larger: more memory. From
  /// 192 to 8 kHz its filter reaches 398 samples to each side.
  private static let kept = 512
  /// Samples that a resampler may have been fed ahead of what it gave. Larger: more memory.
  private static let mostAhead = 2048
  /// Most runs in the window. Larger: more gaps in a row that can wait for their segments to be placed.
  /// More than the 398 samples that a resampler is ahead, which may all be runs of their own.
  private static let mostRuns = 512
}

/// Contiguous samples with one line of the clock.
struct AudioRun {
  /// Number of the first sample that is not consumed.
  var first: UInt64 = 0
  var count = 0
  /// Samples just before the run that this tap lost, and that are not accounted for.
  var behind: UInt64 = 0
  /// As the newest block's record has it.
  var line: AudioLine
  /// When the newest block was read.
  var read: Int64 = 0
  /// The run does not follow what was consumed before it.
  var isBroken = false
}

private func copy(_ sound: Span<UInt8>, into bytes: inout [UInt8], at offset: Int) {
  var room = bytes.mutableSpan
  for index in 0..<sound.count { room[offset + index] = sound[index] }
}

/// To the front.
private func move(_ bytes: inout [UInt8], from offset: Int, count: Int) {
  guard offset > 0 else { return }
  var room = bytes.mutableSpan
  for index in 0..<count { room[index] = room[offset + index] }
}
