import SprocketCore
import SprocketSources
import TestExpectations
import TestSupport
import Testing

@Suite(.enabled(if: Tool.hasFFmpeg)) struct FilePaceTests {
  private func open(_ path: String) throws -> FileSource {
    let values = ["pace": "real"]
    let source = try FileSource.kind.make(argument: path, values: values)
    return try #require(source as? FileSource)
  }

  @Test func atRealPaceFramesComeWhenTheyAreDue() throws {
    let clips = try Scratch()
    let path = try clips.make("clip.mp4", rate: 50, frames: 12, ["-c:v", "mpeg4"])
    let source = try open(path)
    let description = try source.open()
    defer { source.close() }
    expectTrue(description.isLive)
    expectEqual(description.clock, .monotonic)
    let clock = ContinuousClock()
    let start = clock.now
    var captured: [Int64] = []
    var empty = 0
    while true {
      let arrival = try source.next(timeout: 5_000_000)
      if case .nothing = arrival { empty += 1 }
      if case .frame(let frame) = arrival {
        expectEqual(frame.captured.clock, .monotonic)
        expectAtLeast(clock.now - start, .milliseconds(20 * captured.count - 1))
        captured.append(frame.captured.nanoseconds)
        source.discard()
      }
      if case .end = arrival { break }
    }
    expectEqual(captured.count, 12)
    // A frame comes each 20 ms: whoever waits for 5 ms at most gets none in between.
    expectGreater(empty, 0)
    let steps = zip(captured, captured.dropFirst()).map { $1 - $0 }
    expectEqual(steps, [Int64](repeating: 20_000_000, count: 11))
  }

  @Test func aFrameThatIsTakenLateKeepsTheTimeAtWhichItWasDue() throws {
    let clips = try Scratch()
    let source = try open(
      try clips.make("clip.mp4", rate: 100, frames: 3, ["-c:v", "mpeg4"]))
    _ = try source.open()
    defer { source.close() }
    var captured: [Int64] = []
    for _ in 0..<3 {
      guard case .frame(let frame) = try source.next(timeout: longestWaitNanoseconds) else { break }
      captured.append(frame.captured.nanoseconds)
      source.discard()
      // Longer than the clip.
      let until = ContinuousClock().now + .milliseconds(60)
      while ContinuousClock().now < until {}
    }
    expectTrue(captured.count == 3 && captured[2] - captured[0] == 20_000_000)
  }

  @Test func settingsAreToldAndChecked() throws {
    expectTrue(builtinSources.map(\.name).contains("file"))
    expectEqual(builtinSources.map(\.name), builtinSources.map(\.name).sorted())
    expectEqual(
      FileSource.kind.settings.map(\.name), ["path", "pace", "from", "stream", "asked", "startup"])
    expectEqual(FileSource.kind.settings.map(\.defaultText), ["", "auto", "0s", "-1", "-1", "0"])
    #expect(throws: RunError.self) {
      _ = try FileSource.kind.make(argument: "a.avi", values: ["pace": "slow"])
    }
    #expect(throws: RunError.self) { _ = try FileSource.kind.make(argument: "") }
  }
}
