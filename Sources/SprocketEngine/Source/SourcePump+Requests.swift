internal import SprocketCore
internal import SprocketRing
internal import Synchronization

/// The gate of an on-demand sink, and the output that gets its stamps.
struct GatedOutput {
  /// The sink's number in the run, and its place in the epoch.
  let sink: Int
  var place: Int
  let output: StampedOutput
  var gate: OutputGate
}

/// Requests that the source's thread has taken from the port and not stamped yet.
struct PendingRequests {
  var entries: [RequestPort.Entry] = []
  var seen: UInt64 = 0
  /// The frame of the latest stamp.
  var lastNumber: UInt64 = 0
  /// Recordings that were stopped in the present pass.
  var ended: [RecordingID] = []
  /// Number of the latest frame for which requests were stamped, before the present one; and its time since
  /// the first frame.
  var passedNumber: UInt64?
  var passedTime: Int64?
}

/// Stamps requests: decides from which frame on each holds, and tells the sinks.
///
/// Keeps of the contract of requests:
/// - A2: the source's thread alone stamps: at each frame that arrives, also if there is no room for it, and
///   whenever the source returns without a frame.
/// - A4: a request for a later frame or time waits here.
/// - A5: requests that hold at one number are applied in the order asked. Numbers that are missing before
///   an arrival belong to the state before it, unless a request names one of them.
/// - A15: a change of live settings holds from its stamp's number on; an event tells of it.
/// - A10: a stamp wakes the sink's thread before its frame is published.
extension SourcePump {
  /// Stamps the requests that hold from `number` on, which is the next frame's number. `frame` is that
  /// frame if it has arrived; frames from `first` to before `number` are missing. If nothing was asked, it
  /// costs a load, and one per on-demand sink.
  func stampRequests(at number: UInt64, from first: UInt64? = nil, _ frame: ArrivedFrame? = nil) {
    let new = shared.port.take(since: &requests.seen, waits: !isLive)
    if !new.isEmpty { requests.entries += new.filter(isKept) }
    if !requests.entries.isEmpty { applyDue(number, from: first ?? number, frame) }
    for index in gates.indices {
      let returns = gates[index].output.returned.load(ordering: .acquiring)
      if let step = gates[index].gate.take(returns: returns) {
        stamp(step, gate: index, at: number)
      }
    }
  }

  /// Stamps requests and advances sequences when the source has returned without a frame.
  func stampIdle() {
    stampRequests(at: nextNumber)
    advanceSequences(at: nextNumber)
  }

  /// Applies the entries that hold from `number` on, and keeps the others in order.
  private func applyDue(_ number: UInt64, from first: UInt64, _ frame: ArrivedFrame?) {
    let firstDue = requests.entries.firstIndex { entry in
      entry.isWithdrawn || due(entry, number: number, from: first, frame) != nil
    }
    guard let firstDue else {
      return countWaiting()
    }
    var kept = Array(requests.entries[..<firstDue])
    var hasRoom = true
    for entry in requests.entries[firstDue...] where !entry.isWithdrawn {
      // If one entry has to wait for room, all later ones wait, too: this keeps their order.
      hasRoom = hasRoom && gates.allSatisfy(\.output.hasRoom)
      // To wake a sink takes no room.
      let fits = hasRoom || entry.woken != nil
      if let due = due(entry, number: number, from: first, frame), fits {
        apply(entry, at: due)
      } else {
        kept.append(entry)
      }
    }
    requests.entries = kept
    cancelEnded()
    countWaiting()
  }

  private func countWaiting() {
    shared.port.waiting.store(requests.entries.count { !$0.isOwn }, ordering: .relaxed)
  }

  /// Removes waiting requests for recordings that have ended, or that were stopped before they began.
  private func cancelEnded() {
    guard !requests.ended.isEmpty else { return }
    let ended = requests.ended
    requests.ended = []
    for index in requests.entries.indices {
      let entry = requests.entries[index]
      let lost = entry.steps.filter { ended.contains($0.change.recording) }
      // A further file has no recording any more; a second stop has nothing to do.
      if lost.contains(where: \.change.isNext) { _ = entry.ticket?.exchange(for: .isRefused) }
      requests.entries[index].steps.removeAll { ended.contains($0.change.recording) }
      if let sequence = requests.entries[index].sequence {
        let stopped = sequence.recordings.joined().filter(ended.contains)
        requests.entries[index].stopped.formUnion(stopped)
      }
    }
    requests.entries.removeAll { !isKept($0) }
  }

