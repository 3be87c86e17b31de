public import SprocketCore
internal import SprocketRing

/// How a thread waits for a cursor to move.
public enum WaitStrategy: String, SettingValue, CaseIterable {
  /// In the kernel, at once: no CPU while idle, a few microseconds to wake up.
  case park
  /// Looks again and again for some microseconds, then in the kernel.
  case spinPark = "spin-park"
  /// Never in the kernel: the lowest latency, a core per thread.
  case spin
}

/// One thread's waiting, between two frames (R7): not in the ring, chosen per run, with a bound.
struct Waiter {
  /// Longest time parked, in nanoseconds. A moving cursor always wakes the thread, but a request to stop may
  /// not. Larger: fewer wake-ups of an idle thread, later stops.
  static let boundNanoseconds: Int64 = 50_000_000
  /// Looks before parking in `spinPark`, some 20 microseconds. Larger: fewer parks, more CPU time.
  static let spins = 400

  let strategy: WaitStrategy
  private var spun = 0

  init(_ strategy: WaitStrategy) { self.strategy = strategy }

  /// There was something to do.
  mutating func reset() { spun = 0 }

  /// There was nothing to do. True when it is worth looking again, without parking.
  mutating func spinsOn() -> Bool {
    switch strategy {
    case .park: return false
    case .spinPark where spun >= Self.spins: return false
    case .spin where spun >= Self.spins:
      yieldProcessor()
      return true
    default:
      spun += 1
      spinPause()
      return true
    }
  }

  /// Longest time parked of a thread that wants no frame, 60 s in nanoseconds. Requests, `Ring.interrupt` and
  /// the ring's end wake it earlier. Larger: fewer wake-ups.
  static let idleNanoseconds: Int64 = 60_000_000_000

  /// Waits in the kernel until the cursor has moved; with a bound. No ticket: it has already.
  mutating func park(_ ticket: WaitTicket?) { park(ticket, bound: Self.boundNanoseconds) }

  /// Waits like `park`, for a thread that wants no frame.
  mutating func parkIdle(_ ticket: WaitTicket?) { park(ticket, bound: Self.idleNanoseconds) }

  /// Waits like `park`, at most until `end` on the monotonic clock.
  mutating func park(_ ticket: WaitTicket?, until end: Int64) {
    park(ticket, bound: min(max(end.clampedDifference(monotonicNow()), 0), Self.boundNanoseconds))
  }

  /// Waits like `park`, for `bound` nanoseconds at most.
  mutating func park(_ ticket: WaitTicket?, bound: Int64) {
    guard let ticket else { return }
    unsafe futexWait(ticket.event.address, ticket.value, nanoseconds: bound)
    spun = 0
  }
}
