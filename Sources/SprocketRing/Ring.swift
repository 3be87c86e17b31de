// The ring: positions that hold slot numbers, cursors that pass over them, pins that keep a slot.
//
// Contract. The numbers are those of R1 to R9 in ARCHITECTURE.md, which apply it to the engine.
//
//  1. A cursor's `passed` only grows. All sequences below it have passed; the source's is the
//     number of sequences published. Each cursor has one writer at a time.
//  2. A worker takes s when the lane before has passed min(s + 1 + lookahead, end).
//  3. The source claims s when every lane has passed more than s - depth + history, and every
//     gating tap more than s - depth. So nothing that a lane or a gating tap may still look at,
//     look-ahead and history included, is overwritten. Where a lane has a `lead`, the source claims s
//     only when the lane has passed more than s - lead - the look-ahead up to it: as the lane needs no
//     more than that look-ahead published to take a sequence, source and lane never wait for each
//     other at once.
//  4. Each sequence is held by one slot, and the newest `depth` of them by different ones. The rest,
//     one for each tap that does not gate, are the producer's idle slots.
//  5. Once a tap that does not gate has pinned a slot, its contents are stable until the release.
//     The producer never waits for it: meeting a pinned slot, it takes an idle one instead. One is
//     always free. Proof: a slot is idle and pinned only because of a pin that was there when the
//     producer reclaimed it, since none is added after that. A tap pins one slot at a time, so each
//     tap keeps at most one slot busy, be it idle or the one just met. If the one just met is
//     pinned, at most spares - 1 idle slots are.
//  6. `end` is written once. Lanes and taps drain to it, then say so. A ring lives for one epoch,
//     so history and look-ahead never cross from one to the next.
//  7. A tap can park if its plan allows it. While it is parked, the producer ignores its cursor, and new
//     frames do not wake its thread. Only the producer can end the parking, by `wake`: the tap then continues
//     with the next sequence that is published, and gets every later one. A tap looks for requests before it
//     parks; `park` fails if the producer has called `wake` since then.
//  8. The ring never waits. If there is nothing to do, lanes and taps get `.wait`, and the producer gets nil.
//     The caller then asks for a `WaitTicket`. If it gets one, it waits in the kernel; then it asks again.
//
// Memory order: acquire and release only; no fences, nothing sequentially consistent
//
//  - Contents. A writer fills a slot, then stores `passed` (release); the reader loads that `passed`
//    (acquire). In a parallel lane the chain is: worker stores its done mark (release), the
//    advancing worker loads it (acquire) and stores `passed` (release).
//  - Reuse. The producer loads `passed` of all that gate (acquire) before it overwrites a slot; they
//    stored it (release) after their last look.
//  - Positions need no order for those who are gated: `passed` brings it. A tap that may be lapped can
//    read a later lap's slot number, which the generation unmasks; positions are stored with release
//    and loaded with acquire so that it then knows how far the source has come.
//  - What taps have passed. A tap that does not gate stores its cursor too (release, after its last
//    look): whoever loads it (acquire) may free what only those who passed it were looking at.
//    Nobody waits for such a cursor, so it has no event word to be added to.
//  - Pin against reclaim. Both are read-modify-writes of the slot's pin word, so one of them comes
//    first: either the producer's `or` sees the pin, or the pin sees the reclaimed bit. The unpin
//    releases and the producer's look at an empty word acquires, so reads end before writes begin.
//    The pin also *releases*: the producer that meets it must know of the same tap's earlier unpin,
//    or the proof in 5 would not hold on a machine that reorders stores.
//  - A tap that finds itself lapped has acquired that position, the producer's `or`, or the slot's
//    new generation (all release), so the `passed` of the source that it loads next is at least
//    s + depth.
//  - Parking. The waker stores `passed`, then adds to the event word; the waiter sets the event
//    word's bit, then loads `passed` again. Both are read-modify-writes (acquire and release) of one
//    word: if the waker's comes first, the waiter sees the cursor; if the waiter's comes first, the
//    waker sees the bit and calls `wake`, and the kernel's comparison of the word closes the rest.
//  - Parking a tap. The tap reads its state word, looks for new requests (outside the ring), and parks by a
//    compare-and-swap from the value that it read. The producer stores a request before it changes the
//    word. All changes of the word are read-modify-writes (acquire and release), so they have one order: if
//    the producer's change is first, the swap fails, and the tap looks again; if the swap is first, the
//    producer finds the tap parked. While a tap is parked, the producer writes the tap's cursor, and it does
//    so before it clears the bit that lets the tap continue. The tap reads slots before its swap, and the
//    producer acquires the word before it ignores the tap's cursor, so reads end before writes begin.
//  - Passing the baton in a parallel lane. A finishing worker stores its mark, then adds 1 to
//    `pending`; the one who found 0 moves the cursor and leaves by exchanging what it saw for 0. All
//    are read-modify-writes of one word: a mark is seen by the one who is scanning, or its owner
//    found 0 and scans itself.

