import SprocketCore
import TestExpectations
import Testing

@testable import SprocketEngine

/// Searches all interleavings of a caller, the source's thread, the chain and a sink's thread, for a few
/// frames and requests: the engine's own gate, and a model of everything else.
struct RequestModelTests {
  @Test(arguments: RequestModel.scripts)
  func a2A3A5A7EveryInterleavingRecordsWhatWasAsked(_ script: [RequestModel.Request]) {
    let search = RequestModel.search(script)
    expectNil(search.violation)
    expectGreater(search.ends, 0)
  }

  /// Each rule closes a hole: without it the search finds a violation.
  @Test(arguments: RequestModel.Mistake.allCases)
  func withoutARuleTheSearchFindsAViolation(_ mistake: RequestModel.Mistake) {
    let found = RequestModel.scripts.contains {
      RequestModel.search($0, mistake: mistake).violation != nil
    }
    expectTrue(found)
  }
}

/// The state of all threads between two steps that others can see.
struct RequestModel: Hashable {
  enum Request: Hashable, Sendable {
    case record(UInt64)
    case photo(UInt64, frames: UInt64)
    case stop(UInt64)
    case pause(UInt64)
    case resume(UInt64)
  }

  enum Mistake: CaseIterable {
    /// A2: the request is stamped when the frame has been published.
    case stampsAfterPublishing
    /// A3: a stamp is applied before the frames below it have come.
    case ignoresThePosition
    /// A5: a stamp is applied behind the frame of its number.
    case appliesBehindTheFrame
    /// A10: a stamp wakes nobody.
    case forgetsToWake
    /// A12: frames that were lost are not returned.
    case forgetsLostFrames
  }

  static let scripts: [[Request]] = [
    [.record(1), .stop(1)], [.record(1), .stop(1), .record(2)],
    [.record(1), .stop(1), .record(2), .stop(2)],
    [.photo(1, frames: 1)], [.photo(1, frames: 2), .photo(2, frames: 1)],
    [.photo(1, frames: 2), .stop(1), .record(2)], [.record(1), .photo(2, frames: 1), .stop(1)],
    [.record(1), .stop(1), .photo(2, frames: 1)],
    [.record(1), .pause(1), .resume(1)], [.record(1), .pause(1), .resume(1), .stop(1)],
    [.record(1), .pause(1), .stop(1), .record(2)],
    [.record(1), .pause(1), .pause(1), .photo(2, frames: 1)],
  ]
  /// Numbers that the source produces.
  private static let numbers = 3

  private struct Slot: Hashable {
    var number: UInt64
    var isAdmitted: Bool
    /// `nil` until the chain has decided.
    var isKept: Bool?
  }

  private struct Mark: Hashable {
    var step: Stamp.Step
    var number: UInt64
    var position: Int
  }

  private struct Job: Hashable {
    var id: UInt64
    var left: UInt64?
    var isPaused = false
  }

  // The caller and the port.
  private var asked = 0
  private var port: [RequestPort.Change] = []
  // The source.
  private var gate = OutputGate()
  private var next: UInt64 = 0
  private var slots: [Slot] = []
  private var stamps: [Mark] = []
  // The chain.
  private var passed = 0
  // The sink.
  private var position = 0
  private var isParked = false
  private var applied = 0
  private var isAdmitting = false
  private var jobs: [Job] = []
  private var returned: UInt64 = 0
  private var files: [UInt64: [UInt64]] = [:]

  private init() {}

  /// Looks at every state that can be reached. `ends`: states in which nothing is left to do.
  static func search(
    _ script: [Request], mistake: Mistake? = nil
  ) -> (violation: String?, ends: Int) {
    var seen: Set<RequestModel> = [RequestModel()]
    var waiting = [RequestModel()]
    var ends = 0
    while let state = waiting.popLast() {
      let followers = state.followers(script, mistake)
      if followers.isEmpty {
        ends += 1
        if let violation = state.violation(script) { return (violation, ends) }
      }
      for follower in followers where seen.insert(follower).inserted { waiting.append(follower) }
    }
    return (nil, ends)
  }

  // MARK: Steps

  private func followers(_ script: [Request], _ mistake: Mistake?) -> [RequestModel] {
    var found: [RequestModel] = []
    func add(_ step: (inout RequestModel) -> Void) {
      var copy = self
      step(&copy)
      if copy != self { found.append(copy) }
    }
    if asked < script.count {
      add { state in
        state.port.append(script[state.asked].step)
        state.asked += 1
      }
    }
    if next < Self.numbers {
      add { $0.arrive(mistake) }
      // Without room: the number has no slot.
      add { state in
        state.stampAll(mistake)
        state.next += 1
      }
    }
    add { $0.stampAll(mistake) }
    if passed < slots.count {
      for isKept in [true, false] {
        add { state in
          state.slots[state.passed].isKept = isKept
          state.passed += 1
        }
      }
    }
    add { $0.stepSink(script, mistake) }
    return found
  }

