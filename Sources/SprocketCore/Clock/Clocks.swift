package import Glibc

// The one file that asks the clocks of the operating system. All in nanoseconds.

/// The present time of the monotonic clock (`CLOCK_MONOTONIC`), in nanoseconds. Costs no system
/// call.
public func monotonicNow() -> Int64 { time(of: CLOCK_MONOTONIC) }

/// The clock on the wall, since 1970.
package func wallClockNow() -> Int64 { time(of: CLOCK_REALTIME) }

/// CPU time that this process has used.
package func processCPUTime() -> Int64 { time(of: CLOCK_PROCESS_CPUTIME_ID) }

/// CPU time that the calling thread has used. Unlike the other clocks this one costs a system call.
package func threadCPUTime() -> Int64 { time(of: CLOCK_THREAD_CPUTIME_ID) }

/// Sleeps until a time of the monotonic clock, or until a signal arrives.
package func sleep(until nanoseconds: Int64) {
  var time = timespec(nanoseconds: nanoseconds)
  unsafe _ = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nil)
}

/// Time of a clock; 0 if the clock does not exist.
package func time(of clock: clockid_t) -> Int64 {
  var time = timespec()
  unsafe clock_gettime(clock, &time)
  return time.nanoseconds
}

#if arch(i386) || arch(arm)
  #error("Sprocket supports 64-bit systems only: elsewhere timespec has another layout")
#endif

/// Two words of 64 bits, seconds and nanoseconds. They are accessed by offset because Swift 6.3.1, with
/// optimisation, does not see the members of `timespec` unless the module's first file imports Glibc.
extension timespec {
  fileprivate init(nanoseconds: Int64) {
    self.init()
    unsafe withUnsafeMutableBytes(of: &self) { bytes in
      unsafe bytes.storeBytes(of: Int(nanoseconds / 1_000_000_000), as: Int.self)
      unsafe bytes.storeBytes(
        of: Int(nanoseconds % 1_000_000_000), toByteOffset: MemoryLayout<Int>.size, as: Int.self)
    }
  }

  fileprivate var nanoseconds: Int64 {
    unsafe withUnsafeBytes(of: self) { bytes in
      let seconds = unsafe bytes.load(as: Int.self)
      let rest = unsafe bytes.load(fromByteOffset: MemoryLayout<Int>.size, as: Int.self)
      return Int64(seconds) * 1_000_000_000 + Int64(rest)
    }
  }
}
