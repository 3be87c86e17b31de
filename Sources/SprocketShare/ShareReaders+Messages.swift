internal import SprocketCore

// Messages of readers.

extension ShareReaders {
  /// False for what is no message of a reader.
  func hear(_ first: UInt64, _ second: UInt64, from reader: inout ShareReader) -> Bool {
    guard let takesEvery = reader.takesEvery else {
      guard first == ShareHello.magic, second <= 2 else { return false }
      reader.takesEvery = second == 1 || second == 2 && self.takesEvery
      sendLayout(to: &reader)
      return true
    }
    // Only a reader of every frame acknowledges, and only tickets that it has been sent.
    guard takesEvery, second <= reader.lastSent else { return false }
    var held = reader.held
    switch first {
    case ShareHello.acknowledgement:
      held = slots.held(held, acknowledgedTo: second) | reader.kept
    case ShareHello.hold:
      reader.kept |= slots.bit(of: second) & held
      // Two slots stay for the writer.
      guard keepsSlots, reader.kept.nonzeroBitCount <= slotCount - 2 else { return false }
    case ShareHello.release:
      // The ticket has no slot if the memory was replaced since then.
      let bit = slots.bit(of: second) & reader.kept
      (held, reader.kept) = (held & ~bit, reader.kept & ~bit)
    default: return false
    }
    if held != reader.held { reader.progressed = monotonicNow() }
    reader.held = held
    return true
  }
}
