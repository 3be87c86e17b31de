import SprocketCore
import TestExpectations
import Testing

@testable import SprocketScene

@Suite struct SceneFaultsTests {
  static func settings(_ probability: Double) -> SceneFaults.Settings {
    var settings = SceneFaults.Settings()
    settings.drop = probability
    settings.corrupt = probability
    settings.truncate = probability
    settings.stall = probability
    settings.late = probability
    settings.backwards = probability
    settings.unplug = probability
    settings.formatChange = probability
    return settings
  }

  @Test func nothingGoesWrongUnasked() {
    let faults = SceneFaults(SceneFaults.Settings(), seed: 1)
    for frame in 0..<10_000 as Range<UInt64> { expectEqual(faults.due(at: frame), []) }
  }

  @Test func eachFaultComesAsOftenAsAskedFor() {
    let faults = SceneFaults(Self.settings(0.1), seed: 3)
    let frames = 40_000
    for (fault, name) in SceneFault.named {
      var count = 0
      for frame in 0..<frames where faults.due(at: UInt64(frame)).contains(fault) { count += 1 }
      // Four deviations of a binomial: 4 sqrt(40000 * 0.1 * 0.9) = 240.
      expectLess(abs(count - 4000), 240, "\(name): \(count)")
    }
  }

  @Test func faultsDoNotDependOnEachOtherOrOnTheOrderOfAsking() {
    let all = SceneFaults(Self.settings(0.3), seed: 3)
    var only = SceneFaults.Settings()
    only.late = 0.3
    let late = SceneFaults(only, seed: 3)
    for frame in (0..<1000 as Range<UInt64>).reversed() {
      expectEqual(late.due(at: frame).contains(.late), all.due(at: frame).contains(.late))
    }
  }

  @Test func oneFaultDoesNotBringAnother() {
    let faults = SceneFaults(Self.settings(0.2), seed: 4)
    var both = 0
    for frame in 0..<20_000 where faults.due(at: UInt64(frame)).isSuperset(of: [.late, .stall]) {
      both += 1
    }
    // 20000 * 0.04 = 800, and four deviations of 28.
    expectLess(abs(both - 800), 112)
  }

  @Test func everyBreakIsSeenByAStructureCheck() throws {
    var settings = SceneSettings()
    settings.width = 64
    settings.height = 48
    settings.shake = 0
    let frames = SceneFrames(settings)
    _ = try frames.select(isAlternate: false)
    var seen = 0
    for number in 0..<1500 as Range<UInt64> {
      var capture = SceneCapture()
      capture.number = number
      capture.faults = number % 3 == 0 ? .truncate : number % 3 == 1 ? .corrupt : []
      frames.make(capture)
      expectEqual(frames.isCorrupt, capture.isDamaged, "frame \(number)")
      if frames.isCorrupt { seen += 1 }
      frames.drop()
    }
    expectEqual(seen, 1000)
  }
}

@Suite struct SceneTimelineTests {
  @Test func anUndisturbedBeatIsExact() {
    var timeline = SceneTimeline(
      SceneFaults(SceneFaults.Settings(), seed: 1), rate: FrameRate(frames: 30_000, seconds: 1001),
      startupFrames: 2)
    for number in 0..<60_001 as Range<UInt64> {
      guard case .frame(let capture) = timeline.next() else {
        Issue.record("only frames come")
        return
      }
      expectTrue(capture.sequence == number && capture.epoch == 0 && capture.faults == [])
      expectEqual(capture.isStartup, (number < 2))
      // 30000 frames are 1001 seconds.
      if number == 60_000 { expectEqual(capture.due, 2_002_000_000_000) }
      if number == 1 { expectEqual(capture.due, 33_366_666) }
    }
  }

  @Test(arguments: 1...8 as ClosedRange<UInt64>)
  func everyLostNumberCanBeSeen(_ seed: UInt64) {
    var timeline = SceneTimeline(
      SceneFaults(SceneFaultsTests.settings(0.2), seed: seed), rate: FrameRate(frames: 30),
      startupFrames: 0)
    var last: SceneCapture?
    var isFirst = true
    var epoch: UInt32 = 0
    for _ in 0..<3000 {
      switch timeline.next() {
      case .replug, .formatChange:
        expectFalse(isFirst, "an epoch has at least one frame")
        isFirst = true
        epoch += 1
      case .frame(let capture):
        expectEqual(capture.epoch, epoch)
        if isFirst {
          expectEqual(capture.sequence, 0)
          expectEqual(capture.lost, 0)
        } else if let last {
          expectEqual(capture.sequence, last.sequence + capture.lost + 1)
          expectEqual(capture.faults.contains(.drop), (capture.lost > 0))
        }
        if let last {
          expectEqual(capture.number, last.number + capture.lost + 1)
          expectAtLeast(capture.due, last.due)
          expectAtLeast(capture.due, capture.taken)
          expectEqual(capture.faults.contains(.backwards), (capture.stamped < last.stamped))
        }
        last = capture
        isFirst = false
      }
    }
    expectGreater(epoch, 100)
  }

