// How somebody who found nothing to do comes to wait, and how he is woken. The waiting itself, and
// the choice between parking and spinning, are the user's.

import Synchronization

/// The 32-bit word that tells of a cursor's moves. Each cursor has one.
public struct EventWord: Sendable {
  let ring: Ring
  let cursor: Int

  /// Where the word is: what futex(2) waits on and wakes. Valid as long as the ring.
  public var address: UnsafeRawPointer { unsafe ring.cursors.address(of: cursor) }
}

/// The right to park: there was nothing to do after the event word had been told of a waiter.
///
/// Wait in the kernel while the word at `event.address` equals `value`, with a bound; then ask
/// again. A flag that `interrupt` tells of is to be looked at between the two.
public struct WaitTicket: Sendable {
  public let event: EventWord
  public let value: UInt32
}

extension Ring {
  /// Says that the caller is about to park on a cursor. It has to look at the cursor once more
  /// before it does.
  func announce(_ cursor: Int) -> WaitTicket {
    let value = cursors[cursor].event.bitwiseOr(1, ordering: .acquiringAndReleasing).newValue
    return WaitTicket(event: EventWord(ring: self, cursor: cursor), value: value)
  }

  /// Wakes the threads that wait for a cursor. Called when the cursor or the end has moved, and by
  /// `wakeThread`.
  func signal(_ cursor: Int) {
    let before = cursors[cursor].event.wrappingAdd(2, ordering: .acquiringAndReleasing).oldValue
    guard before & 1 != 0 else { return }
    // Before the wake-up: who parks on the old value in between is turned away or woken.
    cursors[cursor].event.bitwiseAnd(~1, ordering: .acquiringAndReleasing)
    wake(EventWord(ring: self, cursor: cursor))
  }
}
