import Glibc
import SprocketEngine
import Synchronization
import Testing

@Suite struct BackgroundWorkTests {
  struct Failure: Error {}

  @Test func resultsAndErrorsComeBack() throws {
    let work = try BackgroundWork("answer") { 42 }
    #expect(work.wait(for: .seconds(60)))
    #expect(try work.take()?.get() == 42)
    let failing = try BackgroundWork("fail") { () throws -> Int in throw Failure() }
    #expect(failing.wait(for: .seconds(60)))
    #expect(throws: Failure.self) { try failing.take()?.get() }
  }

  @Test func whatIsStuckCanBeLeft() throws {
    final class Gate: Sendable { let isOpen = Atomic<Bool>(false) }
    let gate = Gate()
    let work = try BackgroundWork("stuck") {
      while !gate.isOpen.load(ordering: .acquiring) { usleep(1000) }
    }
    #expect(!work.wait(for: .milliseconds(20)))
    #expect(work.take() == nil)
    gate.isOpen.store(true, ordering: .releasing)
    #expect(work.wait(for: .seconds(60)))
    #expect(work.take() != nil)
  }
}
