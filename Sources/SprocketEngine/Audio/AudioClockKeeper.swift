internal import SprocketCore

/// The line of a source's sound, whichever way the source tells its times.
struct AudioClockKeeper {
  private(set) var line: AudioLine
  private let nominal: Double
  private var hasBegun = false

  init(rate: Int) {
    nominal = Double(rate)
    line = AudioLine(rate: Double(rate))
  }

  /// `first` is the number of the block's first sample.
  mutating func note(_ arrived: ArrivedSound, first: UInt64, now: Int64) {
    if hasBegun, arrived.missing > 0 || arrived.isRestarted {
      line.segment &+= 1
      line.first = first
      line.isPlaced = false
    }
    hasBegun = true
    switch arrived.timing {
    case .exact(let time):
      (line.sample, line.time, line.rate) = (first, time, nominal)
      (line.isPlaced, line.isMeasured) = (true, true)
    case .status(let ahead, let time):
      guard !line.isPlaced else { return }
      (line.sample, line.time) = (first &+ UInt64(max(ahead, 0)), time)
      line.isPlaced = true
    case .unknown:
      guard !line.isPlaced else { return }
      (line.sample, line.time) = (first &+ UInt64(arrived.count), now)
      line.isPlaced = true
    }
  }
}
