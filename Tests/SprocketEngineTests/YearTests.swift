import CSprocketAllocations
import Glibc
import SprocketCore
import SprocketEngine
import TestExpectations
import Testing

/// Recordings of a run of a year. `SPROCKET_RECORDINGS` sets their number: 500,000 is about one per minute
/// for a year; the default is 6,000.
@Suite(.timeLimit(.minutes(60)))
struct YearTests {
  static let wanted = unsafe getenv("SPROCKET_RECORDINGS").flatMap {
    unsafe Int(String(cString: $0))
  }
  static var count: Int { wanted ?? 6_000 }

  /// Memory, and allocations per recording, stay the same after the first half: by then the lists of the
  /// latest records are full. Memory is that of the process, and looked at only where a number of recordings
  /// is set: `make long` then runs this test alone.
  @Test func recordingsOfAYearTakeBoundedMemory() throws {
    let source = ScriptedSource([.frame(sequence: 0)], repeats: true)
    var measured: [(resident: Int, asked: Int)] = []
    let summary = try run(
      source, sinks: [Forgetful()],
      during: { engine in
        var mark = engine.newsMark
        for part in 0..<6 {
          let before = sprocket_allocation_count()
          for number in 0..<Self.count / 6 { record(engine, "\(part)-\(number)", &mark) }
          measured.append((resident(), sprocket_allocation_count() - before))
        }
        engine.stop()
      })
    expectEmpty(summary.errors)
    let (early, late) = (measured[2], measured[5])
    // The bound covers memory that the allocator, or a sanitizer, keeps for itself.
    if Self.wanted != nil { expectLess(late.resident - early.resident, 32 << 20) }
    expectAtMost(late.asked, early.asked + early.asked / 10)
  }

  /// Starts a recording, asks for a further file, and stops it.
  private func record(_ engine: Engine, _ path: String, _ mark: inout NewsMark) {
    do {
      let id = try engine.ask([.record(sink: "forgetful", path: path)])[0]
      try engine.ask([.next(id, path: nil)])
      try engine.ask([.stop(id)])
    } catch {
      Issue.record(error)
    }
    expectTrue(waitUntil { engine.busySinks.isEmpty })
    _ = engine.news(since: &mark)
  }

  /// Bytes of this process in memory.
  private func resident() -> Int {
    let text = kernelText("/proc/self/statm") ?? ""
    return (text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) * 4096
  }
}

/// Records into files that keep nothing.
///
/// Unchecked: it has no state.
private final class Forgetful: Recorder, @unchecked Sendable {
  let name = "forgetful"
  let isOnDemand = true

  func configure(_ setup: inout SinkSetup) {}
  func prepare(_ order: RecordingOrder) -> any RecordingFile {
    File(order.path.map { "\($0)-\(order.index)" } ?? "\(order.index)")
  }
  func begin(_ file: any RecordingFile) {}
  func end(before next: Timestamp?) {}
  var fitsFile: Bool { true }
  func write(_ frame: borrowing PackedFrame) {}

  private final class File: RecordingFile {
    let path: String
    init(_ path: String) { self.path = path }
    let byteCount: UInt64 = 0
    let durableCount = UInt64.max
    let freeByteCount: UInt64? = nil
    func finish() {}
    func abandon() {}
  }
}
