import CSprocketAllocations
import Foundation
import TestExpectations
import TestSupport
import Testing

@testable import SprocketCore
@testable import SprocketSinks

let second: Int64 = 1_000_000_000

@Suite struct AudioTrackTests {
  static let numbered = AudioFormat(number: .s32, rate: 8000, channels: 1)

  /// A card whose samples are their own numbers plus 1: silence is 0.
  static func numberedTap(_ card: SoundCard = SoundCard(), rate: Int = 8000) -> FakeTap {
    var card = card
    card.period = rate / 100
    return FakeTap(AudioFormat(number: .s32, rate: rate, channels: 1), card) { number, _ in
      UInt32(truncatingIfNeeded: number + 1)
    }
  }

  private func settings(
    _ sync: AudioSync = .auto, rate: Int? = nil, channels: Int? = nil
  ) -> RecordedSound {
    var settings = RecordedSound()
    (settings.sync, settings.rate, settings.channels) = (sync, rate, channels)
    return settings
  }

  @Test(arguments: AudioSync.allCases) func copiesBitForBitWhereTheClocksAgree(sync: AudioSync)
    throws
  {
    for number in AudioFormat.Number.allCases {
      var card = SoundCard(seed: 4)
      (card.jitter, card.outlierShare, card.outlier) = (2e-3, 0.02, 8e-3)
      card.period = 160
      let format = AudioFormat(number: number, rate: 8000, channels: 2)
      let tap = FakeTap(format, card) { number, channel in
        UInt32(truncatingIfNeeded: (number &* 2 &+ UInt64(channel)) &* 0x9e37_79b9_7f4a_7c15 >> 32)
      }
      let file = try TrackFile(AudioReader(tap), start: card.start + 2 * second, settings(sync))
      for tenth in Int64(0)..<400 {
        tap.run(until: card.start + tenth * second / 10)
        try file.take(upTo: card.start + tenth * second / 10)
      }
      let counts = file.track.counts
      expectEqual(counts.delivered, counts.samples)
      expectEqual(counts.silence, 0)
      expectEqual(counts.corrected, 0)
      expectUnequal(file.track.correction?.isOn, true)
      // The first one is as far from 2 s as the clock was then: 2 ms.
      let first = UInt64(16_000 - 40)
      var all: [UInt8] = []
      for sample in first..<first + 80 + counts.samples {
        for channel in 0..<2 {
          let bits = tap.signal(sample, channel)
          for byte in 0..<number.bytes {
            all.append(UInt8(truncatingIfNeeded: bits >> UInt32(8 * byte)))
          }
        }
      }
      let offset = (0..<80).first { offset in
        all[(offset * format.sampleBytes)...].starts(with: file.bytes)
      }
      expectNotNil(offset, "\(number)")
    }
  }

  @Test func beginsAndEndsAtTheNearestSample() throws {
    for off in [0, 1, 62_499, 62_501, 124_999, -62_501] as [Int64] {
      let tap = Self.numberedTap()
      let start = tap.card.start
      let file = try TrackFile(AudioReader(tap), start: start + second + off)
      tap.run(until: start + 4 * second)
      try file.finish(at: start + 2 * second + 62_501 + off)
      // A sample lasts 125 us.
      let first = 8000 + (off > 62_500 ? 1 : off < -62_500 ? -1 : 0)
      expectEqual(file.numbers, (first..<first + 8001).map { UInt32($0 + 1) }, "\(off)")
      expectTrue(tap.counts[.unselected] == UInt64(first) && tap.counts[.delivered] == 8001)
    }
  }

  @Test func aLateMicrophoneIsSilentBefore() throws {
    var card = SoundCard()
    let start = card.start
    card.start += 3 * second / 2
    let tap = Self.numberedTap(card)
    let file = try TrackFile(AudioReader(tap), start: start)
    for tenth in Int64(0)...50 {
      tap.run(until: start + tenth * second / 10)
      try file.take(upTo: start + tenth * second / 10)
    }
    tap.run(until: start + 6 * second)
    try file.finish(at: start + 5 * second)
    expectEqual(
      file.numbers, [UInt32](repeating: 0, count: 12_000) + (1...28_000).map { UInt32($0) })
    expectEqual(file.track.counts.silence, 12_000)
    expectEqual(file.track.counts.delivered, 28_000)
  }

