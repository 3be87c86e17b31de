import Sprocket

/// A source whose every sample is its own number, counted from 1, in all channels: what a file holds says
/// then where it came from.
///
/// Blocks, times and losses are the scene's microphone's. On top of that the device is overrun, unplugged and
/// started again, delivers nothing, fails, or ends.
final class NumberedSound: AudioSource {
  private let scene: SceneMicrophone
  private var random: StormRandom
  private let faults: SoundFaults
  private var format: AudioFormat?
  /// Number of the next sample.
  private var position: UInt64 = 0
  private var owed: UInt64 = 0
  private var isRestarted = false
  /// Blocks until the device is plugged in again.
  private var away = 0

  init(_ scene: SceneMicrophone, _ faults: SoundFaults, seed: UInt64) {
    (self.scene, self.faults) = (scene, faults)
    random = StormRandom(seed: seed)
  }

  func open() throws(RunError) -> AudioDescription {
    let description = try scene.open()
    format = description.format
    return description
  }

  func read(into bytes: inout MutableSpan<UInt8>, timeout: Int64) throws(RunError) -> AudioArrival {
    if position > faults.failsAt {
      throw RunError(.failed, "the storm's microphone failed; run another")
    }
    if position > faults.endsAt { return .end }
    let arrival = try scene.read(into: &bytes, timeout: timeout)
    guard case .block(var block) = arrival, let format else { return arrival }
    owed += block.missing
    isRestarted = isRestarted || block.isRestarted
    if random.chance(faults.unplugged) { (away, isRestarted) = (1 + random.below(100), true) }
    if away > 0 || random.chance(faults.lost) {
      // What the device made is lost, and told of with the next block; of one that was away, nearly.
      let error = away > 0 ? random.below(3) - 1 : 0
      owed += UInt64(max(0, block.count + error))
      away = max(0, away - 1)
      return .nothing
    }
    if random.chance(faults.restarted) { isRestarted = true }
    if random.chance(faults.empty) {
      let gap = owed + UInt64(block.count)
      position += gap
      owed = 0
      return .block(ArrivedSound(count: 0, missing: gap, timing: block.timing))
    }
    (block.missing, block.isRestarted) = (owed, isRestarted)
    if random.chance(faults.untimed) { block.timing = .unknown }
    position += owed
    (owed, isRestarted) = (0, false)
    number(&bytes, block.count, format)
    return .block(block)
  }

  private func number(_ bytes: inout MutableSpan<UInt8>, _ count: Int, _ format: AudioFormat) {
    var place = 0
    for _ in 0..<count {
      position += 1
      for _ in 0..<format.channels {
        for byte in 0..<format.number.bytes {
          bytes[place] = UInt8(truncatingIfNeeded: position >> UInt64(8 * byte))
          place += 1
        }
      }
    }
  }

  func interrupt() { scene.interrupt() }
  func close() throws(RunError) { try scene.close() }
}

/// What goes wrong with a microphone: parts per million of its blocks, and numbers of samples.
struct SoundFaults {
  var (lost, restarted, unplugged, empty, untimed) = (0, 0, 0, 0, 0)
  var (failsAt, endsAt) = (UInt64.max, UInt64.max)

  init(_ random: inout StormRandom, isLive: Bool) {
    func often(_ random: inout StormRandom, _ most: Int) -> Int {
      random.chance(300_000) ? random.below(most) : 0
    }
    lost = often(&random, 100_000)
    restarted = often(&random, 20_000)
    unplugged = often(&random, 20_000)
    empty = often(&random, 50_000)
    // A device without times is live: its sound has the time at which it was read.
    if isLive { untimed = random.chance(100_000) ? 1_000_000 : often(&random, 200_000) }
    if random.chance(80_000) { failsAt = UInt64(random.below(400_000)) }
    if random.chance(80_000) { endsAt = UInt64(random.below(400_000)) }
  }
}

/// SplitMix64.
struct StormRandom: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) {
    state = seed
    // Else the numbers of one seed are those of the next, one later.
    state = next()
  }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var value = state
    value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
    return value ^ (value >> 31)
  }

  mutating func below(_ limit: Int) -> Int { Int(next() % UInt64(max(limit, 1))) }
  /// In parts per million.
  mutating func chance(_ parts: Int) -> Bool { below(1_000_000) < parts }
  mutating func pick<Item>(_ items: [Item]) -> Item { items[below(items.count)] }
}
