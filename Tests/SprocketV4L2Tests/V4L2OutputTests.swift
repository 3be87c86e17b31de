import Testing

@testable import SprocketV4L2

/// Which buffer comes next. The lab tries it on v4l2loopback.
@Suite struct V4L2OutputTests {
  @Test func buffersAreUsedByTurns() {
    var outputs = V4L2Outputs(count: 3)
    for index in 0..<3 {
      #expect(outputs.isNextFree)
      #expect(outputs.next == index)
      outputs.noteQueued()
    }
    #expect(outputs.next == 0)
    let isFree = outputs.isNextFree
    #expect(!isFree)
    outputs.noteReturned(0)
    #expect(outputs.isNextFree)
  }

  /// v4l2loopback gives back any: 0.12 the one just written, later versions the one written longest ago.
  @Test(arguments: [0, 1, 2, 3, 7]) func aBufferThatTheDriverDidNotHaveStandsForTheOldest(
    index: Int
  ) {
    var outputs = V4L2Outputs(count: 4)
    outputs.noteQueued()
    outputs.noteReturned(index)
    let isAnyQueued = outputs.isAnyQueued
    #expect(!isAnyQueued)
    #expect(outputs.next == 1)
    for _ in 0..<3 { outputs.noteQueued() }
    outputs.noteReturned(0)
    // 1 was queued first.
    for _ in 0..<1 { outputs.noteQueued() }
    #expect(outputs.next == 1)
    #expect(outputs.isNextFree)
  }

  @Test func fewerBuffersAreUsedWhenTheDriverHasFewer() {
    var outputs = V4L2Outputs(count: 8)
    for _ in 0..<6 {
      outputs.noteQueued()
      outputs.noteReturned(0)
    }
    #expect(outputs.next == 6)
    outputs.limit(to: 4)
    #expect(outputs.next == 2)
    #expect(outputs.usableCount == 4)
    for _ in 0..<2 { outputs.noteQueued() }
    #expect(outputs.next == 0)
    outputs.limit(to: 0)
    let isFree = outputs.isNextFree
    #expect(!isFree)
    outputs.noteQueued()
    outputs.noteReturned(0)
    #expect(outputs.usableCount == 0)
  }

  @Test func whatIsNoVirtualCameraIsToldWithWhatToDo() {
    for (path, code) in [
      ("/dev/video4095", V4L2Error.Code.notFound), ("/dev/null", .notACamera),
      ("/tmp", .notACamera),
      ("/dev/null/x", .notFound), ("/etc/passwd", .notACamera),
    ] {
      let error = #expect(throws: V4L2Error.self) { _ = try V4L2Device(output: path) }
      #expect(error?.code == code)
      #expect(error?.description.contains("sudo modprobe v4l2loopback exclusive_caps=1") == true)
      #expect(error?.description.contains(path) == true)
    }
  }
}
