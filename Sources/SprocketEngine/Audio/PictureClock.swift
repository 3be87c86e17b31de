internal import Synchronization

/// The capture time that a run's pictures have reached. Sound that is not live waits for it, so that it is
/// not read far ahead of the pictures. One thread advances the clock; any thread may wait.
final class PictureClock: Sendable {
  /// Capture time of the latest picture, in nanoseconds: the smallest number before the first one, and the
  /// largest one while there is nothing to wait for.
  private let latest = Atomic<Int64>(.max)
  /// The earliest time that is waited for.
  private let awaited = Atomic<Int64>(.max)
  private let wakes = FutexWord()

  /// From now on there are pictures to wait for.
  func begin() { latest.store(.min, ordering: .releasing) }

  /// There is nothing more to wait for.
  func end() {
    latest.store(.max, ordering: .releasing)
    wakes.advance()
  }

  /// Times that go back change nothing. Costs a system call only where the time is waited for.
  func advance(to time: Int64) {
    guard time > latest.load(ordering: .relaxed) else { return }
    // Both threads change this word (R7): either this one sees what is awaited, or that one sees `time`.
    _ = latest.exchange(time, ordering: .acquiringAndReleasing)
    guard time >= awaited.load(ordering: .relaxed) else { return }
    // Threads that wait for a later time wait again.
    awaited.store(.max, ordering: .relaxed)
    wakes.advance()
  }

  func hasReached(_ time: Int64) -> Bool { latest.load(ordering: .acquiring) >= time }

  /// Waits until the pictures have come to `time`. False if they have not by `deadline` (monotonic).
  func wait(for time: Int64, until deadline: Int64) -> Bool {
    if hasReached(time) { return true }
    while true {
      let seen = wakes.value
      awaited.min(time, ordering: .acquiringAndReleasing)
      let now = latest.wrappingAdd(0, ordering: .acquiringAndReleasing).newValue
      if now >= time { return true }
      guard wakes.wait(while: seen, until: deadline) else { return hasReached(time) }
    }
  }
}
