// This folder sorts before the module's others: with optimisation, Swift 6.3.1 does not see the members of
// `timespec` unless the first file of the module imports Glibc.

package import Glibc

// The one file that asks the clocks of the operating system. All in nanoseconds.

/// The monotonic clock.
public func monotonicNow() -> Int64 { time(of: CLOCK_MONOTONIC) }

/// The clock on the wall, since 1970.
package func wallClockNow() -> Int64 { time(of: CLOCK_REALTIME) }

/// CPU time that this process has used.
package func processCPUTime() -> Int64 { time(of: CLOCK_PROCESS_CPUTIME_ID) }

/// CPU time that the calling thread has used. Unlike the other clocks this one costs a system call.
package func threadCPUTime() -> Int64 { time(of: CLOCK_THREAD_CPUTIME_ID) }

/// Sleeps until a time of the monotonic clock, or until a signal arrives.
package func sleep(until nanoseconds: Int64) {
  var time = timespec(
    tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
  unsafe _ = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nil)
}

/// Time of a clock; 0 if the clock does not exist.
package func time(of clock: clockid_t) -> Int64 {
  var time = timespec()
  unsafe clock_gettime(clock, &time)
  return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}
