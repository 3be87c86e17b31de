/// What goes wrong with one frame. Several may.
package struct SceneFault: OptionSet, Sendable, Hashable {
  package let rawValue: UInt16
  package init(rawValue: UInt16) { self.rawValue = rawValue }

  /// Sequence numbers before this frame were never delivered.
  package static let drop = SceneFault(rawValue: 1)
  /// Structure broken: a marker or a segment's length (JPEG), or a short frame (raw).
  package static let corrupt = SceneFault(rawValue: 2)
  /// Cut off before its end.
  package static let truncate = SceneFault(rawValue: 4)
  /// The camera stood still before this frame.
  package static let stall = SceneFault(rawValue: 8)
  /// Handed over long after it was captured.
  package static let late = SceneFault(rawValue: 16)
  /// Its timestamp lies before its predecessor's.
  package static let backwards = SceneFault(rawValue: 32)
  /// The camera was unplugged before this frame and plugged in again.
  package static let unplug = SceneFault(rawValue: 64)
  /// Another size from this frame on.
  package static let formatChange = SceneFault(rawValue: 128)

  /// What breaks a frame's bytes, and what begins an epoch. (Set literals would allocate.)
  package static let damage = SceneFault(rawValue: corrupt.rawValue | truncate.rawValue)
  package static let epoch = SceneFault(rawValue: unplug.rawValue | formatChange.rawValue)

  /// All, with the names that settings and the truth file use.
  package static let named: [(fault: SceneFault, name: StaticString)] = [
    (.drop, "drop"), (.corrupt, "corrupt"), (.truncate, "truncate"), (.stall, "stall"),
    (.late, "late"), (.backwards, "backwards"), (.unplug, "unplug"),
    (.formatChange, "formatchange"),
  ]
}

/// What goes wrong when. Pure: a function of seed, probabilities and the frame's number; asking for
/// one frame never changes another.
package struct SceneFaults: Sendable {
  /// Probabilities per frame, 0...1, and how bad it gets.
  package struct Settings: Sendable, Hashable {
    package var drop = 0.0
    package var corrupt = 0.0
    package var truncate = 0.0
    package var stall = 0.0
    package var late = 0.0
    package var backwards = 0.0
    package var unplug = 0.0
    package var formatChange = 0.0
    /// The most sequence numbers that one drop loses, 1 or more.
    package var longestDrop = 3
    package var stallDuration = Duration.milliseconds(200)
    package var lateDuration = Duration.milliseconds(50)
    package var backwardsDuration = Duration.milliseconds(40)
    package var stamps = SceneStamps.good
    package var stampsAt = 0.0
    package var stampsFor = 0.0
    package var jitter = 0.0
    package var unplugDuration = Duration.milliseconds(500)

    package init() {}

    func probability(_ fault: SceneFault) -> Double {
      switch fault {
      case .drop: drop
      case .corrupt: corrupt
      case .truncate: truncate
      case .stall: stall
      case .late: late
      case .backwards: backwards
      case .unplug: unplug
      case .formatChange: formatChange
      default: 0
      }
    }
  }

  package let settings: Settings
  private let seed: UInt64

  package init(_ settings: Settings, seed: UInt64) {
    self.settings = settings
    self.seed = seed
  }

  /// The faults that are due at frame `number`.
  package func due(at number: UInt64) -> SceneFault {
    var faults = SceneFault()
    for bit in 0..<8 {
      let fault = SceneFault(rawValue: 1 << UInt16(bit))
      let probability = settings.probability(fault)
      guard probability > 0 else { continue }
      if draw(UInt16(bit), number) < probability { faults.insert(fault) }
    }
    return faults
  }

  /// How many sequence numbers are lost before frame `number`, if it has a `drop`.
  package func dropLength(at number: UInt64) -> UInt64 {
    let longest = Double(max(1, settings.longestDrop))
    return 1 + UInt64(draw(8, number) * longest)
  }

  /// Nanoseconds by which the hand-over of frame `number` is late.
  package func lateness(of number: UInt64) -> Int64 {
    settings.jitter > 0 ? Int64(draw(9, number) * settings.jitter * 1e6) : 0
  }

  /// Nanoseconds by which its stamp is off, if stamps jitter.
  package func stampError(of number: UInt64) -> Int64 {
    Int64((2 * draw(10, number) - 1) * settings.jitter * 1e6)
  }

  /// Uniform in 0..<1.
  private func draw(_ purpose: UInt16, _ number: UInt64) -> Double {
    var random = SceneRandom(
      seed: seed, stream: SceneStream.faults, index: number &* 16 &+ UInt64(purpose))
    return random.unit()
  }
}
