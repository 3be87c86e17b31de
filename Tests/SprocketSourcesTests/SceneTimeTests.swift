import SprocketCore
import TestExpectations
import Testing

@testable import SprocketScene

/// Rates and durations that are possible and that nobody means.
@Suite struct SceneTimeTests {
  private static let rates = [
    FrameRate(frames: 1, seconds: .max), FrameRate(frames: .max - 1, seconds: .max),
    FrameRate(frames: 10_000, seconds: 1), FrameRate(frames: .max, seconds: 214_749),
  ]

  @Test(arguments: rates)
  func timesNeverGoBackAndNeverTrap(_ rate: FrameRate) throws {
    let taken = try frames(
      scene {
        $0.rate = rate
        $0.format = .grey
        $0.faults.stall = 0.5
        $0.faults.stallDuration = .nanoseconds(Int64(8.9e18))
        $0.faults.late = 0.2
        $0.faults.lateDuration = .nanoseconds(Int64(8.9e18))
        $0.faults.unplug = 0.2
        $0.faults.unplugDuration = .nanoseconds(Int64(8.9e18))
      }, count: 60
    ).taken
    let times = taken.map(\.captured.nanoseconds)
    expectTrue(zip(times, times.dropFirst()).allSatisfy { $0 <= $1 })
  }

  @Test func timesAreExactHoweverTheRateIsSpelled() {
    func times(_ rate: FrameRate) -> [Int64] {
      var timeline = SceneTimeline(
        SceneFaults(SceneFaults.Settings(), seed: 1), rate: rate, startupFrames: 0)
      return (0..<2000).map { _ in timeline.next().due }
    }
    // 2,000,000,000 is 1,000 times 2,000,000: products of 80 bits on the way.
    expectEqual(
      times(FrameRate(frames: 2_000_000_000, seconds: 2_000_000)), times(FrameRate(frames: 1000)))
    expectEqual(times(FrameRate(frames: 30000, seconds: 1001))[1], 33_366_666)
  }

  @Test func timeGoesBackOnlyAsFarAsThereIsTime() throws {
    let taken = try frames(
      scene {
        $0.format = .grey
        $0.faults.backwards = 1
        $0.faults.backwardsDuration = .nanoseconds(Int64(8.9e18))
      }, count: 5
    ).taken
    expectEqual(taken.last?.captured.nanoseconds, .min)
  }

  /// The next frame is due in 68 years.
  @Test func askingForAFrameReturnsInTime() throws {
    let source = try SceneSource(
      scene {
        $0.rate = FrameRate(frames: 1, seconds: .max)
        $0.pace = .real
      })
    let description = try source.open()
    defer { try? source.close() }
    var slot = SourceSlot(capacity: description.capacity)
    guard case .frame = try source.next(timeout: longestWaitNanoseconds) else {
      Issue.record("the first is due at once")
      return
    }
    slot.take(from: source, description.format)
    for _ in 0..<5 {
      guard case .nothing = try source.next(timeout: 1_000_000) else {
        Issue.record("the second is not due")
        return
      }
    }
    source.interrupt()
    // An hour is not waited for by whoever was interrupted.
    guard case .end = try source.next(timeout: 3_600_000_000_000) else {
      Issue.record("it goes on")
      return
    }
    slot = SourceSlot(capacity: 1)
  }

  @Test func drawingIsLeftWhenItIsInterrupted() throws {
    // A minute and more of drawing, in an unoptimized build hours.
    let source = try SceneSource(
      scene {
        ($0.width, $0.height) = (8192, 8192)
        $0.cached = 9
      })
    source.interrupt()
    do {
      _ = try source.open()
      Issue.record("it opens")
    } catch { expectEqual(error.code, .interrupted) }
  }

  @Test func drawingIsLeftInTheMiddle() async {
    let interruption = SourceInterrupt()
    async let texture = Task.detached {
      SceneTexture(frameWidth: 8192, frameHeight: 8192, seed: 1, interruption: interruption).width
    }.value
    try? await Task.sleep(for: .milliseconds(300))
    interruption.set()
    // Unoptimized it would take minutes.
    await expectGreater(texture, 8192)
  }
}
