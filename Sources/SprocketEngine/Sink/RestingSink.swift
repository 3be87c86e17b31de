package import SprocketCore
internal import SprocketRing
internal import Synchronization

/// A sink that needs frames only at times. While it rests, frames do not wake its thread, and are
/// `unselected` for it. `Engine.wake` ends the rest.
///
/// Keeps of the contract of requests:
/// - A22: after `wake` the sink gets frames, beginning at the latest with the frame from which on the next
///   request holds. With the first frame that it takes it gets all events since the call of `wake`.
package protocol RestingSink: Sink {
  /// Whether the sink can rest. Read on the sink's thread when there is no frame to take. Set the state that
  /// it reads before the call of `Engine.wake`, or under a lock that this property takes.
  var needsNoFrame: Bool { get }
  /// Longest time between two calls of `rest`.
  var longestRest: Duration { get }
  /// Called instead of `idle` while the sink rests, live and offline: when the rest begins, when a recording
  /// begins or ends, and otherwise after `longestRest`. `hasFrames`: frames have passed since the last call,
  /// or since the last frame that the sink took.
  func rest(hasFrames: Bool) throws(RunError)
}

/// Calls of `Engine.wake` for a sink.
final class WakeCalls: Sendable {
  /// Place in the log of events at the first call since the sink took a frame; the largest number if there
  /// was none.
  private let mark = Atomic<UInt64>(.max)
  /// The source's thread has not taken the request of the latest call yet.
  private let isAsked = Atomic<Bool>(false)

  /// Notes a call. Returns whether the source's thread has to be asked.
  func ask(_ log: EventLog) -> Bool {
    _ = mark.compareExchange(expected: .max, desired: log.end, ordering: .acquiringAndReleasing)
    return !isAsked.exchange(true, ordering: .acquiringAndReleasing)
  }

  /// The source's thread wakes the sink now; a later call asks again.
  func willWake() { isAsked.store(false, ordering: .releasing) }

  /// The sink takes a frame. Returns the mark.
  func end() -> UInt64 { mark.exchange(.max, ordering: .acquiringAndReleasing) }
}

/// Wakes the threads of sinks that rest, so that they read news of recordings.
final class NewsBell: Sendable {
  private struct Place {
    let ring: Ring
    let tap: RingPlan.TapIndex
  }

  /// By the sink's number in the run.
  private let places = Locked<[Int: Place]>([:])

  /// Begins to wake the thread of a sink, which reads this tap until `remove`.
  func add(_ sink: Int, _ ring: Ring, _ tap: RingPlan.TapIndex) {
    places.withLock { $0[sink] = Place(ring: ring, tap: tap) }
  }

  func remove(_ sink: Int) { places.withLock { $0[sink] = nil } }

  func ring() {
    places.withLock { places in
      for place in places.values { place.ring.wakeThread(ofTap: place.tap) }
    }
  }
}

extension SinkWorker {
  /// Parks the sink's thread while the sink needs no frame. News, a call of `Engine.wake` and the epoch's
  /// end wake the thread; it waits for `longestRest` at most. Called when there is no frame to take. Returns
  /// false if the sink needs frames.
  func rest(_ reader: inout Reader, _ waiter: inout Waiter) -> Bool {
    guard let sink = state.resting, state.lossAfterFailure == nil else { return false }
    if !reader.isParked {
      // Read before the sink is asked: a later call of `wake` prevents the parking.
      let asked = reader.askCount
      guard sink.needsNoFrame, reader.park(since: asked) else { return false }
      state.hasRested = true
      passed = reader.nextPosition
    }
    let ticket = reader.prepareToWait()
    // The sink looks for news after the ticket was taken: the bell ends the wait for news that come later.
    let before = passed
    passed = reader.upstreamLimit
    do throws(RunError) { try sink.rest(hasFrames: passed != before) } catch { fail(error) }
    if !epoch.isAbandoned.load(ordering: .acquiring) {
      waiter.park(ticket, bound: sink.longestRest.nanosecondCount)
    }
    return true
  }

  /// The sink takes frame `number`.
  func endRest(at number: UInt64) {
    guard state.resting != nil else { return }
    let first = state.wakes.end()
    guard state.hasRested else { return }
    state.hasRested = false
    state.events.skip(epoch.shared.events, to: first, below: number)
  }
}

extension SourcePump {
  /// Lets a sink that rests have frames from the next position on.
  func wake(_ sink: Int) {
    guard let place = resting[sink] else { return }
    place.state.wakes.willWake()
    producer?.producer.wake(tap: RingPlan.TapIndex(place.index))
  }
}

extension Engine {
  /// Lets a sink that rests have the frames that follow. A request that is asked after this call holds at the
  /// first of them, or at a later one. Does nothing if no such sink is attached. May be called from any
  /// thread; waits for no frame.
  package func wake(_ sink: String) {
    let place = current.epoch.sinks.first { $0.sink.name == sink && $0.state.resting != nil }
    guard let state = place?.state, state.wakes.ask(shared.events) else { return }
    _ = shared.port.add(RequestPort.Entry(woken: state.id, moment: .now), isOwn: true)
  }
}
