internal import SprocketCore

/// A frame's entry on the fate tape: its fate, and whether it found a free slot. Frames that are `corrupt` or
/// `startup` may be without one.
///
/// Keeps of the ring's contract:
/// - R10: `corrupt` and `startup` go before `overrun` at the chain's end; but who taps the source wants
///   such frames, and for it one without room is `overrun`.
struct TapeEntry {
  let fate: Fate
  let foundRoom: Bool

  init(_ fate: Fate, foundRoom: Bool = true) {
    self.fate = fate
    self.foundRoom = foundRoom && fate != .overrun
  }

  /// `nil` where the tape has nothing yet.
  init?(value: UInt8) {
    switch value {
    case 0: return nil
    case Self.corruptWithoutRoom: self.init(.corrupt, foundRoom: false)
    case Self.startupWithoutRoom: self.init(.startup, foundRoom: false)
    default:
      guard let fate = Fate(rawValue: value) else { return nil }
      self.init(fate)
    }
  }

  var value: UInt8 {
    guard !foundRoom else { return fate.rawValue }
    switch fate {
    case .corrupt: return Self.corruptWithoutRoom
    case .startup: return Self.startupWithoutRoom
    default: return fate.rawValue
    }
  }

  /// Behind the fates that there are; a tape has values up to 15.
  private static let corruptWithoutRoom: UInt8 = 14
  private static let startupWithoutRoom: UInt8 = 15

  /// The frame's fate for a sink at the chain's end, or for a sink that taps the source; `nil` if the sink
  /// itself decides it.
  func fate(atSource: Bool) -> Fate? {
    guard atSource else { return fate.isDecidedByChain ? fate : nil }
    return fate == .missing ? .missing : foundRoom ? nil : .overrun
  }

  /// The source's own mark, `corrupt` or `startup`; `nil` if the frame has none.
  var sourceFate: Fate? { fate == .corrupt || fate == .startup ? fate : nil }
}
