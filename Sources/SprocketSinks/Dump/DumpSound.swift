internal import SprocketCore
internal import SprocketRecords

/// What a dump takes of the run's sound: every block up to the pictures' time, as it came.
///
/// The sink of the frames calls it, on its thread. Live, all that came is taken. Otherwise sound keeps in
/// step with the pictures: a block that begins behind the newest picture is left in the tap, which holds the
/// source of sound up, and never the pictures.
final class DumpSound {
  private var microphones: [Microphone]
  private let file: DumpFile
  private var isClosed = false
  /// When the last picture was captured; `nil` before the first.
  private var lastTime: Int64?
  /// How long a picture lasts, nanoseconds; 0 where that is unknown.
  var pictureLength: Int64 = 0

  private struct Microphone {
    let tap: any AudioTap
    /// The tap has given a block that is not in the file.
    var hasBlock = false
    /// Number behind the newest block, and how many samples are missing before that.
    var end: UInt64 = 0
    var missing: UInt64 = 0
    /// When the newest block ended; `nil` while that is not known.
    var endTime: Int64? = .min
    /// Samples that were given to the file, and those that are accounted for.
    var written: UInt64 = 0
    var settled: UInt64 = 0
  }

  init(_ taps: [any AudioTap], _ file: DumpFile) {
    microphones = taps.map {
      Microphone(tap: $0, end: $0.before.produced, missing: $0.before.missing)
    }
    self.file = file
    if !taps.isEmpty { file.describe(sound: taps.map(\.description)) }
  }

  /// Writes the sound up to a picture's time, before that picture. Waits for sound that is not live: blocks
  /// that stay in the tap stop the source of sound, and a movie may need more of it.
  func take(upTo time: Int64) throws(RunError) {
    for index in microphones.indices {
      let isLive = microphones[index].tap.description.isLive
      try drain(index, upTo: time, patience: isLive ? 0 : Self.patience)
    }
    lastTime = time
    settle()
  }

  /// Live, while no picture comes.
  func takeWhatCame() throws(RunError) {
    for index in microphones.indices where microphones[index].tap.description.isLive {
      try drain(index, upTo: .max, patience: 0)
    }
    settle()
  }

  /// Behind the last picture: waits for its sound, and until the clock is known that places it, as movies do.
  /// Live, for `patience` at most, else as long as some comes.
  func finish() throws(RunError) {
    guard !isClosed else { return }
    let deadline = monotonicNow() + Self.patience
    let end = lastTime?.clampedSum(pictureLength)
    for index in microphones.indices {
      if microphones[index].tap.description.isLive {
        try drain(index, upTo: .max, patience: 0)
        while microphones[index].endTime ?? .min < end ?? .min,
          try takeBlock(index, upTo: .max, patience: deadline - monotonicNow())
        {}
      } else if let end {
        try drain(index, upTo: end, patience: Self.patience)
      }
    }
  }

  /// Accounts for samples whose chunk is in the file.
  func settle() {
    for index in microphones.indices {
      let durable = file.durableSamples(index)
      microphones[index].tap.count(durable - microphones[index].settled, as: .delivered)
      microphones[index].settled = durable
    }
  }

  /// After a failure: what is not in the file never will be. Reads no more.
  func fail() {
    for index in microphones.indices where !isClosed {
      let lost = microphones[index].written - microphones[index].settled
      microphones[index].tap.count(lost, as: .failed)
    }
    close()
  }

  /// At the run's end: reads no more.
  func close() {
    guard !isClosed else { return }
    isClosed = true
    for microphone in microphones { microphone.tap.close() }
  }

  /// `patience`: nanoseconds to wait for each block.
  private func drain(_ index: Int, upTo time: Int64, patience: Int64) throws(RunError) {
    while try takeBlock(index, upTo: time, patience: patience) {}
  }

  /// False where there is no block that is due.
  private func takeBlock(
    _ index: Int, upTo time: Int64, patience: Int64
  ) throws(RunError) -> Bool {
    guard !isClosed else { return false }
    let tap = microphones[index].tap
    if !microphones[index].hasBlock {
      guard case .block = tap.next(timeout: max(patience, 0)) else { return false }
      microphones[index].hasBlock = true
    }
    let record = tap.withBlock { record, _ in record }
    if !tap.description.isLive, isAhead(record, of: time) { return false }
    try write(record, index)
    microphones[index].hasBlock = false
    tap.release()
    return true
  }

  /// Whether the block begins behind `time`.
  private func isAhead(_ record: AudioRecord, of time: Int64) -> Bool {
    guard record.line.isPlaced else { return false }
    let ahead = record.line.time(of: record.first).clampedSum(-max(time, -.max))
    return (0..<Self.longestHold).contains(ahead)
  }

  private func write(_ record: AudioRecord, _ index: Int) throws(RunError) {
    let microphone = microphones[index]
    let tap = microphone.tap
    let line = tap.line(ofSegment: record.line.segment) ?? record.line
    let lost = record.missing - min(record.missing, microphone.missing)
    let gap = record.first - min(record.first, microphone.end)
    tap.count(lost, as: .missing)
    tap.count(gap - min(gap, lost), as: .behind)
    (microphones[index].end, microphones[index].missing) = (record.end, record.missing)
    let isPlaced = record.line.isPlaced
    microphones[index].endTime = isPlaced ? record.line.time(of: record.end) : nil
    let block = BlockRecord(
      microphone: index, record: record, line: line, format: tap.description.format,
      missing: lost, behind: gap - min(gap, lost))
    var failure: RunError?
    tap.withBlock { _, bytes in
      do throws(RunError) { try file.add(block, bytes) } catch { failure = error }
    }
    guard let failure else {
      microphones[index].written += UInt64(record.count)
      return
    }
    tap.count(UInt64(record.count), as: .failed)
    throw failure
  }

  /// Longest wait for a block at the end, nanoseconds. Larger: slower sources lose no sound, and a stuck one
  /// delays the file for longer.
  private static let patience: Int64 = 1_000_000_000
  /// A block that is further ahead is not held, nanoseconds: its times are not those of the pictures.
  private static let longestHold: Int64 = 10_000_000_000
}
