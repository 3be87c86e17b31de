internal import SprocketCore
internal import Synchronization

/// Moment of the next request that the program will make (`Engine.hold`). An offline source waits before the
/// frame of that moment. A live source cannot wait; it records that the frame has arrived.
final class FrameHold: Sendable {
  /// Number of the frame, and nanoseconds since the run's first frame. The largest value means that frames do
  /// not wait for it.
  private let number = Atomic<UInt64>(.max)
  private let time = Atomic<Int64>(.max)
  private let reached = Atomic<Bool>(false)

  /// Whether the frame of the moment has arrived.
  var isReached: Bool { reached.load(ordering: .acquiring) }

  func set(_ moment: Moment?) {
    var (frame, nanoseconds) = (UInt64.max, Int64.max)
    switch moment {
    case .frame(let wanted): frame = wanted
    case .time(let wanted): nanoseconds = wanted.nanosecondCount
    case .now, .captured, nil: break
    }
    // The new moment is stored before the old one is removed, so that no frame passes in between.
    if frame == .max { time.store(nanoseconds, ordering: .releasing) }
    number.store(frame, ordering: .releasing)
    time.store(nanoseconds, ordering: .releasing)
    reached.store(false, ordering: .releasing)
  }

  /// Whether the frame `number`, captured `time` nanoseconds after the first frame, has to wait. If so,
  /// records that the frame has arrived.
  func holds(_ number: UInt64, _ time: () -> Int64?) -> Bool {
    let wanted = self.time.load(ordering: .acquiring)
    guard
      number >= self.number.load(ordering: .acquiring)
        || wanted != .max && time() ?? .min >= wanted
    else { return false }
    reached.store(true, ordering: .releasing)
    return true
  }
}

extension SourcePump {
  /// Stamps the requests that hold from a frame that has arrived. An offline source first waits for the
  /// requests that the program has still to make for this frame.
  func stampHeld(at number: UInt64, from first: UInt64, _ frame: ArrivedFrame) {
    func time() -> Int64? {
      guard !frame.isOverrun, let start = firstFrame(frame) else { return nil }
      return frame.captured.nanoseconds(since: start)
    }
    while shared.hold.holds(number, time), !isLive, !isOver {
      // Stamping frees places in the port, so that the program can make its next request.
      stampRequests(at: number, from: first, frame)
      sleep(until: monotonicNow() + Self.holdTick)
    }
    stampRequests(at: number, from: first, frame)
  }

  /// Interval in nanoseconds between two checks whether the frame still has to wait. A larger value costs
  /// fewer wake-ups, and makes the source pause for longer.
  private static let holdTick: Int64 = 1_000_000
}

extension Engine {
  /// Announces the moment of the program's next request. An offline source waits before the frame of that
  /// moment until the next call of `hold`: the program makes its request in between, and the request holds
  /// from exactly that frame. `nil` ends the wait. A live source does not wait.
  package func hold(at moment: Moment?) { shared.hold.set(moment) }

  /// Whether the frame of the announced moment has arrived. With a live source, the request is late then.
  package var isHoldReached: Bool { shared.hold.isReached }

  /// Whether requests are accepted: until the run begins to end.
  package var takesRequests: Bool { recordings.isOpen }

  /// Whether the holder may make one more request that waits, and one more file.
  package func hasRoom(for holder: RequestHolder) -> Bool { recordings.hasRoom(for: holder) }
}
