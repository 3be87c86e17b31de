internal import Glibc

/// How long tests wait for what has to come. Larger: a failing test takes longer; one that passes does not,
/// since it waits for the event. Machines that are busy with other work take many times as long as others.
public let longestWait = Duration.seconds(60)

/// `longestWait` in nanoseconds.
public let longestWaitNanoseconds: Int64 = 60_000_000_000

/// Waits until the condition holds; false if it does not within `longestWait`.
@available(*, noasync, message: "await until { }")
public func waitUntil(_ holds: () -> Bool) -> Bool {
  let end = ContinuousClock.now + longestWait
  while ContinuousClock.now < end {
    if holds() { return true }
    usleep(500)
  }
  return holds()
}

/// Waits until the condition holds; false if it does not within `longestWait`. Blocks no thread meanwhile.
nonisolated(nonsending) public func until(_ holds: () async -> Bool) async -> Bool {
  let end = ContinuousClock.now + longestWait
  while ContinuousClock.now < end {
    if await holds() { return true }
    try? await Task.sleep(for: .milliseconds(5))
  }
  return await holds()
}