  @Test func stallsAndUnpluggingTakeTheirTime() {
    var settings = SceneFaults.Settings()
    settings.stall = 1
    settings.stallDuration = .milliseconds(300)
    var timeline = SceneTimeline(
      SceneFaults(settings, seed: 1), rate: FrameRate(frames: 10), startupFrames: 0)
    var dues: [Int64] = []
    for _ in 0..<3 { dues.append(timeline.next().due / 1_000_000) }
    expectEqual(dues, [300, 700, 1100])

    settings = SceneFaults.Settings()
    settings.unplug = 1
    settings.unplugDuration = .seconds(2)
    timeline = SceneTimeline(
      SceneFaults(settings, seed: 1), rate: FrameRate(frames: 10), startupFrames: 0)
    dues = []
    for _ in 0..<5 { dues.append(timeline.next().due / 1_000_000) }
    // A frame, gone, a frame at the time of the second plus two seconds, gone, a frame.
    expectEqual(dues, [0, 2100, 2100, 4200, 4200])
  }
}

/// A class, because expectations may not change values.
private final class Driver {
  private var driver: SceneDriver

  /// Ten frames per second.
  init(_ change: (inout SceneFaults.Settings) -> Void = { _ in }) {
    var settings = SceneFaults.Settings()
    change(&settings)
    driver = SceneDriver(
      SceneTimeline(
        SceneFaults(settings, seed: 1), rate: FrameRate(frames: 10), startupFrames: 0))
  }

  func poll(now: Int64) -> SceneDriver.Poll { driver.poll(now: now) }
  var lost: UInt64 { driver.lost }
}

private final class Delay {
  private var delay = ControlDelay()

  func write(_ change: ControlDelay.Change, from frame: UInt64) -> Bool {
    delay.write(change, from: frame)
  }
  func take(at frame: UInt64) -> ControlDelay.Change? { delay.take(at: frame) }
}

@Suite struct SceneDriverTests {
  private func sequence(_ poll: SceneDriver.Poll) -> UInt64? {
    if case .ready(.frame(let capture)) = poll { return capture.sequence }
    return nil
  }

  @Test func framesAppearWhenTheyAreDue() {
    let driver = Driver()
    expectEqual(sequence(driver.poll(now: 0)), 0)
    expectEqual(driver.poll(now: 0), .wait(until: 100_000_000))
    expectEqual(driver.poll(now: 99_999_999), .wait(until: 100_000_000))
    expectEqual(sequence(driver.poll(now: 100_000_000)), 1)
    expectEqual(driver.lost, 0)
  }

  /// Four buffers hold 0 to 3; what comes while they are full is lost, so 10 follows 3.
  @Test func theNewestAreLostWhenNobodyTakesThem() {
    let driver = Driver()
    let late: Int64 = 950_000_000
    expectEqual((0..<4).map { _ in sequence(driver.poll(now: late)) }, [0, 1, 2, 3])
    expectEqual(driver.poll(now: late), .wait(until: 1_000_000_000))
    expectEqual(driver.lost, 6)
    guard case .ready(.frame(let capture)) = driver.poll(now: 1_000_000_000) else {
      Issue.record("frame 10 is due")
      return
    }
    expectEqual(capture.sequence, 10)
    expectEqual(capture.lost, 6)
  }

  @Test func anEpochWaitsForTheFramesBeforeIt() {
    let driver = Driver {
      $0.unplug = 1
      $0.unplugDuration = .milliseconds(100)
    }
    let late: Int64 = 10_000_000_000
    expectEqual(sequence(driver.poll(now: late)), 0)
    expectEqual(driver.poll(now: late), .ready(.replug(at: 200_000_000)))
    expectEqual(sequence(driver.poll(now: late)), 0)
  }
}

@Suite struct ControlDelayTests {
  private typealias Change = ControlDelay.Change

  @Test func aWriteShowsFromItsFrameOn() {
    let delay = Delay()
    let change = ControlDelay.Change(control: 1, value: 3, ticket: 7)
    expectTrue(delay.write(change, from: 12))
    for frame in 10..<12 as Range<UInt64> { expectNil(delay.take(at: frame)) }
    expectEqual(delay.take(at: 12), change)
    expectNil(delay.take(at: 100))
  }

  @Test func changesComeInTheOrderOfWriting() {
    let delay = Delay()
    for ticket in 1...5 as ClosedRange<UInt64> {
      expectTrue(delay.write(Change(control: 0, value: 0, ticket: ticket), from: ticket))
    }
    expectEqual(delay.take(at: 2)?.ticket, 1)
    expectEqual(delay.take(at: 2)?.ticket, 2)
    expectNil(delay.take(at: 2))
  }

  @Test func tooManyAreRefused() {
    let delay = Delay()
    for _ in 0..<ControlDelay.capacity {
      expectTrue(delay.write(Change(control: 0, value: 0, ticket: 0), from: 0))
    }
    expectFalse(delay.write(Change(control: 0, value: 0, ticket: 0), from: 0))
  }
}
