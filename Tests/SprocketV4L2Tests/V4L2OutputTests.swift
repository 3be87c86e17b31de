import TestExpectations
import Testing

@testable import SprocketV4L2

/// Which buffer comes next. The lab tries it on v4l2loopback.
@Suite struct V4L2OutputTests {
  @Test func buffersAreUsedByTurns() {
    var outputs = V4L2Outputs(count: 3)
    for index in 0..<3 {
      expectTrue(outputs.isNextFree)
      expectEqual(outputs.next, index)
      outputs.noteQueued()
    }
    expectEqual(outputs.next, 0)
    let isFree = outputs.isNextFree
    expectFalse(isFree)
    outputs.noteReturned(0)
    expectTrue(outputs.isNextFree)
  }

  /// v4l2loopback gives back any: 0.12 the one just written, later versions the one written longest ago.
  @Test(arguments: [0, 1, 2, 3, 7]) func aBufferThatTheDriverDidNotHaveStandsForTheOldest(
    index: Int
  ) {
    var outputs = V4L2Outputs(count: 4)
    outputs.noteQueued()
    outputs.noteReturned(index)
    let isAnyQueued = outputs.isAnyQueued
    expectFalse(isAnyQueued)
    expectEqual(outputs.next, 1)
    for _ in 0..<3 { outputs.noteQueued() }
    outputs.noteReturned(0)
    // 1 was queued first.
    for _ in 0..<1 { outputs.noteQueued() }
    expectEqual(outputs.next, 1)
    expectTrue(outputs.isNextFree)
  }

  @Test func fewerBuffersAreUsedWhenTheDriverHasFewer() {
    var outputs = V4L2Outputs(count: 8)
    for _ in 0..<6 {
      outputs.noteQueued()
      outputs.noteReturned(0)
    }
    expectEqual(outputs.next, 6)
    outputs.limit(to: 4)
    expectEqual(outputs.next, 2)
    expectEqual(outputs.usableCount, 4)
    for _ in 0..<2 { outputs.noteQueued() }
    expectEqual(outputs.next, 0)
    outputs.limit(to: 0)
    let isFree = outputs.isNextFree
    expectFalse(isFree)
    outputs.noteQueued()
    outputs.noteReturned(0)
    expectEqual(outputs.usableCount, 0)
  }

  @Test func whatIsNoVirtualCameraIsToldWithWhatToDo() {
    for (path, code) in [
      ("/dev/video4095", V4L2Error.Code.notFound), ("/dev/null", .notACamera),
      ("/tmp", .notACamera),
      ("/dev/null/x", .notFound), ("/etc/passwd", .notACamera),
    ] {
      let error = #expect(throws: V4L2Error.self) { _ = try V4L2Device(output: path) }
      expectEqual(error?.code, code)
      expectEqual(error?.description.contains("sudo modprobe v4l2loopback exclusive_caps=1"), true)
      expectEqual(error?.description.contains(path), true)
    }
  }
}
