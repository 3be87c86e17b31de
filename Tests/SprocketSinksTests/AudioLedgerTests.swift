import TestExpectations
import TestSupport
import Testing

@testable import SprocketCore
@testable import SprocketSinks

/// Each sample of the device is accounted for once, whatever happens.
@Suite struct AudioLedgerTests {
  #if DEBUG
    static let seeds: UInt64 = 150
  #else
    static let seeds: UInt64 = 2000
  #endif

  @Test func addsUpForAnyGapsLapsesStartsAndEnds() throws {
    var (gaps, lapses, joins, corrected): (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
    for seed in 1...Self.seeds {
      var run = AudioRunOfFiles(seed: seed)
      try run.record()
      let (tap, files) = (run.tap, run.files)
      expectEqual(tap.counts.sum, tap.produced, "seed \(seed): \(tap.counts)")
      let delivered = files.reduce(0) { $0 + $1.track.counts.delivered }
      expectEqual(tap.counts[.delivered], delivered, "seed \(seed)")
      for file in files { check(file, seed) }
      // In order, and none twice.
      let copied = files.filter { !$0.track.isConverted }.flatMap { $0.numbers.filter { $0 != 0 } }
      expectTrue(zip(copied, copied.dropFirst()).allSatisfy { $0 < $1 }, "seed \(seed)")
      gaps += tap.counts[.missing] > 0 ? 1 : 0
      lapses += tap.counts[.behind] > 0 ? 1 : 0
      joins += zip(files, files.dropFirst()).contains { $0.end == $1.start } ? 1 : 0
      corrected += files.contains { $0.track.correction?.isCorrecting ?? false } ? 1 : 0
    }
    // All of it happened.
    expectGreater(min(gaps, lapses, joins, corrected), Self.seeds / 20)
  }

  private func check(_ file: TrackFile, _ seed: UInt64) {
    let (counts, rate) = (file.track.counts, Double(file.track.format.rate))
    let length = Double((file.end ?? 0) - file.start) / 1e9
    expectEqual(counts.samples, UInt64((length * rate).rounded()), "seed \(seed)")
    let whole = Double(counts.delivered + counts.silence) * rate / 8000
    expectEqual(Int64(counts.samples), Int64(whole.rounded()) + counts.corrected, "seed \(seed)")
    expectAtMost(abs(counts.corrected), 8 + Int64(whole * 0.001), "seed \(seed)")
    if !file.track.isConverted {
      expectEqual(counts.corrected, 0)
      let heard = file.numbers.filter { $0 != 0 }
      expectEqual(UInt64(heard.count), counts.delivered, "seed \(seed)")
    }
  }
}

/// Files of one microphone, with gaps, a ring that may be lapped, and pauses, by a seed.
struct AudioRunOfFiles {
  let tap: FakeTap
  private(set) var files: [TrackFile] = []
  private var settings = RecordedSound()
  private let reader: AudioReader
  private var random: TestRandom
  private var now: Int64
  private let end: Int64

  init(seed: UInt64) {
    var random = TestRandom(seed: seed)
    func chance(_ share: Double) -> Bool { Double.random(in: 0..<1, using: &random) < share }
    var card = SoundCard(seed: seed)
    card.period = .random(in: 20...300, using: &random)
    card.jitter = chance(0.5) ? 0 : 1e-3
    card.partsPerMillion = chance(0.5) ? .random(in: -9000...9000, using: &random) : 0
    let format = AudioFormat(number: .s32, rate: 8000, channels: 1)
    tap = FakeTap(format, card) { number, _ in UInt32(truncatingIfNeeded: number + 1) }
    tap.ringBlocks = chance(0.5) ? .max : .random(in: 5...100, using: &random)
    var at: UInt64 = 0
    while chance(0.7) {
      at += .random(in: 1...20_000, using: &random)
      let count = Int.random(in: 1...12_000, using: &random)
      tap.gaps.append((at, count))
      at += UInt64(count)
    }
    settings.sync = chance(0.5) ? .exact : .auto
    let rates = [8000, 11_025, 22_050, 48_000]
    settings.rate = chance(0.3) ? rates[.random(in: 0..<4, using: &random)] : nil
    now = card.start
    end = card.start + .random(in: 1...8, using: &random) * second
    reader = AudioReader(tap)
    self.random = random
  }

  private mutating func chance(_ share: Double) -> Bool {
    Double.random(in: 0..<1, using: &random) < share
  }

  mutating func record() throws {
    while now < end {
      try recordFile()
      if chance(0.3), !tap.hasEnded {
        now += .random(in: 0...2 * second, using: &random)
        tap.run(until: now)
        reader.skip(before: chance(0.5) ? nil : now - second / 2)
      }
    }
    tap.end()
    reader.skip()
  }

  private mutating func recordFile() throws {
    let isLater = files.isEmpty || chance(0.5)
    let begin = isLater ? now + .random(in: -second...second, using: &random) : now
    let file = try TrackFile(reader, start: begin, settings)
    files.append(file)
    let goesOn = chance(0.5) ? 0.97 : 0.8
    while chance(goesOn), now < end {
      now += .random(in: 0...second / 3, using: &random)
      tap.run(until: now)
      if chance(0.8) { try file.take(upTo: now - .random(in: 0...second / 5, using: &random)) }
    }
    if now >= end, chance(0.5) { tap.end() }
    try file.finish(at: max(begin, now))
    now = max(begin, now)
  }
}
