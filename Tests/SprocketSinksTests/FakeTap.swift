import SprocketCore
import TestSupport

@testable import SprocketSinks

/// A tap on a simulated sound card: blocks with numbered samples, times that jitter, gaps, and a ring
/// that may be lapped.
final class FakeTap: AudioTap {
  var description: AudioDescription
  var card: SoundCard
  /// What the card hears as its sample of that number, in `channels` numbers of `f32` or `s32` bits.
  let signal: (UInt64, Int) -> UInt32
  /// The device loses `count` samples when it comes to `at`; the count that it tells is off by `error`.
  var gaps: [(at: UInt64, count: Int)] = []
  /// Most blocks in the ring.
  var ringBlocks = Int.max
  var hasEnded = false

  private(set) var counts = FateCounts()
  private(set) var clock: AudioClock
  /// Samples that were made, missing ones counted.
  private(set) var produced: UInt64 = 0
  private(set) var lapped = 0
  private var blocks: [(record: AudioRecord, bytes: [UInt8])] = []
  private var head = 0
  private var lines: [UInt32: AudioLine] = [:]
  private var missing: UInt64 = 0
  private var number: UInt64 = 0

  init(_ format: AudioFormat, _ card: SoundCard, signal: @escaping (UInt64, Int) -> UInt32) {
    description = AudioDescription(
      name: "card", format: format, isLive: true, clock: .monotonic, blockSamples: 4 * card.period)
    (self.card, self.signal) = (card, signal)
    self.card.rate = format.rate
    clock = AudioClock(format)
  }

  /// The card goes on until that time.
  func run(until time: Int64) {
    while card.time(of: card.made + UInt64(card.period)) <= time {
      if let gap = gaps.first, card.made >= gap.at {
        gaps.removeFirst()
        clock.settle()
        lines[clock.line.segment] = clock.line
        card.lose(gap.count)
        missing += UInt64(gap.count)
        clock.begin(segment: clock.line.segment + 1, first: card.made)
      } else {
        makeBlock()
      }
    }
  }

  private func makeBlock() {
    let status = card.next()
    clock.observe(
      .status(ahead: status.count, time: status.time), first: status.first, count: status.count,
      read: status.time)
    lines[clock.line.segment] = clock.line
    var record = AudioRecord(line: clock.line)
    (record.block, record.first, record.count) = (number, status.first, status.count)
    (record.missing, record.read) = (missing, status.time)
    number += 1
    produced = record.end
    blocks.append((record, bytes(status.first, status.count)))
    if blocks.count - head > ringBlocks {
      head += 1
      lapped += 1
    }
    if head > 1000 {
      blocks.removeFirst(head)
      head = 0
    }
  }

  private func bytes(_ first: UInt64, _ count: Int) -> [UInt8] {
    let format = description.format
    var bytes = [UInt8](repeating: 0, count: count * format.sampleBytes)
    var place = 0
    for sample in first..<first + UInt64(count) {
      for channel in 0..<format.channels {
        let bits = signal(sample, channel)
        for byte in 0..<format.number.bytes {
          bytes[place] = UInt8(truncatingIfNeeded: bits >> UInt32(8 * byte))
          place += 1
        }
      }
    }
    return bytes
  }

  /// The device is gone.
  func end() {
    clock.settle()
    lines[clock.line.segment] = clock.line
    hasEnded = true
  }

  func next(timeout: Int64) -> AudioStep {
    if head < blocks.count { return .block }
    return hasEnded ? .end : .nothing
  }

  func withBlock<Result>(_ body: (AudioRecord, Span<UInt8>) -> Result) -> Result {
    let (record, bytes) = blocks[head]
    return body(record, bytes.span)
  }

  func line(ofSegment segment: UInt32) -> AudioLine? { lines[segment] }
  func release() { head += 1 }
  func count(_ samples: UInt64, as fate: Fate) { counts[fate] += samples }
  func recount(_ samples: UInt64, _ old: Fate, as new: Fate) {
    counts[old] -= samples
    counts[new] += samples
  }
  func note(_ file: AudioFileAccount) { files.append(file) }
  private(set) var files: [AudioFileAccount] = []
  func close() {}
}

/// What a file was given.
final class TrackFile {
  let track: AudioTrack
  let start: Int64
  private(set) var end: Int64?
  private(set) var bytes: [UInt8] = []

  init(_ reader: AudioReader, start: Int64, _ settings: RecordedSound = RecordedSound())
    throws
  {
    self.start = start
    track = try AudioTrack(reader, settings, start: start)
  }

  func take(upTo time: Int64) throws {
    try track.take(upTo: time, deadline: 0) { add($0) }
    check()
  }

  func finish(at time: Int64) throws {
    try track.finish(at: time, deadline: 0) { add($0) }
    track.settle(as: .delivered)
    end = time
    check()
  }

  private func add(_ sound: Span<UInt8>) {
    for index in 0..<sound.count { bytes.append(sound[index]) }
  }

  private func check() {
    precondition(Int(track.counts.samples) * track.format.sampleBytes == bytes.count)
  }

  /// Numbers of four bytes, samples' channels one after the other.
  var numbers: [UInt32] {
    (0..<bytes.count / 4).map { index in
      (0..<4).reduce(0) { $0 | UInt32(bytes[4 * index + $1]) << UInt32(8 * $1) }
    }
  }
}
