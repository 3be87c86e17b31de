internal import SprocketCodecs
internal import SprocketCore

/// A still as a sink's pre-roll keeps it: the file's bytes, and behind them the number of the bracket's step.
struct HeldStill {
  static let stepBytes = 4

  /// Grows to the largest still, and so only a few times in a run.
  private(set) var bytes: [UInt8] = []

  /// The step of a still that was kept, from 1; 0 for none.
  static func step(of bytes: Span<UInt8>) -> UInt32 {
    var step: UInt32 = 0
    for index in bytes.count - stepBytes..<bytes.count { step = step << 8 | UInt32(bytes[index]) }
    return step
  }

  mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }

  mutating func append(_ piece: Span<UInt8>) { bytes.append(all: piece) }

  mutating func append(step: UInt32) {
    for place in 1...Self.stepBytes {
      bytes.append(UInt8(truncatingIfNeeded: step >> (8 * UInt32(Self.stepBytes - place))))
    }
  }
}

extension StillContent {
  /// Copies the file of a frame to where it is held.
  func hold(
    _ frame: borrowing PackedFrame, step: UInt32 = 0, in held: inout HeldStill,
    _ completer: inout JPEGCompleter
  ) {
    held.removeAll()
    try? withPieces(of: frame, &completer) { first, second, third in
      held.append(first)
      held.append(second)
      held.append(third)
    }
    held.append(step: step)
  }
}

extension PreRoll {
  /// Frames of that time, for requests that choose one of them.
  var forChoices: PreRoll {
    var kept = self
    kept.use = .choices
    kept.slack = max(slack, Self.slackOfChoices)
    return kept
  }

  /// Time for which frames are kept beyond the pre-roll, 500 ms: that much may pass from the asking until the
  /// next frame has come through the chain. Larger: longer chains, and more memory.
  private static let slackOfChoices = Duration.milliseconds(500)
}
