// The log of events: an entry is whole or gone, and a thread that has seen a frame finds its
// entries.

import SprocketRing
import Synchronization
import TestExpectations
import Testing

@Suite struct EventLogTests {
  private static func entry(_ number: UInt64) -> InlineArray<4, UInt64> {
    [number, number &* 3, ~number, number << 7]
  }

  private static func isWhole(_ entry: InlineArray<4, UInt64>, _ number: UInt64) -> Bool {
    let expected = Self.entry(number)
    return (0..<4).allSatisfy { entry[$0] == expected[$0] }
  }

  @Test func l1TheOldestEntryGivesWayToTheNewest() {
    let log = EventLog(depth: 4)
    expectTrue(log.end == 0 && log.oldest == 0 && log.entry(0) == nil)
    for number in 0..<6 as Range<UInt64> { log.add(Self.entry(number)) }
    expectEqual(log.end, 6)
    expectEqual(log.oldest, 2)
    expectTrue(log.entry(1) == nil && log.entry(6) == nil)
    for number in 2..<6 as Range<UInt64> {
      expectEqual(log.entry(number).map { Self.isWhole($0, number) }, true)
    }
  }

  /// A short log, so that readers are lapped all the time.
  @Test func l2AReaderGetsAnEntryWholeOrNotAtAll() {
    let log = EventLog(depth: 8)
    let count = stressed(100_000)
    let reads: @Sendable () -> [UInt64] = {
      var (found, torn, next) = (UInt64(0), UInt64(0), UInt64(0))
      while next < count {
        let end = log.end
        if next >= end { continue }
        if let entry = log.entry(next) {
          found += 1
          if !Self.isWhole(entry, next) { torn += 1 }
          next += 1
        } else {
          next = max(log.oldest, next + 1)
        }
      }
      return [found, torn]
    }
    let bodies: [@Sendable () -> [UInt64]] = [
      {
        for number in 0..<count { log.add(Self.entry(number)) }
        return []
      }, reads, reads,
    ]
    let results = runThreads(bodies)
    expectTrue(results[1][0] > 0 && results[2][0] > 0)
    expectTrue(results[1][1] == 0 && results[2][1] == 0)
  }

  /// What the ring and the tape do: a word is stored with release after the entry, and loaded with acquire.
  @Test func l3WhoLearnedOfAFrameFindsWhatWasAddedBeforeIt() {
    let log = EventLog(depth: 1024)
    let published = Atomic<UInt64>(0)
    let count = stressed(20_000)
    let bodies: [@Sendable () -> UInt64] = [
      {
        for number in 0..<count {
          log.add(Self.entry(number))
          published.store(number + 1, ordering: .releasing)
        }
        return 0
      },
      {
        var (late, seen) = (UInt64(0), UInt64(0))
        while seen < count {
          seen = published.load(ordering: .acquiring)
          if log.end < seen { late += 1 }
          // The entry must be readable until entry `seen - 1 + depth` is written over it.
          if seen > 0, log.entry(seen - 1) == nil, log.end < seen - 1 + UInt64(log.depth) {
            late += 1
          }
        }
        return late
      },
    ]
    expectEqual(runThreads(bodies)[1], 0)
  }

  @Test func l4APlaceOfItsOwnGetsEachEntryOnceAndInOrder() {
    let log = EventLog(depth: 1024)
    let count = stressed(50_000)
    let taken = Atomic<UInt64>(0)
    let bodies: [@Sendable () -> [UInt64]] = [
      {
        for number in 0..<count {
          // Never laps the reader.
          while number >= taken.load(ordering: .acquiring) + 1000 {}
          log.add(Self.entry(number))
        }
        return []
      },
      {
        var read: [UInt64] = []
        while read.count < count {
          while UInt64(read.count) < log.end, let entry = log.entry(UInt64(read.count)) {
            read.append(entry[0])
          }
          taken.store(UInt64(read.count), ordering: .releasing)
        }
        return read
      },
    ]
    expectEqual(runThreads(bodies)[1], Array(0..<count))
  }
}
