internal import SprocketCore
internal import Synchronization

/// The moment of the first request that a program has still to make (`Engine.hold`). An offline source waits
/// before the frame of that moment; a live one cannot wait, and notes that the frame has come.
final class FrameHold: Sendable {
  /// Number of the frame, and nanoseconds since the run's first frame: the largest values for no such moment.
  private let number = Atomic<UInt64>(.max)
  private let time = Atomic<Int64>(.max)
  private let reached = Atomic<Bool>(false)

  /// Whether the frame of the moment has come.
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

  /// Whether the frame of that number, captured so long after the first one, is held; notes that it has come.
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
  /// Stamps the requests that hold from a frame on that has arrived. Offline it waits for those that are
  /// still to be made for this frame.
  func stampHeld(at number: UInt64, from first: UInt64, _ frame: ArrivedFrame) {
    func time() -> Int64? {
      guard !frame.isOverrun, let start = firstFrame(frame) else { return nil }
      return frame.captured.nanoseconds(since: start)
    }
    while shared.hold.holds(number, time), !isLive, !isOver {
      // What is stamped makes room for what is to be asked next.
      stampRequests(at: number, from: first, frame)
      sleep(until: monotonicNow() + Self.holdTick)
    }
    stampRequests(at: number, from: first, frame)
  }

  /// Nanoseconds between two looks whether a frame is still held. Larger: fewer wake-ups, longer pauses.
  private static let holdTick: Int64 = 1_000_000
}

extension Engine {
  /// Announces the moment of the next request that the program will make: an offline source waits before the
  /// frame of that moment until the next call, so that a request that is made in between holds from there
  /// on. `nil`: no request will come. A live source does not wait.
  package func hold(at moment: Moment?) { shared.hold.set(moment) }

  /// Whether the frame of the announced moment has come. If the source is live, the request is late then.
  package var isHoldReached: Bool { shared.hold.isReached }

  /// False once the run's end has begun, from which on requests are refused.
  package var takesRequests: Bool { recordings.isOpen }

  /// Whether a request of that holder has a place, and a file for it, too.
  package func hasRoom(for holder: RequestHolder) -> Bool { recordings.hasRoom(for: holder) }
}
