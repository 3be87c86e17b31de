/// Pairs the frames of two sources by their times. Allocates nothing after `init`.
///
/// A frame's partner is the frame of the other source that was captured nearest to it, within a tolerance. So
/// a pair is known when the earlier one's source has given its next frame.
struct PairMatcher {
  struct Item: Equatable {
    var number: UInt64
    /// Nanoseconds.
    var time: Int64
  }

  enum Outcome: Equatable {
    case pair(Item, Item)
    /// `side` is 0 for the first source, 1 for the second.
    case alone(side: Int, Item)
  }

  /// Frames of one source that wait for the other. Of more, the oldest is alone. Larger: a source may be
  /// later by so many frames, and takes 16 bytes for each.
  static let capacity = 1024

  /// Nanoseconds.
  private let tolerance: Int64
  /// The least time between frames of both sources that were too far apart, nanoseconds; the largest number
  /// without such.
  private(set) var leastMiss = Int64.max
  private var waiting = [Waiting(), Waiting()]

  init(tolerance: Int64) { self.tolerance = tolerance }

  /// Adds the next frame of a source. Call `next` until it returns `nil` after that.
  mutating func add(_ item: Item, side: Int) { waiting[side].append(item) }

  /// No frame of that source follows.
  mutating func end(side: Int) { waiting[side].isOver = true }

  /// Whether half of the frames that may wait for the other source do, and that one is not over.
  func isAhead(side: Int) -> Bool {
    waiting[side].count > Self.capacity / 2 && !waiting[1 - side].isOver
  }

  /// What is known by now, one at a time.
  mutating func next() -> Outcome? {
    guard let first = waiting[0].first, let second = waiting[1].first else {
      for side in 0...1 where !waiting[side].isEmpty && (waiting[1 - side].isOver || isFull(side)) {
        return .alone(side: side, waiting[side].removeFirst())
      }
      return nil
    }
    let distance = first.distance(to: second)
    let early = first.time <= second.time ? 0 : 1
    let late = early == 0 ? second : first
    guard distance <= tolerance else {
      leastMiss = min(leastMiss, distance)
      return .alone(side: early, waiting[early].removeFirst())
    }
    if let following = waiting[early].second {
      if following.distance(to: late) < distance {
        return .alone(side: early, waiting[early].removeFirst())
      }
    } else if !waiting[early].isOver, !isFull(1 - early) {
      return nil
    }
    return .pair(waiting[0].removeFirst(), waiting[1].removeFirst())
  }

  private func isFull(_ side: Int) -> Bool { waiting[side].count == Self.capacity }

  /// A queue of fixed size.
  private struct Waiting {
    private var items = [Item](repeating: Item(number: 0, time: 0), count: capacity)
    private var start = 0
    private(set) var count = 0
    var isOver = false

    var isEmpty: Bool { count == 0 }
    var first: Item? { count > 0 ? items[start] : nil }
    var second: Item? { count > 1 ? items[(start + 1) % capacity] : nil }

    mutating func append(_ item: Item) {
      precondition(count < capacity, "take the outcomes before the next frame is added")
      items[(start + count) % capacity] = item
      count += 1
    }

    mutating func removeFirst() -> Item {
      defer {
        start = (start + 1) % capacity
        count -= 1
      }
      return items[start]
    }
  }
}

extension PairMatcher.Item {
  /// Nanoseconds; the largest number where the difference has more than 63 bits.
  fileprivate func distance(to other: Self) -> Int64 {
    let (difference, overflow) = time.subtractingReportingOverflow(other.time)
    return overflow || difference == .min ? .max : abs(difference)
  }
}
