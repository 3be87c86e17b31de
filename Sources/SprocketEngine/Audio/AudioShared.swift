internal import SprocketCore
internal import Synchronization

/// What the threads of one audio engine and its taps share.
final class AudioShared: Sendable {
  // Values of `state`.
  static let idle: UInt32 = 0
  static let running: UInt32 = 1
  static let ended: UInt32 = 2

  let state = FutexWord()
  let isStopping = Atomic<Bool>(false)
  let pictures = PictureClock()
  /// Time before which sound is wanted whatever the pictures do; the smallest number while there is none.
  let extendedTime = Atomic<Int64>(.min)
  /// Time of the first sample that is not wanted; the largest number while there is none.
  let endTime = Atomic<Int64>(.max)
  /// Samples that the source made so far, missing ones counted; and those that are missing.
  let produced = Atomic<UInt64>(0)
  let missing = Atomic<UInt64>(0)
  /// Numbers beyond full scale behind the stages.
  let clipped = Atomic<UInt64>(0)
  /// When the latest block was published, on the monotonic clock; 0 before the first.
  let lastBlock = Atomic<Int64>(0)
  /// The source was taken away.
  let isSourceless = Atomic<Bool>(false)
  /// The source has ended or failed, and no other one has come since.
  let isLost = Atomic<Bool>(false)
  let errors = Locked<[RunError]>([])
  let notes = Locked<[String]>([])
  /// Accounts of all attached sinks and of the latest that have left the run, each with the sink's name.
  let accounts = Locked<[(sink: String, account: AudioAccount)]>([])
  /// The newest line of each of the latest segments, by segment modulo their number; and how many segments
  /// there were.
  private let lines: Locked<(lines: [AudioLine], newest: AudioLine)>
  private let meter: Locked<AudioMeter>

  /// Segments whose line is kept. Larger: a sink that is far behind finds the lines of more gaps.
  private static let keptLines = 64

  init(_ format: AudioFormat) {
    let line = AudioLine(rate: Double(format.rate))
    lines = Locked((Array(repeating: line, count: Self.keptLines), line))
    meter = Locked(AudioMeter(format))
  }

  func makeAccount(_ sink: String) -> AudioAccount {
    let account = AudioAccount()
    accounts.withLock { accounts in
      var kept = accounts[...]
      if accounts.count >= DetachedLines.kept,
        let left = accounts.firstIndex(where: { $0.account.isClosed })
      {
        kept = accounts[..<left] + accounts[(left + 1)...]
      }
      // Replaced as a whole: others read their copy without the lock.
      accounts = kept + [(sink, account)]
    }
    return account
  }

  func forget(_ account: AudioAccount) {
    accounts.withLock { $0 = $0.filter { $0.account !== account } }
  }

  func fail(_ error: RunError) { errors.withLock { $0 = $0 + [error] } }

  /// The source gives no more sound; `error` says why, where that is one.
  func lose(_ error: RunError?) {
    if let error { fail(error) }
    isLost.store(true, ordering: .releasing)
  }

  /// On the engine's thread, before the block is published.
  func note(_ record: AudioRecord, produced count: UInt64) {
    produced.store(count, ordering: .releasing)
    lastBlock.store(monotonicNow(), ordering: .releasing)
    missing.store(record.missing, ordering: .releasing)
    note(record.line)
    meter.withLock { $0.add(record.levels, count: record.count) }
  }

  func note(_ line: AudioLine) {
    lines.withLock { lines in
      guard lines.newest != line else { return }
      lines.newest = line
      lines.lines[Int(line.segment) % Self.keptLines] = line
    }
  }

  func line(ofSegment segment: UInt32) -> AudioLine? {
    lines.withLock { lines in
      let line = lines.lines[Int(segment) % Self.keptLines]
      return line.segment == segment ? line : nil
    }
  }

  var line: AudioLine { lines.withLock { $0.newest } }

  /// What a meter shows now.
  var levels: AudioLevels { meter.withLock { $0.levels } }
}

/// A level meter: the peak falls by 20 dB a second, the mean square is that of 300 ms (as IEC 60268-17's VU
/// meters integrate).
struct AudioMeter {
  private(set) var levels = AudioLevels()
  private let rate: Float
  private let channels: Int

  init(_ format: AudioFormat) {
    rate = Float(format.rate)
    channels = format.channels
  }

  mutating func add(_ block: AudioLevels, count: Int) {
    let seconds = Float(count) / rate
    // 20 dB a second are a factor of 10 in amplitude: exp(-2.303 s), as the start of its series.
    let time = 2.303 * seconds
    let fall = 1 / (1 + time + time * time / 2)
    let share = seconds / (0.3 + seconds)
    for channel in 0..<channels {
      levels.peak[channel] = max(block.peak[channel], levels.peak[channel] * fall)
      levels.meanSquare[channel] += (block.meanSquare[channel] - levels.meanSquare[channel]) * share
    }
  }
}