  private mutating func arrive(_ mistake: Mistake?) {
    if mistake != .stampsAfterPublishing { stampAll(mistake) }
    slots.append(Slot(number: next, isAdmitted: gate.isAdmitting))
    next += 1
    if slots.last?.isAdmitted == true, let step = gate.countPublished() { stamp(step, mistake) }
    if mistake == .stampsAfterPublishing {
      next -= 1
      stampAll(mistake)
      next += 1
    }
  }

  private mutating func stampAll(_ mistake: Mistake?) {
    for request in port { if let step = gate.apply(request) { stamp(step, mistake) } }
    port = []
    if let step = gate.take(returns: returned) { stamp(step, mistake) }
  }

  private mutating func stamp(_ step: Stamp.Step, _ mistake: Mistake?) {
    stamps.append(Mark(step: step, number: next, position: slots.count))
    if isParked, mistake != .forgetsToWake {
      isParked = false
      position = slots.count
    }
  }

  private mutating func stepSink(_ script: [Request], _ mistake: Mistake?) {
    guard !isParked else { return }
    if position < passed {
      let slot = slots[position]
      let isBehind = mistake == .appliesBehindTheFrame
      while applied < stamps.count,
        isBehind ? stamps[applied].number < slot.number : stamps[applied].number <= slot.number
      {
        apply(script)
      }
      take(slot, mistake)
      position += 1
    } else if applied < stamps.count {
      let reached = min(position, passed)
      if mistake == .ignoresThePosition || stamps[applied].position <= reached { apply(script) }
    } else if jobs.isEmpty, !isAdmitting {
      isParked = true
    }
  }

  private mutating func apply(_ script: [Request]) {
    let step = stamps[applied].step
    applied += 1
    isAdmitting = step.isAdmitting
    let id = step.recording?.number ?? 0
    switch step.kind {
    case .begin: jobs.append(Job(id: id, left: script.frames(of: id)))
    case .end: jobs.removeAll { $0.id == id }
    case .pause, .resume:
      for index in jobs.indices where jobs[index].id == id {
        jobs[index].isPaused = step.kind == .pause
      }
    case .next, .change, .refuse: break
    }
  }

  private mutating func take(_ slot: Slot, _ mistake: Mistake?) {
    guard slot.isAdmitted, let job = jobs.first, !job.isPaused else { return }
    guard slot.isKept == true else {
      if job.left != nil, isAdmitting, mistake != .forgetsLostFrames { returned += 1 }
      return
    }
    files[job.id, default: []].append(slot.number)
    guard let left = job.left else { return }
    jobs[0].left = left - 1
    if left == 1 {
      jobs.removeFirst()
      port.append(.ended(RecordingID(job.id)))
    }
  }

  // MARK: What must hold

  /// What does not hold where nothing is left to do.
  private func violation(_ script: [Request]) -> String? {
    if isParked, !jobs.isEmpty || isAdmitting { return "parked with a recording" }
    if position < passed, !isParked { return "frames wait for the sink" }
    for request in script {
      guard case .record(let id) = request else {
        if case .photo(let id, let frames) = request, let found = photos(id, frames, script) {
          return found
        }
        continue
      }
      guard let begin = number(.begin, id) else {
        // Only another recording is a reason.
        if number(.refuse, id) == nil { return "recording \(id) has no answer" }
        continue
      }
      let end = number(.end, id) ?? next
      let pause = number(.pause, id) ?? end
      let paused = pause..<max(pause, number(.resume, id) ?? end)
      let wanted = slots.filter {
        $0.isKept == true && begin..<end ~= $0.number && !(paused ~= $0.number)
      }.map(\.number)
      if files[id] ?? [] != wanted {
        return "recording \(id) has \(files[id] ?? []), not \(wanted)"
      }
    }
    return nil
  }

  private func photos(_ id: UInt64, _ frames: UInt64, _ script: [Request]) -> String? {
    guard let begin = number(.begin, id) else {
      return number(.refuse, id) == nil ? "recording \(id) has no answer" : nil
    }
    let file = files[id] ?? []
    if UInt64(file.count) > frames { return "recording \(id) has \(file.count) of \(frames)" }
    if let first = file.first, first < begin { return "recording \(id) has a frame from before" }
    let isStopped = number(.end, id) != nil
    // The frames ran out, and the gate would take more.
    let isOpen = gate.isAdmitting
    if UInt64(file.count) < frames, !isStopped, !isOpen {
      return "recording \(id) gets no more frames"
    }
    return nil
  }

  private func number(_ kind: Stamp.Kind, _ id: UInt64) -> UInt64? {
    stamps.first { $0.step.kind == kind && $0.step.recording?.number == id }?.number
  }
}

extension RequestModel.Request {
  fileprivate var step: RequestPort.Change {
    switch self {
    case .record(let id): .begin(RecordingID(id), frames: nil)
    case .photo(let id, let frames): .begin(RecordingID(id), frames: frames)
    case .stop(let id): .end(RecordingID(id))
    case .pause(let id): .pause(RecordingID(id))
    case .resume(let id): .resume(RecordingID(id))
    }
  }
}

extension [RequestModel.Request] {
  fileprivate func frames(of id: UInt64) -> UInt64? {
    for case .photo(id, let frames) in self { return frames }
    return nil
  }
}