import Synchronization

/// A lock-free ring of positions; each holds the number of a slot.
///
/// The ring owns no frames: slot numbers run from 0 to `slotCount` - 1, and what a slot is made of
/// is its user's affair. The user makes each role once (a worker per thread) and moves it to its
/// thread. Nothing is allocated after that.
public final class Ring: Sendable {
  public let plan: RingPlan
  public var slotCount: Int { plan.slotCount }

  /// The source's, the lanes', the taps'.
  let cursors: Table<Cursor>
  let contests: Table<Contest>
  /// Per lane and position: 1 + the sequence that was last finished there.
  let marks: Table<Atomic<UInt64>>
  let positions: Table<Atomic<Int>>
  let pins: Table<Atomic<UInt64>>
  /// One word: the end of the epoch, the largest number while that is not known.
  let ending: Table<LoneWord>
  let takenProducers = Atomic<Int>(0)
  let takenWorkers: Table<Atomic<Int>>
  let takenReaders: Table<Atomic<Int>>
  /// Per tap: bit 0 says that it is parked; the rest counts, in steps of 2, how often it was asked.
  let tapStates: Table<LoneWord>
  /// Positions are a power of two, at least `depth`.
  let mask: UInt64
  let wake: @Sendable (EventWord) -> Void

  /// Makes a ring, and traps if the plan cannot work.
  ///
  /// The ring calls `wake` when threads may be parked on that event word's address. `wake` has to wake all of
  /// them (futex). It runs on the thread that moved the cursor, or that called `wakeThread`.
  public init(_ plan: RingPlan, wake: @escaping @Sendable (EventWord) -> Void) {
    plan.validate()
    var capacity = 1
    while capacity < plan.depth { capacity *= 2 }
    self.plan = plan
    self.wake = wake
    mask = UInt64(capacity - 1)
    let lanes = plan.lanes.count
    cursors = Table(count: 1 + lanes + plan.taps.count) { _ in Cursor() }
    contests = Table(count: lanes) { _ in Contest() }
    marks = Table(count: lanes * capacity) { _ in Atomic(0) }
    positions = Table(count: capacity) { _ in Atomic(0) }
    pins = Table(count: plan.slotCount) { _ in Atomic(PinWord.reclaimed) }
    ending = Table(count: 1) { _ in LoneWord(.max) }
    takenWorkers = Table(count: lanes) { _ in Atomic(0) }
    takenReaders = Table(count: plan.taps.count) { _ in Atomic(0) }
    tapStates = Table(count: plan.taps.count) { _ in LoneWord(0) }
  }

  /// All sequences below it have passed this cursor.
  public func passed(_ upstream: RingPlan.Upstream) -> UInt64 {
    passed(cursor: upstream.cursor)
  }

  /// The reader of this tap will not look at anything below it any more. For a tap that may park, the
  /// producer's thread alone may ask, since only that thread ends the parking.
  public func passed(tap: RingPlan.TapIndex) -> UInt64 {
    isParked(tap: tap.place) ? .max : passed(cursor: cursor(ofTap: tap.place))
  }

  /// The slot that holds `sequence`, which the caller's own cursor must guard: a worker that holds s
  /// may ask for s - history ... s + lookahead. Traps if the sequence is not there any more.
  public func slot(at sequence: UInt64) -> Int {
    let slot = position(of: sequence)
    precondition(
      PinWord.holds(pins[slot].load(ordering: .relaxed), sequence),
      "Sequence \(sequence) is not in the ring: ask within the lane's history and look-ahead")
    return slot
  }

  /// Wakes everybody who is parked, for instance because the run is to stop at once.
  ///
  /// Set the flag that they are to see first (release); they look at it once they hold a ticket.
  public func interrupt() {
    for cursor in 0..<cursors.count { signal(cursor) }
  }

  /// Wakes the thread that waits for a parked tap, because of something outside the ring; the tap stays
  /// parked. From any thread.
  public func wakeThread(ofTap tap: RingPlan.TapIndex) { signal(cursor(ofTap: tap.place)) }

  func cursor(ofTap tap: Int) -> Int { 1 + plan.lanes.count + tap }

  func passed(cursor: Int) -> UInt64 { cursors[cursor].passed.load(ordering: .acquiring) }

  func isParked(tap: Int) -> Bool {
    tapStates[tap].word.load(ordering: .acquiring) & Self.parked != 0
  }

  /// Bit of a tap's state word.
  static let parked: UInt64 = 1

  /// The end of the epoch, or the largest number.
  var end: UInt64 { ending[0].word.load(ordering: .acquiring) }

  func position(of sequence: UInt64) -> Int {
    positions[Int(sequence & mask)].load(ordering: .acquiring)
  }

  /// Moves a cursor and wakes who waits for it. For the cursor's writer only.
  func advance(_ cursor: Int, to passed: UInt64) {
    cursors[cursor].passed.store(passed, ordering: .releasing)
    signal(cursor)
  }

}
