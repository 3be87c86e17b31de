/// The queue between the scene's camera and the engine at real pace: four buffers, as drivers have.
/// Frames appear when they are due; while all buffers are full the newest are lost, and the
/// sequence jumps. Pure: time is a parameter.
package struct SceneDriver: Sendable {
  package enum Poll: Sendable, Hashable {
    case ready(SceneStep)
    /// Nothing before that many nanoseconds since the start.
    case wait(until: Int64)
  }

  package static let bufferCount = 4

  private var timeline: SceneTimeline
  private var upcoming: SceneStep
  private var queue: [SceneCapture] = []
  /// Frames that found no buffer.
  package private(set) var lost: UInt64 = 0
  /// Of those, how many since the last frame that is in the queue.
  private var lostSince: UInt64 = 0

  package init(_ timeline: SceneTimeline) {
    self.timeline = timeline
    upcoming = self.timeline.next()
    queue.reserveCapacity(Self.bufferCount)
  }

  /// The frame that will be handed over next, as far as is known: worth drawing while waiting.
  package var expected: SceneCapture? {
    if !queue.isEmpty { return queue[0] }
    if case .frame(let capture) = upcoming { return capture }
    return nil
  }

  /// What there is at `now`, nanoseconds since the start. A frame leaves its buffer.
  package mutating func poll(now: Int64) -> Poll {
    while upcoming.due <= now {
      guard case .frame(var capture) = upcoming else {
        // An epoch begins when what came before it has been taken.
        if !queue.isEmpty { break }
        let step = upcoming
        lostSince = 0
        upcoming = timeline.next()
        return .ready(step)
      }
      if queue.count < Self.bufferCount {
        capture.lost += lostSince
        lostSince = 0
        queue.append(capture)
      } else {
        lost += 1
        lostSince += 1 + capture.lost
      }
      upcoming = timeline.next()
    }
    if queue.isEmpty { return .wait(until: upcoming.due) }
    return .ready(.frame(queue.remove(at: 0)))
  }
}
