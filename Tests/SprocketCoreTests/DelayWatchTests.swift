import SprocketCore
import TestExpectations
import Testing

@Suite struct DelayWatchTests {
  /// What comes of the shares that frames from `first` on show, one after another.
  private func result(
    _ shares: [Double?], from start: UInt64 = 10, first: UInt64 = 10, lastFrame: UInt64 = 9,
    losing lost: Set<UInt64> = []
  ) -> DelayWatch.Result {
    var watch = DelayWatch(from: start, lastFrame: lastFrame)
    for (index, share) in shares.enumerated() where !lost.contains(first + UInt64(index)) {
      let result = watch.see(share: share, at: first + UInt64(index))
      if result != .waiting { return result }
    }
    return .waiting
  }

  @Test func theFirstSignIsTheDelay() {
    expectEqual(result([1]), .shown(0...0))
    expectEqual(result([0, 0.02, 0.9]), .shown(2...2))
    expectEqual(result([0, 0.2, 0.3, 0.9]), .shown(1...1))
    // One frame of noise is none.
    expectEqual(result([0.2, 0, 0, 1]), .shown(3...3))
    expectEqual(result([0, 0, 0.1]), .waiting)
  }

  @Test func lostFramesMakeItARange() {
    expectEqual(result([0, 0, 1], losing: [11]), .shown(1...2))
    expectEqual(result([0, 0, 1], losing: [10]), .shown(2...2))
    expectEqual(result([0, 0, 1], losing: [12]), .waiting)
    // The frame before the answer was lost: the driver may have taken the value before that.
    expectEqual(result([0, 0, 1], lastFrame: 8), .shown(2...3))
  }

  @Test func aPictureThatDoesNotAnswerIsNotWaitedForForever() {
    let quiet = [Double?](repeating: 0, count: 20)
    expectEqual(result(quiet), .unanswered)
    expectEqual(result([Double?](repeating: nil, count: 20)), .incomparable)
    expectEqual(result([Double?](repeating: 0.2, count: 20)), .unanswered)
  }
}

@Suite struct ControlStateTests {
  private let controls = [
    ControlDescription(name: "exposure", unit: "us", minimum: 10, maximum: 1000, step: 1),
    ControlDescription(
      name: "autogain", unit: "", minimum: 0, maximum: 1, kind: .boolean, step: 1),
    ControlDescription(name: "gain", unit: "", minimum: 1, maximum: 8, step: 1),
  ]

  @Test func aDelayThatIsGivenOrToldIsNeverReplaced() {
    let port = ControlPort(controls: controls)
    expectNil(port.delay(of: 0))
    port.measured(delay: 2...2, of: 0)
    expectEqual(port.delay(of: 0), ControlDelayTime(frames: 2, .measured))
    port.knows(ControlDelayTime(frames: 5, .given), of: 0)
    port.knows(ControlDelayTime(frames: 1, .kept), of: 2)
    port.measured(delay: 3...3, of: 0)
    port.measured(delay: 3...3, of: 2)
    expectEqual(port.delays.map(\.control), ["exposure", "gain"])
    expectEqual(port.delays.map(\.delay.frames), [5, 3])
    let told = ControlPort(controls: controls, tellsWhatShows: true)
    told.measured(delay: 3...3, of: 0)
    expectEqual(told.delay(of: 0), ControlDelayTime(frames: 0, .told))
  }

  /// A change shows after the answer's frame and the longest delay; an unknown delay counts as the longest.
  @Test(arguments: [(nil, 8), (0...3, 3), (2...2, 2)] as [(ClosedRange<Int>?, UInt64)])
  func aWriteShowsAfterTheLongestDelay(_ delay: ClosedRange<Int>?, _ longest: UInt64) throws {
    let port = ControlPort(controls: controls)
    var gain = try #require(SteeredControl(.gain, on: port))
    expectTrue(gain.isShown(at: 0))
    if let delay { gain.measured(pictureDelay: delay) }
    expectTrue(gain.write(2, at: 10))
    expectFalse(gain.isShown(at: 100))
    let ticket = try #require(port.take()).ticket
    var answer = Event(kind: .controlApplied, control: 2, ticket: ticket, value: 2)
    answer.number = 12
    _ = gain.answer(answer)
    expectFalse(gain.isShown(at: 12 + longest - 1))
    expectTrue(gain.isShown(at: 12 + longest))
  }

  @Test func whatIsToBePutBackIsTakenOnce() {
    let port = ControlPort(controls: controls)
    port.writeAtEnd([(0, 100), (1, 1)])
    port.writeAtEnd([(2, 4)])
    expectEqual(port.takeWritesAtEnd().map(\.control), [2])
    expectEmpty(port.takeWritesAtEnd())
  }

  @Test func aSteeredControlSaysWhatItsWritesChange() throws {
    let port = ControlPort(controls: controls)
    let gain = try #require(SteeredControl(.gain, on: port))
    expectNil(gain.valueNow)
    expectEmpty(gain.automaticsNow)
    port.report(3, of: 2)
    port.report(1, of: 1)
    expectEqual(gain.value, 3)
    expectEqual(gain.valueNow?.control, 2)
    expectEqual(gain.automaticsNow.map(\.control), [1])
    expectEqual(gain.automaticsNow.first?.value, 1)
    // By name a control is in its own numbers.
    let named = try #require(SteeredControl(named: "gain", on: port))
    expectEqual(named.range, 1...8)
    expectEqual(named.value, 3)
    expectEmpty(named.automaticsNow)
    expectNil(SteeredControl(named: "iris", on: port))
  }
}
