internal import SprocketCore
internal import Synchronization

/// Moment of the next request that the program will make (`Engine.hold`). An offline source waits before the
/// frame of that moment.
final class FrameHold: Sendable {
  private struct State {
    var moment: Moment?
    /// Whether the frame of the moment has arrived.
    var isReached = false
  }

  private let state = Locked(State())
  /// Whether there is a moment. Frames take the lock only if there is one.
  private let isSet = Atomic<Bool>(false)

  var isReached: Bool { state.withLock(\.isReached) }

  func set(_ moment: Moment?) {
    state.withLock { state in
      state = State(moment: moment)
      isSet.store(moment != nil, ordering: .releasing)
    }
  }

  /// Whether the frame `number`, captured `time` nanoseconds after the first frame, is the moment's, or a
  /// later one. Records that it has arrived.
  func holds(_ number: UInt64, _ time: Int64?) -> Bool {
    guard isSet.load(ordering: .acquiring) else { return false }
    return state.withLock { state in
      let holds =
        switch state.moment {
        case .frame(let wanted): number >= wanted
        case .time(let wanted): time ?? .min >= wanted.nanosecondCount
        case .now, .captured, nil: false
        }
      if holds { state.isReached = true }
      return holds
    }
  }
}

extension SourcePump {
  /// Stamps the requests that hold from a frame that has arrived. An offline source first waits for the
  /// requests that the program has still to make for this frame. If they do not come within `holdLimit`, the
  /// frame goes on, and they are late.
  func stampHeld(at number: UInt64, from first: UInt64, _ frame: ArrivedFrame) {
    let time = frame.isOverrun ? nil : firstFrame(frame).flatMap(frame.captured.nanoseconds(since:))
    var end: Int64?
    // The last frame within the run's limit is held, too.
    while !isLive, shared.hold.holds(number, time), !shared.isStopping, !isTimeOver {
      let now = monotonicNow()
      if now > end ?? .max { break }
      end = end ?? deadline(in: Self.holdLimit)
      // Stamping frees places in the port, so that the program can make its next request.
      stampRequests(at: number, from: first, frame)
      sleep(until: now + Self.holdTick)
    }
    stampRequests(at: number, from: first, frame)
    requests.passedNumber = number
    if let time { requests.passedTime = time }
  }

  /// Longest time in nanoseconds for which one frame waits, 60 s. With a larger value, a file system that
  /// hangs makes fewer requests late, and an offline run stands still for longer.
  private static let holdLimit: Int64 = 60_000_000_000
  /// Interval in nanoseconds between two checks whether the frame still has to wait. A larger value costs
  /// fewer wake-ups, and makes the source pause for longer.
  private static let holdTick: Int64 = 1_000_000
}

extension Engine {
  /// Announces the moment of the program's next request. An offline source waits before the frame of that
  /// moment until the next call of `hold`: the program makes its request in between, and the request holds
  /// from exactly that frame. `nil` ends the wait. A live source does not wait.
  package func hold(at moment: Moment?) { shared.hold.set(moment) }

  /// Whether an offline source waits before the frame of the announced moment.
  package var isHoldReached: Bool { shared.hold.isReached }

  /// What became of the script's requests, each once. After the run's end it has all of them.
  package func takeOutcomes() -> [(id: RequestID, outcome: RequestOutcome)] {
    recordings.takeOutcomes()
  }

  /// Whether requests are accepted: until the run begins to end.
  package var takesRequests: Bool { recordings.isOpen }

  /// Whether the run ends, or has ended, because it was stopped from outside.
  package var wasStopped: Bool { shared.isStopping }

  /// Whether the holder may make one more request that waits, and one more file.
  package func hasRoom(for holder: RequestHolder) -> Bool { recordings.hasRoom(for: holder) }
}
