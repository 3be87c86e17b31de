import Foundation
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

  /// An hour in a release build, four minutes in a debug build. The channels are cosine and sine of 10 Hz, whose
  /// phase says which sample of the card is heard.
  @Test(arguments: [200.0, -200, 0])
  func soundStaysWithThePicture(off: Double) throws {
    let (rate, seconds) = (Self.rate, Self.seconds)
    let card = Self.card(off, seed: 7, rate: rate)
    let turn = rate / 10
    var wave: [UInt32] = []
    for index in 0..<turn {
      let phase = 2 * Double.pi * Double(index) / Double(turn)
      wave += [Float(cos(phase)).bitPattern, Float(sin(phase)).bitPattern]
    }
    let tap = FakeTap(AudioFormat(number: .f32, rate: rate, channels: 2), card) { number, channel in
      wave[2 * Int(number % UInt64(turn)) + channel]
    }
    let gap = seconds / 2
    tap.gaps = [(UInt64(gap) * UInt64(rate), 3 * rate)]
    // The clock of the picture begins when it does: not at a sample.
    let start = card.start + 123_456
    let track = try AudioTrack(AudioReader(tap), AudioTrackSettings(), start: start)

    var points: [Double?] = []
    var (count, next) = (0, 0)
    for step in Int64(1)...seconds * 5 {
      tap.run(until: start + step * second / 5)
      try track.take(upTo: start + step * second / 5, deadline: 0) { sound in
        // The sample of each half second.
        let last = count + sound.count / 8
        while next < last {
          let place = 8 * (next - count)
          let (x, y) = (number(sound, place), number(sound, place + 4))
          let wanted = Double(next) * card.trueRate / Double(rate)
          let phase = atan2(Double(y), Double(x)) / (2 * .pi) * Double(turn)
          let turns = ((wanted - phase) / Double(turn)).rounded()
          points.append(x * x + y * y < 0.5 ? nil : phase + turns * Double(turn))
          next += rate / 2
        }
        count = last
      }
    }
    track.settle(as: .delivered)
    #expect(points.count > 2 * Int(seconds) - 6)

    var (worst, pitches): (Double, [Double?]) = (0, [])
    for (index, point) in points.enumerated() {
      guard let point else {
        #expect(index == 0 || (2 * gap - 2...2 * gap + 8).contains(Int64(index)), "silent at \(index)")
        pitches.append(nil)
        continue
      }
      let isNearGap = (2 * gap - 2...2 * gap + 9).contains(Int64(index))
      if index >= 2, !isNearGap || index % 2 == 0 {
        let heard = Double(card.start - start) / 1e9 + point / card.trueRate
        worst = max(worst, abs(heard - Double(index) / 2))
      }
      let before = index > 0 && !isNearGap ? points[index - 1] : nil
      pitches.append(before.map { ((point - $0) / Double(rate / 2) * Double(rate) / card.trueRate - 1) * 1e6 })
    }
    func worstPitch(_ from: Int) -> Double {
      pitches[from...].reduce(0) { max($0, 1200 * log2(1 + abs($1 ?? 0) * 1e-6)) }
    }
    var slew = 0.0
    for index in 2..<pitches.count {
      if let new = pitches[index], let old = pitches[index - 2] { slew = max(slew, abs(new - old)) }
    }
    print(
      "\(off) ppm, \(seconds) s: off by \(worst * 1e3) ms at most, pitch \(worstPitch(0)) cents, from 90 s on "
        + "\(worstPitch(180)), slew \(slew) ppm/s")
    #expect(worst < 8e-3 && worstPitch(0) < 0.4 && worstPitch(180) < 0.1)
    // Steps of the library are 0.95 ppm.
    #expect(slew < 22)
    #expect((track.correction?.isCorrecting == true) == (off != 0))
    let counts = track.counts
    #expect(tap.counts[.missing] == UInt64(3 * rate) && abs(Int(counts.silence) - 3 * rate) < rate / 100)
    #expect(Int64(counts.samples) == Int64(counts.delivered + counts.silence) + counts.corrected)
    #expect(tap.counts[.delivered] == counts.delivered)
  }

  @Test(arguments: [(997.0, -85.0), (10_000, -70)], [200.0, -200])
  func sinesStaySines(sine: (frequency: Double, most: Double), off: Double) throws {
    let rate = 48_000
    let card = Self.card(off, seed: 3, rate: rate)
    let tap = FakeTap(AudioFormat(number: .f32, rate: rate, channels: 1), card) { number, _ in
      Float(0.5012 * sin(2 * .pi * (Double(number) * sine.frequency / Double(rate))
        .truncatingRemainder(dividingBy: 1))).bitPattern
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
    #expect(seam != nil && worst < sine.most)
  }

  /// RMS of what a sine of any amplitude, phase and frequency near `omega` (radians per sample) leaves, in dB of a
  /// full-scale sine's... of full scale.
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

  private func number(_ sound: Span<UInt8>, _ place: Int) -> Float {
    var bits: UInt32 = 0
    for byte in 0..<4 { bits |= UInt32(sound[place + byte]) << UInt32(8 * byte) }
    return Float(bitPattern: bits)
  }
}
