import Glibc
import Sprocket

/// Reads sound with pauses, and leaves early: at its end, with an error, or without a word.
final class HesitantSink: AudioSink {
  let name = "hesitant"
  private var random: StormRandom
  private let pause: Int
  private let blocks: Int
  private let fails: Bool
  /// Numbers that did not follow, or were not the block's.
  private(set) var wrong = 0
  private var numberBytes = 4

  init(_ random: inout StormRandom) {
    pause = random.chance(500_000) ? 1 + random.below(40_000) : 0
    blocks = random.chance(400_000) ? random.below(200) : .max
    fails = random.chance(500_000)
    self.random = StormRandom(seed: random.next())
  }

  func configure(_ sound: AudioDescription) throws(RunError) {
    numberBytes = sound.format.number.bytes
  }

  func run(_ tap: any AudioTap) throws(RunError) {
    var (end, missing): (UInt64, UInt64) = (0, 0)
    for _ in 0..<blocks {
      switch tap.next(timeout: 1_000_000_000) {
      case .nothing: continue
      case .end: return
      case .block:
        tap.withBlock { record, bytes in
          tap.count(record.missing - missing, as: .missing)
          tap.count(record.first - end - (record.missing - missing), as: .behind)
          tap.count(UInt64(record.count), as: .delivered)
          (end, missing) = (record.end, record.missing)
          let expected = (record.first + 1) & (1 << UInt64(8 * numberBytes) - 1)
          if record.count > 0, number(bytes) != expected { wrong += 1 }
        }
        tap.release()
        if random.chance(100_000) { usleep(UInt32(random.below(pause))) }
      }
    }
    if fails { throw RunError(.failed, "the storm's sink failed; run another") }
  }

  private func number(_ bytes: Span<UInt8>) -> UInt64 {
    (0..<numberBytes).reduce(0) { $0 | UInt64(bytes[$1]) << UInt64(8 * $1) }
  }
}