  @Test func aGapIsSilentForAsLongAsItLasted() throws {
    for count in [1, 40, 8000, 80_000] {
      let tap = Self.numberedTap()
      let start = tap.card.start
      tap.gaps = [(24_000, count)]
      let file = try TrackFile(AudioReader(tap), start: start)
      for tenth in Int64(0)..<200 {
        tap.run(until: start + tenth * second / 10)
        try file.take(upTo: start + tenth * second / 10)
      }
      try file.finish(at: start + 199 * second / 10)
      let wanted = (0..<159_200).map { (24_000..<24_000 + count).contains($0) ? 0 : UInt32($0 + 1) }
      // The last second, of a segment that is not placed yet, is not there for the longest gap.
      expectEqual(file.numbers.prefix(100_000), wanted.prefix(100_000))
      expectEqual(tap.counts[.missing], UInt64(count))
    }
  }

  @Test func whatTheTapLostIsSilentAndBehind() throws {
    let tap = Self.numberedTap()
    let start = tap.card.start
    tap.ringBlocks = 20
    let file = try TrackFile(AudioReader(tap), start: start)
    for tenth in Int64(0)...50 where !(20..<30).contains(tenth) {
      tap.run(until: start + tenth * second / 10)
      try file.take(upTo: start + tenth * second / 10)
    }
    try file.finish(at: start + 5 * second)
    let lost = tap.counts[.behind]
    expectEqual(lost, UInt64(tap.lapped * 80))
    expectGreater(lost, 0)
    expectEqual(file.track.counts.silence, lost)
    expectTrue(
      file.numbers.enumerated().allSatisfy { $0.element == 0 || $0.element == $0.offset + 1 })
  }

  @Test func aStuckMicrophoneIsSilentAfterTwoSeconds() throws {
    let tap = Self.numberedTap()
    let start = tap.card.start
    let file = try TrackFile(AudioReader(tap), start: start + second)
    tap.run(until: start + 3 * second)
    for time in 3...8 as ClosedRange<Int64> { try file.take(upTo: start + time * second) }
    expectEqual(file.track.counts.samples, 5 * 8000)
    expectEqual(file.track.counts.silence, 3 * 8000)
    // All comes late: what is beyond the silence is heard.
    tap.run(until: start + 9 * second)
    try file.finish(at: start + 9 * second)
    expectTrue(file.numbers[40_000...].elementsEqual((48_000..<72_000).map { UInt32($0 + 1) }))
    expectEqual(tap.counts[.unselected], 4 * 8000)
  }

  @Test func aMicrophoneThatIsGoneIsSilentAtOnce() throws {
    let tap = Self.numberedTap()
    let start = tap.card.start
    let file = try TrackFile(AudioReader(tap), start: start)
    tap.run(until: start + 3 * second)
    tap.end()
    try file.take(upTo: start + 4 * second)
    expectTrue(file.numbers.count == 32_000 && file.numbers[24_000...].allSatisfy { $0 == 0 })
  }

  @Test func aRunOfLessThanASecondIsPlaced() throws {
    let tap = Self.numberedTap()
    let start = tap.card.start
    let file = try TrackFile(AudioReader(tap), start: start + second / 10)
    tap.run(until: start + second / 2)
    try file.take(upTo: start + second / 2)
    expectEqual(file.track.counts.samples, 0)
    tap.end()
    try file.finish(at: start + second / 2)
    expectEqual(file.numbers, (800..<4000).map { UInt32($0 + 1) })
  }

  @Test func filesThatMeetShareABlock() throws {
    // In 20 s they are 2 ms off, and no correction begins.
    for off in [0, 100, -100] as [Double] {
      var card = SoundCard()
      card.partsPerMillion = off
      let tap = Self.numberedTap(card)
      let (start, reader) = (card.start + second, AudioReader(tap))
      tap.run(until: start + 25 * second)
      var all: [UInt32] = []
      var begin = start
      // Of 1.0003 s each: they end within blocks.
      for number in 1...20 as ClosedRange<Int64> {
        let end = start + number * 1_000_300_000
        let file = try TrackFile(reader, start: begin)
        try file.finish(at: end)
        expectEqual(file.numbers.count, Int((Double(end - begin) * 8e-6).rounded()))
        all += file.numbers
        begin = end
      }
      expectTrue(zip(all, all.dropFirst()).allSatisfy { $1 == $0 + 1 })
      expectEqual(tap.counts[.delivered], UInt64(all.count))
    }
  }

