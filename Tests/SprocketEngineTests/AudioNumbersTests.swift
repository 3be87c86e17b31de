import SprocketCore
import TestExpectations
import Testing

@testable import SprocketEngine

@Suite struct AudioNumbersTests {
  /// Against sums of the numbers one by one.
  @Test(arguments: AudioFormat.Number.allCases, 1...3)
  func levelsAreThoseOfTheNumbers(number: AudioFormat.Number, channels: Int) {
    let format = AudioFormat(number: number, rate: 48_000, channels: channels)
    let (slot, count) = (2, 333)
    let line = AudioClock(format).line
    let memory = AudioMemory(slotCount: 3, slotBytes: 335 * format.sampleBytes, line: line)
    var random = SystemRandomNumberGenerator()
    var numbers: [Float] = (0..<count * channels).map { index in
      Float.random(in: -0.5...0.5, using: &random) * Float(index % channels + 1) / 3
    }
    // The lowest number has no counterpart above 0.
    if channels == 2 { numbers[7 * channels + 1] = -1 }
    memory.fill(slot) { bytes in _ = encode(numbers.span, number, into: &bytes) }
    let levels = memory.levels(slot, count: count, format)
    for channel in 0..<channels {
      let own = stride(from: channel, to: numbers.count, by: channels).map { Double(numbers[$0]) }
      let square = own.reduce(0) { $0 + $1 * $1 } / Double(count)
      expectLess(abs(Double(levels.peak[channel]) - (own.map(abs).max() ?? 0)), 1e-4)
      expectLess(abs(Double(levels.meanSquare[channel]) - square), 1e-4)
    }
    expectEqual(levels.peak[channels], 0)
  }
}
