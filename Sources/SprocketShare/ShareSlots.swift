/// Counts of frames by the raw value of their `Fate`; those of `delivered` were shared.
package typealias FateTotals = InlineArray<12, UInt64>

/// What readers of every frame may still acknowledge.
struct ShareSlots {
  private var tickets = InlineArray<8, UInt64>(repeating: 0)
  /// By slot, frames in it that wait for a first acknowledgement.
  private var waiting = InlineArray<8, UInt64>(repeating: 0)
  /// Number of frames that waited for readers, and that no reader has acknowledged. Those whose readers have
  /// left stay among them.
  private(set) var unacknowledgedCount: UInt64 = 0

  /// `frames` is 0 where they do not wait for readers.
  mutating func fill(slot: Int, ticket: UInt64, waiting frames: Int) {
    tickets[slot] = ticket
    waiting[slot] = UInt64(frames)
    unacknowledgedCount += UInt64(frames)
  }

  /// What a reader that holds `held`, a bit for each slot, holds after it has acknowledged all notices up to
  /// `ticket`.
  mutating func held(_ held: UInt64, acknowledgedTo ticket: UInt64) -> UInt64 {
    var rest = held
    for slot in 0..<SharedMemory.mostSlots
    where held & 1 << UInt64(slot) != 0 && tickets[slot] <= ticket {
      rest &= ~(1 << UInt64(slot))
      unacknowledgedCount -= waiting[slot]
      waiting[slot] = 0
    }
    return rest
  }

  /// A bit for the slot of a ticket; 0 where another frame has taken it, or other memory.
  func bit(of ticket: UInt64) -> UInt64 {
    for slot in 0..<SharedMemory.mostSlots where tickets[slot] == ticket && ticket != 0 {
      return 1 << UInt64(slot)
    }
    return 0
  }

  /// Other slots take their place, of which none is filled.
  mutating func replace() {
    tickets = InlineArray(repeating: 0)
    waiting = InlineArray(repeating: 0)
  }
}
