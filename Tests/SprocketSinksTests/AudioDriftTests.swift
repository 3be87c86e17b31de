import Foundation
import TestExpectations
import TestSupport
import Testing

@testable import SprocketCore
@testable import SprocketSinks

/// How well sound follows the picture's clock, on cards that are off, with times that jitter, and a gap.
@Suite struct AudioDriftTests {
  #if DEBUG
    static let (seconds, rate): (Int64, Int) = (240, 8000)
  #else
    static let (seconds, rate): (Int64, Int) = (3600, 48_000)
  #endif

  static func card(_ off: Double, seed: UInt64, rate: Int) -> SoundCard {
    var card = SoundCard(seed: seed)
    (card.rate, card.partsPerMillion, card.period) = (rate, off, rate / 100)
    (card.jitter, card.outlierShare, card.outlier) = (2e-3, 0.02, 8e-3)
    return card
  }

  /// An hour in a release build, four minutes in a debug build.
  @Test(arguments: [200.0, -200, 0])
  func soundStaysWithThePicture(off: Double) throws {
    let (rate, seconds) = (Self.rate, Self.seconds)
    let card = Self.card(off, seed: 7, rate: rate)
    let wave = PhaseWave(rate: rate)
    let tap = FakeTap(AudioFormat(number: .f32, rate: rate, channels: 2), card) {
      wave.number($0, $1)
    }
    let gap = seconds / 2
    tap.gaps = [(UInt64(gap) * UInt64(rate), 3 * rate)]
    // The clock of the picture begins when it does: not at a sample.
    let start = card.start + 123_456
    let track = try AudioTrack(AudioReader(tap), RecordedSound(), start: start)
    var heard = HeardPhases(wave: wave, card: card, start: start)
    for step in Int64(1)...seconds * 5 {
      tap.run(until: start + step * second / 5)
      try track.take(upTo: start + step * second / 5, deadline: 0) { heard.hear($0) }
    }
    track.settle(as: .delivered)

    let found = heard.judge(gap: Int(2 * gap - 2)...Int(2 * gap + 9))
    print("\(off) ppm, \(seconds) s: \(found)")
    #expect(found.count > 2 * seconds - 20)
    expectLess(found.error, 8e-3)
    expectLess(found.pitch, 0.4)
    expectLess(found.latePitch, 0.1)
    expectLess(found.slew, 20)
    expectEqual((track.correction?.isCorrecting == true), (off != 0))
    let counts = track.counts
    expectEqual(tap.counts[.missing], UInt64(3 * rate))
    expectLess(abs(Int(counts.silence) - 3 * rate), rate / 100)
    expectEqual(Int64(counts.samples), Int64(counts.delivered + counts.silence) + counts.corrected)
    expectEqual(tap.counts[.delivered], counts.delivered)
  }

  /// A device that is off, and sound that is already late or early: the loop alone, every half second.
  @Test(arguments: [-200e-6, 0, 200e-6], [-0.02, 0.004, 0.02])
  func correctionLeadsAnErrorBackGently(rateExcess: Double, first: Double) {
    var (error, amount) = (first, 0.0)
    for _ in 0..<2400 {
      let next = AudioCorrection.next(after: amount, rateExcess: rateExcess, error: error)
      expectLess(abs(next - amount), 10.01e-6)
      expectLess(abs(next), abs(rateExcess) + 30.01e-6)
      amount = next
      // What is consumed beyond what the device makes was heard later.
      error += (amount - rateExcess) / 2
    }
    expectLess(abs(error), 10e-6)
    expectLess(abs(amount - rateExcess), 1e-6)
  }

  @Test(arguments: [(997.0, -85.0), (10_000, -70)], [200.0, -200])
  func sinesStaySines(sine: (frequency: Double, most: Double), off: Double) throws {
    let rate = 48_000
    let card = Self.card(off, seed: 3, rate: rate)
    let tap = FakeTap(AudioFormat(number: .f32, rate: rate, channels: 1), card) { number, _ in
      Float(
        0.5012
          * sin(
            2 * .pi
              * (Double(number) * sine.frequency / Double(rate))
              .truncatingRemainder(dividingBy: 1))
      ).bitPattern
    }
    let file = try TrackFile(AudioReader(tap), start: card.start + 77_777)
    var seam: Int?
    for step in Int64(1)...300 {
      tap.run(until: card.start + step * second / 10)
      try file.take(upTo: card.start + step * second / 10)
      if seam == nil, file.track.isConverted { seam = Int(file.track.correction?.fedBefore ?? 0) }
    }
    let samples = file.numbers.map { Double(Float(bitPattern: $0)) }
    var omega = 2 * .pi * sine.frequency / Double(rate)
    var (worst, atSeam) = (-200.0, -200.0)
    for begin in stride(from: 0, to: samples.count - 4800, by: 4800) {
      let residual = bestFit(samples[begin..<begin + 4800], &omega)
      worst = max(worst, residual)
      if let seam, abs(begin + 2400 - seam) < 4800 { atSeam = max(atSeam, residual) }
    }
    print("\(sine.frequency) Hz, \(off) ppm: \(worst) dBFS, at the seam \(atSeam)")
    expectNotNil(seam)
    expectLess(worst, sine.most)
  }

