// What the tests of the ring share: threads, parking, slots whose contents can be checked.

import CSprocketSystem
import Glibc
import SprocketRing
import Synchronization
import TestExpectations

/// How much longer than by default the stress tests are to run; SPROCKET_STRESS, may be below 1.
let stress = unsafe getenv("SPROCKET_STRESS").flatMap { unsafe Double(String(cString: $0)) } ?? 1

func stressed(_ count: Int) -> UInt64 { UInt64(max(1_000, Double(count) * stress)) }

/// A ring whose waiters are woken by futex.
func makeRing(depth: Int, lanes: [RingPlan.Lane], taps: [RingPlan.Tap] = []) -> Ring {
  makeRing(RingPlan(depth: depth, lanes: lanes, taps: taps))
}

func makeRing(_ plan: RingPlan) -> Ring {
  Ring(plan) { event in
    unsafe sprocket_futex_wake(event.address)
  }
}

/// Runs each body on a thread of its own, until all have returned; returns what they returned.
///
/// Results travel by `pthread_join` and not under a lock: ThreadSanitizer knows it, but does not
/// know `Mutex`.
func runThreads<Result: Sendable>(_ bodies: [@Sendable () -> Result]) -> [Result] {
  let works = bodies.map { body in ThreadWork { $0.result = body() } }
  let threads = works.map { work in
    var thread = pthread_t()
    let result = unsafe pthread_create(
      &thread, nil,
      { argument in
        let work = unsafe Unmanaged<ThreadWork>.fromOpaque(argument!).takeUnretainedValue()
        work.body(work)
        return nil
      }, Unmanaged.passUnretained(work).toOpaque())
    precondition(result == 0, "No thread could be started")
    return thread
  }
  for thread in threads { pthread_join(thread, nil) }
  return works.map { work in
    guard let result = work.result as? Result else { preconditionFailure("A thread left nothing") }
    return result
  }
}

/// What a thread is to do, and what came of it. `@unchecked`: the thread alone touches it, until it
/// has been joined.
private final class ThreadWork: @unchecked Sendable {
  let body: (ThreadWork) -> Void
  var result: Any?
  init(_ body: @escaping (ThreadWork) -> Void) { self.body = body }
}

/// Spins, then parks as the engine does, and notices when a wake-up was lost: the wait runs into its
/// bound, and yet there is something to do.
struct Parker {
  static let boundNanoseconds = longestWaitNanoseconds
  /// How often to ask again before parking.
  let patience: Int
  private var asked = 0
  private var ranIntoBound = false
  private(set) var lostWakeUps = 0
  private(set) var parks = 0

  init(patience: Int) { self.patience = patience }

  mutating func wait(_ prepare: () -> WaitTicket?) {
    asked += 1
    guard asked > patience, let ticket = prepare() else { return }
    parks += 1
    let result = unsafe sprocket_futex_wait(
      ticket.event.address, ticket.value, Self.boundNanoseconds)
    ranIntoBound = result == -ETIMEDOUT
  }

  mutating func foundSomethingToDo() {
    if ranIntoBound { lostWakeUps += 1 }
    ranIntoBound = false
    asked = 0
  }
}

/// Slots of plain memory, so that ThreadSanitizer sees every access that the ring does not order.
@safe final class Slots: @unchecked Sendable {
  // `@unchecked`: that the ring orders all accesses is what the tests are about.
  private static let contentWords = 8
  private let laneCount: Int
  private let words: UnsafeMutablePointer<UInt64>

  init(_ plan: RingPlan) {
    laneCount = plan.lanes.count
    let count = plan.slotCount * (Self.contentWords + laneCount)
    unsafe words = .allocate(capacity: count)
    unsafe words.initialize(repeating: .max, count: count)
  }

  deinit { unsafe words.deallocate() }

  private func first(_ slot: Int) -> UnsafeMutablePointer<UInt64> {
    unsafe words + slot * (Self.contentWords + laneCount)
  }

  func fill(_ slot: Int, _ sequence: UInt64) {
    let first = unsafe first(slot)
    for index in 0..<Self.contentWords {
      unsafe first[index] = sequence &* 0x9E37_79B9_7F4A_7C15 &+ UInt64(index)
    }
  }

  func isIntact(_ slot: Int, _ sequence: UInt64) -> Bool {
    let first = unsafe first(slot)
    var isIntact = true
    for index in 0..<Self.contentWords {
      isIntact =
        unsafe isIntact && first[index] == sequence &* 0x9E37_79B9_7F4A_7C15 &+ UInt64(index)
    }
    return isIntact
  }

  /// Leaves a lane's mark.
  func sign(_ slot: Int, lane: Int, _ sequence: UInt64) {
    unsafe first(slot)[Self.contentWords + lane] = sequence
  }

  func isSigned(_ slot: Int, lane: Int, _ sequence: UInt64) -> Bool {
    unsafe first(slot)[Self.contentWords + lane] == sequence
  }
}

/// A small random generator, each thread its own: the same numbers in every run.
struct Dice: RandomNumberGenerator {
  private var state: UInt64
  init(seed: Int) { state = UInt64(seed) &* 2_862_933_555_777_941_757 &+ 3_037_000_493 }

  mutating func next() -> UInt64 {
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    return state
  }

  /// Does nothing for a while, in one of `oneIn` cases.
  mutating func dawdle(oneIn: UInt64) {
    let roll = next()
    guard roll % oneIn == 0 else { return }
    if roll >> 32 & 7 == 0 {
      sched_yield()
    } else {
      for _ in 0..<(roll >> 40 & 0x3F) { spinHint() }
    }
  }
}

@inline(never) func spinHint() {}