  @Test func whatLiesBetweenFilesIsUnselected() throws {
    let tap = Self.numberedTap()
    let (start, reader) = (tap.card.start, AudioReader(tap))
    tap.run(until: start + 10 * second)
    try TrackFile(reader, start: start + second).finish(at: start + 2 * second)
    let file = try TrackFile(reader, start: start + 5 * second)
    try file.finish(at: start + 6 * second)
    expectEqual(file.numbers, (40_000..<48_000).map { UInt32($0 + 1) })
    expectTrue(tap.counts[.unselected] == 8000 + 24_000 && tap.counts[.delivered] == 16_000)
    reader.skip(before: start + 7 * second)
    expectEqual(tap.counts[.unselected], 40_000)
    reader.skip()
    expectEqual(tap.counts.sum, tap.produced)
  }

  @Test func convertedFilesThatMeetGoOnAsOneDoes() throws {
    for (rate, newRate) in [(48_000, 22_050), (16_000, 48_000), (96_000, 8000)] {
      func tap() -> FakeTap {
        var card = SoundCard()
        card.period = rate / 100
        return FakeTap(AudioFormat(number: .f32, rate: rate, channels: 1), card) { number, _ in
          Float(0.5 * sin(2 * .pi * Double(number) * 300 / Double(rate))).bitPattern
        }
      }
      let (one, two) = (tap(), tap())
      let start = one.card.start + second
      one.run(until: start + 5 * second)
      two.run(until: start + 5 * second)
      let whole = try TrackFile(AudioReader(one), start: start, settings(.exact, rate: newRate))
      try whole.finish(at: start + 4 * second)
      let reader = AudioReader(two)
      let first = try TrackFile(reader, start: start, settings(.exact, rate: newRate))
      try first.finish(at: start + 2 * second)
      let last = try TrackFile(reader, start: start + 2 * second, settings(.exact, rate: newRate))
      try last.finish(at: start + 4 * second)
      let parts = (first.numbers + last.numbers).map { Float(bitPattern: $0) }
      expectEqual(parts.count, 4 * newRate)
      let off = zip(whole.numbers, parts).map { abs(Float(bitPattern: $0) - $1) }
      expectLess(off.max()!, 1e-5, "\(rate)")
      expectEqual(two.counts[.delivered], UInt64(4 * rate))
    }
  }

  @Test func allocatesNothing() throws {
    // The first correction makes what Swift makes once.
    _ = try allocations(.s16, settings(.auto))
    for (sync, rate) in [(AudioSync.exact, nil), (.auto, nil), (.auto, 44_100)]
      as [(AudioSync, Int?)]
    {
      for number in AudioFormat.Number.allCases {
        try expectEqual(
          allocations(number, settings(sync, rate: rate)), 0, "\(number) \(sync) \(rate ?? 0)")
      }
    }
  }

  /// While 7 s of a card that is 2000 ppm fast, with gaps, are taken.
  private func allocations(
    _ number: AudioFormat.Number, _ settings: RecordedSound
  ) throws -> UInt64 {
    var card = SoundCard()
    (card.partsPerMillion, card.period) = (2000, 480)
    let tap = FakeTap(AudioFormat(number: number, rate: 48_000, channels: 2), card) { number, _ in
      UInt32(truncatingIfNeeded: number)
    }
    tap.gaps = [(60_000, 5000), (90_000, 50_000)]
    tap.run(until: card.start + 9 * second)
    let track = try AudioTrack(AudioReader(tap), settings, start: card.start + second / 2)
    var taken = 0
    // The first calls make what Swift makes once.
    try track.take(upTo: card.start + second / 2 + 1_000_000, deadline: 0) { taken += $0.count }
    let before = sprocket_allocation_count()
    var time = card.start + second
    while time <= card.start + 8 * second {
      try track.take(upTo: time, deadline: 0) { taken += $0.count }
      time += second / 30
    }
    let counted = sprocket_allocation_count() - before
    expectGreater(taken, 0)
    expectTrue((settings.sync == .exact || track.correction?.isCorrecting == true))
    return UInt64(counted)
  }
}
