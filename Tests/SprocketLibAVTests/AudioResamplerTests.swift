import Foundation
import SprocketLibAV
import TestExpectations
import Testing

@Suite struct AudioResamplerTests {
  typealias Shape = AudioResampler.Shape

  /// Feeds as little as is needed, in odd amounts.
  private func convert(
    _ resampler: AudioResampler, _ input: [UInt8], _ from: Shape, _ to: Shape, outputs: Int
  ) throws -> [UInt8] {
    var room = [UInt8](repeating: 0, count: AudioResampler.most * to.bytes)
    var (made, place): ([UInt8], Int) = ([], 0)
    while made.count < outputs * to.bytes {
      let most = min(997, outputs - made.count / to.bytes)
      let count = min(max(1, resampler.inputs(for: most)), AudioResampler.most)
      let bytes = input.span.extracting(place..<place + count * from.bytes)
      let given = try resampler.convert(bytes, into: &room, most: most)
      place += count * from.bytes
      made += room[..<(given * to.bytes)]
    }
    return made
  }

  private func floats(_ bytes: [UInt8]) -> [Double] {
    (0..<bytes.count / 4).map { index -> Double in
      var pattern: UInt32 = 0
      for byte in 0..<4 { pattern |= UInt32(bytes[4 * index + byte]) << UInt32(8 * byte) }
      return Double(Float(bitPattern: pattern))
    }
  }

  private func bytes(_ numbers: [Double]) -> [UInt8] {
    numbers.flatMap { number in
      let bits = Float(number).bitPattern
      return (0..<4).map { UInt8(truncatingIfNeeded: bits >> UInt32(8 * $0)) }
    }
  }

  @Test(arguments: [
    (48_000, 48_000), (48_000, 22_050), (44_100, 48_000), (8000, 192_000), (192_000, 8000),
  ])
  func outputsLieWhereThePositionSays(rate: Int, newRate: Int) throws {
    for correction in [0, 200e-6, -200e-6] {
      let (from, to) = (
        Shape(number: .f32, rate: rate, channels: 1),
        Shape(number: .f32, rate: newRate, channels: 1)
      )
      let resampler = try AudioResampler(from: from, to: to)
      // 500 Hz, which has begun before.
      let wave = (-512..<2 * rate).map { 0.5 * sin(2 * .pi * 500 * Double($0) / Double(rate)) }
      try resampler.begin(with: bytes(Array(wave[..<512])).span)
      expectLess(abs(resampler.position), 1e-3)
      try resampler.correct(by: correction)
      let first = resampler.position
      let outputs = newRate / 2
      let made = floats(
        try convert(resampler, bytes(Array(wave[512...])), from, to, outputs: outputs))
      let step = (resampler.position - first) / Double(outputs)
      expectLess(abs(step / resampler.step - 1 - correction), 1e-6)
      let off = made.enumerated().map { index, value in
        abs(value - 0.5 * sin(2 * .pi * 500 * (first + Double(index) * step) / Double(rate)))
      }
      expectLess(off.max()!, 3e-4, "\(correction)")
    }
  }

  @Test func mixesDownToMeans() throws {
    for (channels, newChannels, wanted) in [
      (2, 1, [0.3]), (8, 1, [0.45]), (4, 2, [0.2, 0.3]), (1, 2, [0.1, 0.1]), (2, 3, [0.1, 0.2, 0]),
      (6, 4, [0.3, 0.4, 0.3, 0.4]),
    ] as [(Int, Int, [Double])] {
      let values =
        channels == 2 && newChannels == 1 ? [0.2, 0.4] : (1...channels).map { Double($0) / 10 }
      let (from, to) = (
        Shape(number: .f32, rate: 8000, channels: channels),
        Shape(number: .f32, rate: 8000, channels: newChannels)
      )
      let resampler = try AudioResampler(from: from, to: to)
      let input = bytes((0..<2000).flatMap { _ in values })
      let made = floats(try convert(resampler, input, from, to, outputs: 1000))
      for (index, value) in wanted.enumerated() {
        expectLess(
          abs(made[500 * newChannels + index] - value), 1e-4, "\(channels) to \(newChannels)")
      }
    }
  }

  @Test func keepsEachKindOfNumber() throws {
    for (number, most) in [
      (PCMFormat.Number.s16, 32_767.0), (.s24, 8_388_607), (.s32, 2_147_483_647),
    ] {
      let shape = Shape(number: number, rate: 48_000, channels: 2)
      let resampler = try AudioResampler(from: shape, to: shape)
      // Of full scale, so that it clips nowhere; the channels differ in sign.
      var input: [UInt8] = []
      for index in 0..<4000 {
        for sign in [1.0, -1] {
          let value = Int64((sign * 0.9 * most * sin(Double(index) / 40)).rounded())
          for byte in 0..<number.bytes {
            input.append(UInt8(truncatingIfNeeded: value >> Int64(8 * byte)))
          }
        }
      }
      let made = try convert(resampler, input, shape, shape, outputs: 3000)
      for index in 400..<2900 {
        for (channel, sign) in [1.0, -1].enumerated() {
          let place = (2 * index + channel) * number.bytes
          var value: Int64 = 0
          for byte in 0..<number.bytes { value |= Int64(made[place + byte]) << Int64(8 * byte) }
          let shift = Int64(64 - 8 * number.bytes)
          let heard = Double((value << shift) >> shift) / most
          expectLess(abs(heard - sign * 0.9 * sin(Double(index) / 40)), 3e-4, "\(number) \(index)")
        }
      }
    }
  }

  @Test func refusesWhatTheLibraryRefuses() {
    #expect(throws: AudioResamplerError.self) {
      _ = try AudioResampler(
        from: Shape(number: .s16, rate: 48_000, channels: 2),
        to: Shape(number: .s16, rate: 0, channels: 2))
    }
  }
}
