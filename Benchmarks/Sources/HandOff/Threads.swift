// Threads, clocks and waiting: the little of them that the measurement needs.

import CSprocketSystem
import Glibc
import SprocketRing
import Synchronization

/// A thread that runs `body` and is joined once.
struct Thread {
  private let handle: pthread_t

  private final class Body {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
  }

  init(_ body: @escaping @Sendable () -> Void) {
    var handle = pthread_t()
    let box = unsafe Unmanaged.passRetained(Body(body)).toOpaque()
    let result = unsafe pthread_create(
      &handle, nil,
      { argument in
        guard let argument = unsafe argument else { return nil }
        unsafe Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run()
        return nil
      }, box)
    precondition(result == 0, "pthread_create failed with error \(result)")
    self.handle = handle
  }

  func join() { pthread_join(handle, nil) }
}

/// Nanoseconds on one of Linux's clocks.
func nanoseconds(_ clock: clockid_t) -> Int64 {
  var time = timespec()
  unsafe clock_gettime(clock, &time)
  return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}

/// Calls `publish` with the numbers of `frames` frames, at `rate` frames per second; 0 is as fast as
/// it goes.
func paced(frames: Int, rate: Double, publish: (Int) -> Void) {
  let start = nanoseconds(CLOCK_MONOTONIC) + 1_000_000
  for number in 0..<frames {
    if rate > 0 { sleep(until: start + Int64(Double(number) * 1e9 / rate)) }
    publish(number)
  }
}

/// `due` is on the monotonic clock, nanoseconds.
func sleep(until due: Int64) {
  var time = timespec(tv_sec: Int(due / 1_000_000_000), tv_nsec: Int(due % 1_000_000_000))
  unsafe clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nil)
}