  /// The number from which on an entry holds; `nil` if it has to wait.
  private func due(
    _ entry: RequestPort.Entry, number: UInt64, from first: UInt64, _ frame: ArrivedFrame?
  ) -> UInt64? {
    // Settings have no effect without a frame. Their event belongs to a frame that arrived, so that a dump
    // has it in that frame's record.
    let isSetting = entry.settings != nil
    if isSetting, frame == nil { return nil }
    switch entry.moment {
    case .now: return number
    case .frame(let wanted):
      guard wanted <= number else { return nil }
      // For recordings it is exact also if that frame is missing.
      return isSetting ? number : max(wanted, first, requests.lastNumber)
    case .time(let wanted):
      guard let frame, !frame.isOverrun, let start = firstFrame(frame) else { return nil }
      let time = frame.captured.nanoseconds(since: start)
      return time.map { $0 >= wanted.nanosecondCount } ?? false ? number : nil
    case .captured(let wanted):
      guard let frame, !frame.isOverrun else { return nil }
      return frame.captured.nanoseconds(since: wanted).map { $0 >= 0 } ?? true ? number : nil
    }
  }

  private func apply(_ entry: RequestPort.Entry, at number: UInt64) {
    if let ticket = entry.ticket {
      guard ticket.exchange(for: isLate(entry.moment) ? .isLate : .takesEffect) else { return }
    }
    if let request = entry.settings {
      requests.lastNumber = number
      change(request, at: number)
    }
    if let sequence = entry.sequence { begin(sequence, without: entry.stopped) }
    if let sink = entry.woken { wake(sink) }
    for step in entry.steps {
      switch step.change {
      case .ended(let id), .end(let id):
        requests.ended.append(id)
        noteEnded(id)
      case .begin, .choose, .next, .pause, .resume: break
      }
      guard let index = gates.firstIndex(where: { $0.sink == step.sink }) else { continue }
      if let stamped = gates[index].gate.apply(step.change) {
        if stamped.kind == .refuse { entry.ticket?.refuse() }
        stamp(stamped, gate: index, at: number)
      }
    }
  }

  /// Whether the frame of a moment has passed: a request that was asked in time would have held from it.
  private func isLate(_ moment: Moment) -> Bool {
    switch moment {
    case .frame(let wanted): requests.passedNumber.map { $0 >= wanted } ?? false
    case .time(let wanted): requests.passedTime.map { $0 >= wanted.nanosecondCount } ?? false
    case .now, .captured: false
    }
  }

  /// Brings the gates in line with the epoch's sinks: a sink that stays keeps its gate.
  func enterGates(_ epoch: Epoch) {
    gates = epoch.sinks.compactMap { place in
      let state = place.state
      guard let stamped = state.stamped else { return nil }
      if var known = gates.first(where: { $0.sink == state.id }) {
        known.place = place.index
        known.gate.isOfStream = place.setup?.needsEarlierFrames ?? false
        return known
      }
      var gate = OutputGate(isAlwaysOpen: state.recorder?.preRoll != nil)
      gate.isOfStream = place.setup?.needsEarlierFrames ?? false
      return GatedOutput(sink: state.id, place: place.index, output: stamped, gate: gate)
    }
    resting = Dictionary(
      uniqueKeysWithValues: epoch.sinks.filter { $0.state.resting != nil }.map { ($0.state.id, $0) }
    )
    requests.entries.removeAll { !isKept($0) }
    for index in sequences.indices { sequences[index].checkSinks(gates) }
    countWaiting()
  }

  /// False for requests to sinks that were detached meanwhile: they wait no longer.
  private func isKept(_ entry: RequestPort.Entry) -> Bool {
    let isKept =
      entry.settings != nil || entry.sequence != nil || entry.woken != nil
      || entry.steps.contains { step in gates.contains { $0.sink == step.sink } }
    if !isKept { _ = entry.ticket?.exchange(for: .takesEffect) }
    return isKept
  }

  /// Counts a published frame at the gates: recordings that count frames may have enough now.
  func countPublished(_ frame: ArrivedFrame, number: UInt64) {
    guard frame.fate == nil else { return }
    for index in gates.indices where gates[index].gate.isAdmitting {
      if let step = gates[index].gate.countPublished() { stamp(step, gate: index, at: number + 1) }
    }
  }

  func stamp(_ step: Stamp.Step, gate index: Int, at number: UInt64) {
    requests.lastNumber = number
    let position = producer?.producer.position ?? 0
    gates[index].output.stamps.add(
      Stamp(step, number: number, position: position, epoch: generation).words)
    producer?.producer.wake(tap: RingPlan.TapIndex(gates[index].place))
  }
}

extension RequestPort.Entry {
  fileprivate var isWithdrawn: Bool { ticket?.isWithdrawn ?? false }
}
