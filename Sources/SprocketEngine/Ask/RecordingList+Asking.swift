internal import SprocketCore

// For the caller of `ask`.
extension RecordingList {
  /// Takes places for files, makes the files, and adds one entry to the port: for all of the requests, or
  /// for none. Returns the recording of each request.
  func ask(_ requests: [Request], at moment: Moment) throws(RunError) -> [RecordingID] {
    var jobs: [Job?] = []
    do throws(RunError) {
      guard requests.count <= RequestPort.mostTogether else {
        throw RunError(.usage, "at most \(RequestPort.mostTogether) requests can be asked together")
      }
      let isAlone = requests.count == 1 && moment == .now
      for request in requests { jobs.append(try prepare(request, isAlone: isAlone)) }
      return try add(requests, jobs, moment) { RequestPort.Entry(steps: $1, moment: moment) }
    } catch {
      abandon(jobs)
      throw error
    }
  }

  /// The same for the steps of a sequence.
  func ask(
    _ steps: [[Request]], at moment: Moment,
    _ make: ([[RecordingID]], [[RequestPort.Step]]) -> RecordingSequence
  ) throws(RunError) -> RecordingSequence {
    var jobs: [Job?] = []
    var made: RecordingSequence?
    do throws(RunError) {
      for request in steps.joined() {
        try requireNoHistory(request)
        jobs.append(try prepare(request, isAlone: false, isStep: true))
      }
      _ = try add(Array(steps.joined()), jobs, moment) { ids, changes in
        var first = 0
        let ranges = steps.map { step in
          defer { first += step.count }
          return first..<first + step.count
        }
        let sequence = make(ranges.map { Array(ids[$0]) }, ranges.map { Array(changes[$0]) })
        made = sequence
        return RequestPort.Entry(sequence: sequence, moment: moment)
      }
    } catch {
      abandon(jobs)
      throw error
    }
    guard let made else { preconditionFailure("a sequence was accepted and not made") }
    return made
  }

  private func abandon(_ jobs: [Job?]) {
    for case let job? in jobs {
      job.file.abandon()
      state.withLock { $0.giveBack(job.owner) }
    }
  }

  /// A step has no pictures from before its controls.
  private func requireNoHistory(_ request: Request) throws(RunError) {
    guard case .record(let name, _, _) = request else { return }
    let index = try sink(named: name)
    guard state.withLock({ $0.outputs[index]?.recorder.recorder.preRoll }) != nil else { return }
    throw RunError(
      .usage,
      "\(name) keeps pictures from before a recording, which have other settings than its step; "
        + "give a sink without a pre-roll")
  }

  /// Takes a place and makes a file. Returns `nil` for a request that needs no file.
  private func prepare(
    _ request: Request, isAlone: Bool, isStep: Bool = false
  ) throws(RunError) -> Job? {
    switch request {
    case .record(let name, let path, let frames):
      guard 1...Self.mostFrames ~= frames ?? 1 else {
        throw RunError(.usage, "a recording has 1 to \(Self.mostFrames) frames")
      }
      let sink = try sink(named: name)
      // Checked before a file is made: a file takes a number.
      let busy = state.withLock { isAlone ? $0.busy(sink, counts: frames != nil) : nil }
      if let busy { throw busy }
      return try prepare(nil, sink: sink, path: path, frames: frames, isStep: isStep)
    case .next(let id, let path):
      let sink = try sink(recording: id)
      return try prepare(id, sink: sink, path: path, frames: nil)
    case .stop: return nil
    }
  }

  private func add(
    _ requests: [Request], _ jobs: [Job?], _ moment: Moment,
    _ makeEntry: ([RecordingID], [RequestPort.Step]) -> RequestPort.Entry
  ) throws(RunError) -> [RecordingID] {
    let result: Result<[RecordingID], RunError> = state.withLock { state in
      do throws(RunError) {
        guard !state.isClosed else { throw RunError(.usage, "the run has ended") }
        // The state changes only if all requests are accepted.
        var next = state
        var ids: [RecordingID] = []
        var steps: [RequestPort.Step] = []
        for (request, job) in zip(requests, jobs) {
          let (id, step) = try next.note(request, job, moment)
          ids.append(id)
          steps.append(step)
        }
        guard port.add(makeEntry(ids, steps)) else {
          throw port.refusal
        }
        state = next
        return .success(ids)
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }
}

extension RecordingList.State {
  /// Why a recording cannot begin at the next frame; `nil` if it can.
  fileprivate func busy(_ sink: Int, counts: Bool) -> RunError? {
    current(sink).first { !(counts && $0.counts) }.map {
      RunError(
        .usage,
        "\(outputs[sink]?.name ?? "it") is recording already (recording \($0.id)); stop that first")
    }
  }

  /// Checks a request against earlier ones, and stores it.
  fileprivate mutating func note(
    _ request: Request, _ job: RecordingList.Job?, _ moment: Moment
  ) throws(RunError) -> (RecordingID, RequestPort.Step) {
    switch (request, job) {
    case (.record(_, let path, let frames), let job?):
      let id = job.record.id
      guard outputs[job.sink] != nil else { throw RecordingList.isDetached(job.record.sink) }
      if moment == .now, let busy = busy(job.sink, counts: frames != nil) { throw busy }
      if case .frame(let number) = moment { job.askedFrame = number }
      waiting.append(job)
      outputs[job.sink]?.underWay.append(
        RecordingList.UnderWay(id: id, counts: frames != nil, path: path, isLater: moment != .now))
      return (id, RequestPort.Step(sink: job.sink, change: .begin(id, frames: frames)))
    case (.next(let id, _), let job?):
      guard outputs[job.sink]?.underWay.contains(where: { $0.id == id && !$0.counts }) == true
      else {
        throw RunError(
          .usage, "recording \(id) has ended, or counts its frames, which go into one file")
      }
      waiting.append(job)
      return (id, RequestPort.Step(sink: job.sink, change: .next(id)))
    case (.stop(let id), _):
      guard let sink = sink(recording: id) else { throw RecordingList.hasEnded(id, self) }
      // A recording that is to end at a later frame goes on until then.
      if moment == .now { ending.insert(id) }
      return (id, RequestPort.Step(sink: sink, change: .end(id)))
    case (.record, nil), (.next, nil): preconditionFailure("a request without its file")
    }
  }
}