  /// RMS of what a sine of any amplitude, phase and frequency near `omega` (radians per sample) leaves,
  /// in dB of full scale.
  private func bestFit(_ samples: ArraySlice<Double>, _ omega: inout Double) -> Double {
    let middle = Double(samples.count - 1) / 2
    var (a, b, square) = (0.0, 0.0, 0.0)
    for pass in 0..<5 {
      // Normal equations of cos, sin and, after the first pass, the derivative by the frequency.
      var matrix = [[Double]](repeating: [0, 0, 0, 0], count: 3)
      square = 0
      for (index, value) in samples.enumerated() {
        let t = Double(index) - middle
        let (c, s) = (cos(omega * t), sin(omega * t))
        let slope = pass == 0 ? 0 : t * (b * c - a * s)
        let row = [c, s, slope, value]
        for i in 0..<3 { for j in 0..<4 { matrix[i][j] += row[i] * row[j] } }
        let rest = value - a * c - b * s
        square += rest * rest
      }
      if pass == 4 { break }
      if pass == 0 { matrix[2][2] = 1 }
      let solved = solve(matrix)
      (a, b) = (solved[0], solved[1])
      omega += solved[2]
    }
    return 10 * log10(square / Double(samples.count))
  }

  /// By Gauss and Jordan.
  private func solve(_ matrix: [[Double]]) -> [Double] {
    var m = matrix
    for i in 0..<3 {
      for j in 0..<3 where j != i {
        let factor = m[j][i] / m[i][i]
        for k in i..<4 { m[j][k] -= factor * m[i][k] }
      }
    }
    return (0..<3).map { m[$0][3] / m[$0][$0] }
  }
}

/// Two channels, cosine and sine of 10 Hz, whose phase says which sample of the card is heard.
struct PhaseWave {
  let rate: Int
  let turn: Int
  private var numbers: [UInt32] = []

  init(rate: Int) {
    (self.rate, turn) = (rate, rate / 10)
    for index in 0..<turn {
      let phase = 2 * Double.pi * Double(index) / Double(turn)
      numbers += [Float(cos(phase)).bitPattern, Float(sin(phase)).bitPattern]
    }
  }

  func number(_ sample: UInt64, _ channel: Int) -> UInt32 {
    numbers[2 * Int(sample % UInt64(turn)) + channel]
  }
}

/// Which sample of the card a file has at each half second.
struct HeardPhases {
  let wave: PhaseWave
  let card: SoundCard
  let start: Int64
  /// `nil` for silence.
  private var points: [Double?] = []
  private var (count, next) = (0, 0)

  init(wave: PhaseWave, card: SoundCard, start: Int64) {
    (self.wave, self.card, self.start) = (wave, card, start)
  }

  mutating func hear(_ sound: Span<UInt8>) {
    let last = count + sound.count / 8
    while next < last {
      let place = 8 * (next - count)
      let (x, y) = (number(sound, place), number(sound, place + 4))
      let wanted = Double(next) * card.trueRate / Double(wave.rate)
      let phase = atan2(y, x) / (2 * .pi) * Double(wave.turn)
      let turns = ((wanted - phase) / Double(wave.turn)).rounded()
      points.append(x * x + y * y < 0.5 ? nil : phase + turns * Double(wave.turn))
      next += wave.rate / 2
    }
    count = last
  }

  private func number(_ sound: Span<UInt8>, _ place: Int) -> Double {
    var bits: UInt32 = 0
    for byte in 0..<4 { bits |= UInt32(sound[place + byte]) << UInt32(8 * byte) }
    return Double(Float(bitPattern: bits))
  }

  /// Most seconds off from the first second on, cents and ppm per second; of half seconds outside of `gap`.
  struct Findings {
    var (count, error, pitch, latePitch, slew) = (0, 0.0, 0.0, 0.0, 0.0)
  }

  func judge(gap: ClosedRange<Int>) -> Findings {
    var found = Findings()
    var pitches: [Double?] = []
    for (index, point) in points.enumerated() {
      let isCounted = !gap.contains(index) && index > 0
      guard let point else {
        if isCounted { found.error = .infinity }
        pitches.append(nil)
        continue
      }
      found.count += 1
      if index >= 2 {
        let heard = Double(card.start - start) / 1e9 + point / card.trueRate
        found.error = max(found.error, abs(heard - Double(index) / 2))
      }
      let before = isCounted ? points[index - 1] : nil
      pitches.append(before.map { ((point - $0) * 2 / card.trueRate - 1) * 1e6 })
      if let pitch = pitches[index] {
        let cents = 1200 * log2(1 + abs(pitch) * 1e-6)
        found.pitch = max(found.pitch, cents)
        if index >= 180 { found.latePitch = max(found.latePitch, cents) }
        if index >= 2, let old = pitches[index - 2] {
          found.slew = max(found.slew, abs(pitch - old))
        }
      }
    }
    return found
  }
}
