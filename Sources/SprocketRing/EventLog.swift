// The log of events: the latest 4,096, numbered from 0 in the order in which they were added.
//
// Contract (l1 to l4, as the tests are named)
//
//  l1. Only the source adds. It never waits: the newest entry overwrites the oldest.
//  l2. A reader gets an entry whole and as it was added, or nil once it was, or is being, written over.
//      It never gets a mixture of two.
//  l3. A thread that has seen a frame, through a cursor of the ring or on the fate tape, finds in the log
//      all that was added before that frame was published or marked.
//  l4. A reader that keeps a place of its own and reads from there up to `end`, or to an end that it was
//      given, gets each entry once and in order; the distance to `oldest` says how many it missed.
//
// An entry is five words: its stamp, which is 1 + its number, and four words of what was added. (The fate
// tape fits an entry into one word and needs no stamp; an event does not fit.)
//
// Memory order: acquire and release only, as on the tape.
//
//  - The writer stores the stamp 0 (release), the four words (each with release), the new stamp (release),
//    and then `end` (release). The reader loads the stamp (acquire), the four words (acquire), and the
//    stamp again (relaxed): the entry is whole if both times the stamp is the one of the number asked for.
//  - Why no fence is needed. If a word comes from a later lap, its load has acquired the stamp 0 that was
//    stored before it, so the second load of the stamp cannot find the old stamp any more: words of one
//    location are seen in the order in which they were stored. If a word were from an earlier lap, the
//    first load of the stamp, which acquires all four words stored before it, would not have found the
//    new stamp.
//  - l3: adding comes before publishing (the ring's `passed`, release) and before marking (the tape's
//    exchange), and the thread that saw the frame, by an acquire of those, loads `end` with acquire.

import Synchronization

/// The latest events of a run. Knows nothing of events: an entry is four words.
public final class EventLog: Sendable {
  /// Events that are kept. Larger: a reader that gets no frames for longer misses none, at 40 bytes each. Two
  /// for each of 2,048 frames, 34 s at 60 frames/s: more than a disk or a faulty cable takes to recover.
  public static let depth = 4096
  /// The four words of an entry, and its number.
  private static let wordsPerEntry = 5

  /// How many entries are kept. A power of two.
  public let depth: Int
  private let words: Table<Atomic<UInt64>>
  private let head = Atomic<UInt64>(0)

  /// A log of `depth` entries, rounded up to a power of two.
  public init(depth: Int = EventLog.depth) {
    precondition(depth >= 1 && depth <= 1 << 24, "A log keeps 1 to 16,777,216 entries")
    var capacity = 1
    while capacity < depth { capacity *= 2 }
    self.depth = capacity
    words = Table(count: capacity * Self.wordsPerEntry) { _ in Atomic(0) }
  }

  /// The number of the entry that comes next: those below it were added.
  public var end: UInt64 { head.load(ordering: .acquiring) }

  /// The oldest entry that is kept, as of now.
  public var oldest: UInt64 {
    let end = end
    return end > UInt64(depth) ? end - UInt64(depth) : 0
  }

  /// Adds an entry. For the source alone.
  public func add(_ entry: InlineArray<4, UInt64>) {
    let number = head.load(ordering: .relaxed)
    let place = place(of: number)
    words[place].store(0, ordering: .releasing)
    for index in 0..<4 { words[place + 1 + index].store(entry[index], ordering: .releasing) }
    words[place].store(number + 1, ordering: .releasing)
    head.store(number + 1, ordering: .releasing)
  }

  /// The entry of that number; nil if it was written over, or has not been added yet.
  public func entry(_ number: UInt64) -> InlineArray<4, UInt64>? {
    let place = place(of: number)
    guard words[place].load(ordering: .acquiring) == number + 1 else { return nil }
    let entry = InlineArray<4, UInt64> { words[place + 1 + $0].load(ordering: .acquiring) }
    return words[place].load(ordering: .relaxed) == number + 1 ? entry : nil
  }

  private func place(of number: UInt64) -> Int {
    Int(number & UInt64(depth - 1)) * Self.wordsPerEntry
  }
}
