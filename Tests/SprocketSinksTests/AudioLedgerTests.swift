import TestSupport
import Testing

@testable import SprocketCore
@testable import SprocketSinks

/// Each sample of the device is accounted for once, whatever happens.
@Suite struct AudioLedgerTests {
  #if DEBUG
    static let seeds = 150
  #else
    static let seeds = 2000
  #endif

  @Test func addsUpForAnyGapsLapsesStartsAndEnds() throws {
    var (gaps, lapses, joins, corrected) = (0, 0, 0, 0)
    for seed in 1...UInt64(Self.seeds) {
      var random = TestRandom(seed: seed)
      func chance(_ share: Double) -> Bool { Double.random(in: 0..<1, using: &random) < share }
      var card = SoundCard(seed: seed)
      card.period = .random(in: 20...300, using: &random)
      card.jitter = chance(0.5) ? 0 : 1e-3
      card.partsPerMillion = chance(0.3) ? .random(in: -3000...3000, using: &random) : 0
      let tap = AudioTrackTests.numberedTap(card)
      tap.description.blockSamples = 300
      tap.ringBlocks = chance(0.5) ? .max : .random(in: 5...100, using: &random)
      var at: UInt64 = 0
      while chance(0.7) {
        at += .random(in: 1...20_000, using: &random)
        tap.gaps.append((at, .random(in: 1...12_000, using: &random)))
        at += UInt64(tap.gaps[tap.gaps.count - 1].count)
      }
      var settings = AudioTrackSettings()
      settings.sync = chance(0.5) ? .exact : .auto
      if chance(0.3) { settings.rate = [8000, 11_025, 22_050, 48_000].randomElement(using: &random) }

      let reader = AudioReader(tap)
      var (files, numbers): ([TrackFile], [UInt32]) = ([], [])
      var now = card.start
      let end = card.start + .random(in: 1...8, using: &random) * second
      while now < end {
        let begin = files.isEmpty || chance(0.5) ? now + .random(in: -second...second, using: &random) : now
        let file = try TrackFile(reader, start: begin, settings)
        while chance(0.9), now < end {
          now += .random(in: 0...second / 3, using: &random)
          tap.run(until: now)
          if chance(0.8) { try file.take(upTo: now - .random(in: 0...second / 5, using: &random)) }
        }
        if now > end, chance(0.5) { tap.end() }
        try file.finish(at: max(begin, now))
        let counts = file.track.counts
        let wanted = (Double(max(begin, now) - begin) * Double(file.track.format.rate) / 1e9).rounded()
        #expect(counts.samples == UInt64(wanted), "seed \(seed)")
        let whole = Double(counts.delivered + counts.silence) * Double(file.track.format.rate) / 8000
        #expect(
          Int64(counts.samples) == Int64(whole.rounded()) + counts.corrected
            && abs(counts.corrected) <= 8 + Int64(whole * 0.003), "seed \(seed)")
        if !file.track.isConverted {
          #expect(counts.corrected == 0)
          let heard = file.numbers.filter { $0 != 0 }
          #expect(UInt64(heard.count) == counts.delivered, "seed \(seed)")
          numbers += heard
        }
        if files.last.map({ $0.end == begin }) ?? false { joins += 1 }
        files.append(file)
        if chance(0.3) {
          now += .random(in: 0...2 * second, using: &random)
          tap.run(until: now)
          reader.skip(before: chance(0.5) ? nil : now - second / 2)
        }
        if file.track.correction?.isCorrecting ?? false { corrected += 1 }
      }
      tap.end()
      reader.skip()
      #expect(tap.counts.sum == tap.produced, "seed \(seed): \(tap.counts)")
      let delivered = files.reduce(0) { $0 + $1.track.counts.delivered }
      #expect(tap.counts[.delivered] == delivered, "seed \(seed)")
      // In order, and none twice.
      #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 }, "seed \(seed)")
      gaps += tap.counts[.missing] > 0 ? 1 : 0
      lapses += tap.counts[.behind] > 0 ? 1 : 0
    }
    // All of it happened.
    #expect(min(gaps, lapses, joins, corrected) > Self.seeds / 20, "\(gaps) \(lapses) \(joins) \(corrected)")
  }
}
