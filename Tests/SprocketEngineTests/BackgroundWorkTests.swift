import Glibc
import SprocketEngine
import Synchronization
import TestExpectations
import Testing

@Suite struct BackgroundWorkTests {
  struct Failure: Error {}

  @Test func resultsAndErrorsComeBack() throws {
    let work = try BackgroundWork("answer") { 42 }
    expectTrue(work.wait(for: longestWait))
    try expectEqual(work.take()?.get(), 42)
    let failing = try BackgroundWork("fail") { () throws -> Int in throw Failure() }
    expectTrue(failing.wait(for: longestWait))
    #expect(throws: Failure.self) { try failing.take()?.get() }
  }

  @Test func whatIsStuckCanBeLeft() throws {
    final class Gate: Sendable { let isOpen = Atomic<Bool>(false) }
    let gate = Gate()
    let work = try BackgroundWork("stuck") {
      while !gate.isOpen.load(ordering: .acquiring) { usleep(1000) }
    }
    expectFalse(work.wait(for: .milliseconds(20)))
    expectNil(work.take())
    gate.isOpen.store(true, ordering: .releasing)
    expectTrue(work.wait(for: longestWait))
    expectNotNil(work.take())
  }
}
