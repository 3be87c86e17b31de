import Glibc
import SprocketTesting
import Synchronization
import TestExpectations
import TestSupport
import Testing

/// Frames in shared memory, and the programs that read them.
@Suite(.serialized) struct ShareTests {
  /// One reader's way, by chance.
  private struct Habit {
    let every: Bool
    /// Packets after which it goes; `.max` for never.
    let leavesAfter: Int
    /// Microseconds for which it does something else after a packet.
    let pause: UInt32
    let lies: Bool

    init(_ random: inout TestRandom) {
      every = Bool.random(using: &random)
      leavesAfter = Bool.random(using: &random) ? .max : Int.random(in: 0...20, using: &random)
      pause = [0, 0, 200, 3_000].randomElement(using: &random)!
      lies = Int.random(in: 0...9, using: &random) == 0
    }
  }

  private struct Account {
    var isBalanced = true
    var isTorn = false
    var seen: UInt64 = 0
    var every = false
    var saw: [UInt64] = []
    var acknowledged: [UInt64] = []
    var isRefused = false
    var hasLeft = false
    var lied = false
  }

  private static func path() -> String {
    "/tmp/sprocket-share-\(getpid())-\(UInt64.random(in: 0 ... .max))"
  }

  /// Reads until the share ends, or as its habit is.
  private static func read(_ path: String, _ habit: Habit) -> Account {
    var account = Account()
    account.every = habit.every
    guard let reader = ShareReader(path: path, every: habit.every) else { return account }
    var packets = 0
    loop: while packets < habit.leavesAfter {
      switch reader.receive() {
      case .layout: continue
      case .end: break loop
      case .frames(let notice):
        packets += 1
        let frames = reader.read(notice)
        if let frames {
          for frame in frames {
            account.saw.append(frame.number)
            let level = UInt8(truncatingIfNeeded: frame.number)
            if !frame.pixels.allSatisfy({ $0 == level }) { account.isTorn = true }
          }
        } else if habit.every {
          account.isTorn = true
        }
        if habit.pause > 0 { usleep(habit.pause) }
        if habit.lies, packets == 3 {
          reader.acknowledge(notice.ticket + 1_000_000)
          account.lied = true
        }
        if habit.every {
          reader.acknowledge(notice.ticket)
          account.acknowledged += (frames ?? []).map(\.number)
        }
      }
    }
    account.hasLeft = packets == habit.leavesAfter
    account.isBalanced = reader.finish()
    account.isRefused = reader.isRefused
    account.seen = reader.seen
    return account
  }

  /// Readers of every kind at once. What each has seen and missed is what was shared while it was there,
  /// nothing is torn, and who takes every frame of a source that waits misses none. Where frames wait, those
  /// that a reader acknowledged are delivered, and no others.
  @Test(arguments: 1...24) func whatReadersSeeAndMissIsWhatWasShared(_ seed: Int) throws {
    var random = TestRandom(seed: UInt64(seed))
    let path = Self.path()
    var settings = ShareSettings()
    settings.layout = .gray
    settings.batch = [1, 1, 3].randomElement(using: &random)!
    settings.take = [nil, .latest, .every].randomElement(using: &random)!
    settings.patience = .seconds(1)
    let habits = (0..<Int.random(in: 1...4, using: &random)).map { _ in Habit(&random) }
    let sink = try ShareSink(named: path, settings)
    let frames = (0..<120).map { number in
      TestFrame(width: 64, height: 48, luma: [UInt8](repeating: UInt8(number), count: 64 * 48))
    }
    let engine = try Engine(
      source: TestCamera(frames), sinks: [sink], options: RunOptions(workers: 2))
    let works = try habits.map { habit in
      try BackgroundWork<Account>("reader") { Self.read(path, habit) }
    }
    // Those who wait for the first frame are there before it.
    usleep(20_000)
    try engine.start()
    expectTrue(engine.wait(for: longestWait))
    let accounts = try works.map { work in
      expectTrue(work.wait(for: longestWait))
      return try #require(work.take()).get()
    }
    let delivered = engine.summary.ledger.entries[0].counts[.delivered]
    for account in accounts {
      expectTrue(account.isBalanced)
      expectFalse(account.isTorn)
      expectEqual(account.saw, account.saw.sorted())
      if account.every, settings.take != .latest, !account.hasLeft, !account.lied,
        accounts.count == 1
      {
        expectEqual(account.seen, delivered)
      }
    }
    if settings.take != .latest {
      let acknowledged = Set(accounts.flatMap(\.acknowledged))
      // What a reader says after it was disconnected is not heard.
      let isHeard = !accounts.contains { $0.isRefused || $0.lied }
      expectTrue(isHeard ? delivered == acknowledged.count : delivered <= acknowledged.count)
    }
    expectTrue(engine.summary.ledger.isBalanced)
    expectFalse(ShareReader.exists(path), "the name is removed")
  }
}
