import SprocketCore
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
    #expect(result([1]) == .shown(frames: 0, isCertain: true))
    #expect(result([0, 0.02, 0.9]) == .shown(frames: 2, isCertain: true))
    #expect(result([0, 0.2, 0.3, 0.9]) == .shown(frames: 1, isCertain: true))
    // One frame of noise is none.
    #expect(result([0.2, 0, 0, 1]) == .shown(frames: 3, isCertain: true))
    #expect(result([0, 0, 0.1]) == .waiting)
  }

  @Test func lostFramesMakeItUncertain() {
    #expect(result([0, 0, 1], losing: [11]) == .shown(frames: 2, isCertain: false))
    #expect(result([0, 0, 1], losing: [10]) == .shown(frames: 2, isCertain: true))
    #expect(result([0, 0, 1], losing: [12]) == .waiting)
    // The frame before the answer was lost: the driver may have taken the value before that.
    #expect(result([0, 0, 1], lastFrame: 8) == .shown(frames: 2, isCertain: false))
  }

  @Test func aPictureThatDoesNotAnswerIsNotWaitedForForever() {
    let quiet = [Double?](repeating: 0, count: 20)
    #expect(result(quiet) == .unanswered)
    #expect(result([Double?](repeating: nil, count: 20)) == .incomparable)
    #expect(result([Double?](repeating: 0.2, count: 20)) == .unanswered)
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
    #expect(port.delay(of: 0) == nil)
    port.measured(delay: 2, of: 0)
    #expect(port.delay(of: 0) == ControlDelayTime(frames: 2, .measured))
    port.knows(ControlDelayTime(frames: 5, .given), of: 0)
    port.knows(ControlDelayTime(frames: 1, .kept), of: 2)
    port.measured(delay: 3, of: 0)
    port.measured(delay: 3, of: 2)
    #expect(port.delays.map(\.control) == ["exposure", "gain"])
    #expect(port.delays.map(\.delay.frames) == [5, 3])
    let told = ControlPort(controls: controls, tellsWhatShows: true)
    told.measured(delay: 3, of: 0)
    #expect(told.delay(of: 0) == ControlDelayTime(frames: 0, .told))
  }

  @Test func whatIsToBePutBackIsTakenOnce() {
    let port = ControlPort(controls: controls)
    port.writeAtEnd([(0, 100), (1, 1)])
    port.writeAtEnd([(2, 4)])
    #expect(port.takeWritesAtEnd().map(\.control) == [2])
    #expect(port.takeWritesAtEnd().isEmpty)
  }

  @Test func aSteeredControlSaysWhatItsWritesChange() throws {
    let port = ControlPort(controls: controls)
    let gain = try #require(SteeredControl(.gain, on: port))
    #expect(gain.valueNow == nil && gain.automaticsNow.isEmpty)
    port.report(3, of: 2)
    port.report(1, of: 1)
    #expect(gain.value == 3 && gain.valueNow?.control == 2)
    #expect(gain.automaticsNow.map(\.control) == [1] && gain.automaticsNow.first?.value == 1)
    // By name a control is in its own numbers.
    let named = try #require(SteeredControl(named: "gain", on: port))
    #expect(named.range == 1...8 && named.value == 3 && named.automaticsNow.isEmpty)
    #expect(SteeredControl(named: "iris", on: port) == nil)
  }
}
