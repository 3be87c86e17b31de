import Glibc

/// The tone curve that a frame declares, and what its meter would read after another exposure. Pure.
package struct ToneCurve: Sendable {
  /// Steps of the table per doubling of the signal. Larger: more exact, more memory.
  private static let steps = 32.0
  /// log2 of the least signal in the table: half a level of 255, as the meter counts level 0.
  private static let darkest = log2(0.5 / 255)

  /// log2 of the signal, 0 at full scale, by level.
  private let signals: [Double]
  /// log2 of the luminance by level, and by log2 of the signal in even steps from `darkest`.
  private let luminances: [Double]
  private let table: [Double]

  package init(_ transfer: Color.Transfer) {
    signals = (0..<256).map { log2(max(Double($0), 0.5) / 255) }
    luminances = signals.map { log2(transfer.luminance(ofSignal: exp2($0))) }
    let count = Int((-Self.darkest * Self.steps).rounded(.up)) + 1
    table = (0...count).map {
      log2(transfer.luminance(ofSignal: exp2(min(Self.darkest + Double($0) / Self.steps, 0))))
    }
  }

  /// log2 of the luminance of a signal, of which log2 is given.
  package func luminance(ofSignal signal: Double) -> Double {
    let place = (min(max(signal, Self.darkest), 0) - Self.darkest) * Self.steps
    let index = min(Int(place), table.count - 2)
    return table[index] + (table[index + 1] - table[index]) * (place - Double(index))
  }

  /// Change of the mean log2 luminance, in EV, when every signal is doubled `doublings` times. Above full
  /// scale it is clipped; pixels that are clipped already count as full scale exactly.
  package func change(of histogram: LevelCounts, doublings: Double) -> Double {
    mean(histogram) { level in luminance(ofSignal: signals[level] + doublings) - luminances[level] }
  }

  /// The same when every luminance is doubled `doublings` times.
  package func change(of histogram: LevelCounts, luminanceDoublings doublings: Double) -> Double {
    mean(histogram) { level in
      min(luminances[level] + doublings, 0) - luminances[level]
    }
  }

  @inline(__always)
  private func mean(_ histogram: LevelCounts, of value: (Int) -> Double) -> Double {
    var sum = 0.0
    var count = 0.0
    for level in 0..<256 where histogram[level] > 0 {
      sum += Double(histogram[level]) * value(level)
      count += Double(histogram[level])
    }
    return count > 0 ? sum / count : 0
  }
}
