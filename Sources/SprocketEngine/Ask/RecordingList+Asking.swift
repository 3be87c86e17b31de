internal import SprocketCore

// For the caller of `ask`.
extension RecordingList {
  /// Takes places for files, makes the files, and adds one entry to the port: for all of the requests, or
  /// for none.
  func ask(
    _ requests: [Request], at moment: Moment, by holder: RequestHolder
  ) throws(RunError) -> AskedRequests {
    var jobs: [Job?] = []
    do throws(RunError) {
      guard requests.count <= RequestPort.mostTogether else {
        throw RunError(.usage, "at most \(RequestPort.mostTogether) requests can be asked together")
      }
      let isAlone = requests.count == 1 && moment == .now
      for request in requests { jobs.append(try prepare(request, isAlone: isAlone)) }
      return try add(requests, jobs, moment, holder)
    } catch {
      abandon(jobs)
      throw error
    }
  }

  /// Takes places for the files of a sequence, makes the files, and adds one entry to the port: for all of
  /// its steps, or for none.
  func ask(
    _ steps: [[Request]], at moment: Moment,
    _ make: ([[RecordingID]], [[RequestPort.Step]]) -> RecordingSequence
  ) throws(RunError) -> RecordingSequence {
    var jobs: [Job?] = []
    do throws(RunError) {
      for request in steps.joined() {
        try requireNoHistory(request)
        jobs.append(try prepare(request, isAlone: false, isStep: true))
      }
      return try state.withLock { (state) throws(RunError) in
        var next = state
        let noted = try next.note(Array(steps.joined()), jobs, moment)
        var first = 0
        let ranges = steps.map { step in
          defer { first += step.count }
          return first..<first + step.count
        }
        let sequence = make(
          ranges.map { noted.ids[$0].map { $0 } }, ranges.map { noted.steps[$0].map { $0 } })
        guard port.add(RequestPort.Entry(sequence: sequence, moment: moment)) else {
          throw port.refusal
        }
        state = next
        return sequence
      }
    } catch {
      abandon(jobs)
      throw error
    }
  }

  var isOpen: Bool { state.withLock { !$0.book.isClosed } }

  /// Whether the holder may make one more request that waits, and one more file.
  func hasRoom(for holder: RequestHolder) -> Bool {
    state.withLock { $0.refusal(of: holder) == nil && $0.book.hasRoom() }
  }

  /// Outcomes of requests of followed holders, each once.
  func takeOutcomes() -> [(id: RequestID, outcome: RequestOutcome)] {
    state.withLock { state in
      var known: [(id: RequestID, outcome: RequestOutcome)] = []
      // Asked once for each ticket: the source's thread may decide meanwhile.
      state.followed.removeAll { ticket in
        guard let outcome = ticket.outcome else { return ticket.isWithdrawn }
        known.append((id: ticket.id, outcome: outcome))
        return true
      }
      return known
    }
  }

  /// Takes back a request that waits for its frame. Returns the files that are not needed. Throws if it has
  /// taken effect.
  func withdraw(
    _ id: RequestID, of holder: RequestHolder
  ) throws(RunError) -> (unused: [Job], settings: SettingRequest?) {
    try state.withLock { (state) throws(RunError) in
      let ticket = state.tickets.first { ticket in
        ticket.id == id && ticket.isLater && (holder == .program || ticket.holder == holder)
      }
      guard let ticket, ticket.exchange(for: .withdrawn) else {
        throw RunError(
          .usage, "no request \(id) waits for a later frame: it has taken effect, or there was none"
        )
      }
      state.tickets.removeAll { $0 === ticket }
      let unused = state.book.withdraw(ticket.files, stops: ticket.stops)
      return (state.take(unused), ticket.settings)
    }
  }

  /// Adds a change of settings to the port.
  func add(
    _ settings: SettingRequest, at moment: Moment, by holder: RequestHolder
  ) throws(RunError) -> RequestID {
    try state.withLock { (state) throws(RunError) in
      let ticket = RequestTicket(port.newID(), holder, moment, settings: settings)
      try state.keep(ticket)
      guard port.add(RequestPort.Entry(settings: settings, ticket: ticket, moment: moment)) else {
        throw port.refusal
      }
      return ticket.id
    }
  }

  /// A step has no pictures from before its controls.
  private func requireNoHistory(_ request: Request) throws(RunError) {
    guard case .record(let name, _, _) = request else { return }
    let hasHistory = try state.withLock { (state) throws(RunError) in
      let sink = try state.book.sink(named: name)
      return state.outputs[sink]?.recorder.recorder.preRoll?.use == .beginnings
    }
    guard hasHistory else { return }
    throw RunError(
      .usage,
      "\(name) keeps pictures from before a recording, which have other settings than its step; "
        + "give a sink without a pre-roll")
  }

  static func check(_ frames: UInt64?) throws(RunError) {
    guard 1...mostFrames ~= frames ?? 1 else {
      throw RunError(.usage, "a recording has 1 to \(mostFrames) frames")
    }
  }

  /// Takes a place and makes a file. Returns `nil` for a request that needs no file.
  private func prepare(
    _ request: Request, isAlone: Bool, isStep: Bool = false
  ) throws(RunError) -> Job? {
    let made: Job?
    switch request {
    case .record(let name, let path, let frames):
      try Self.check(frames)
      let sink = try state.withLock { (state) throws(RunError) in
        let sink = try state.book.sink(named: name)
        // Checked before a file is made: a file takes a number.
        if isAlone, let busy = state.book.busy(sink, counts: frames != nil) { throw busy }
        return sink
      }
      made = try makeFile(sink: sink, path: path, frames: frames, isStep: isStep)
    case .choose(let name, let path, let choice):
      made = try makeFile(sink: try sink(named: name, for: choice), path: path, frames: 1)
      made?.choice = choice
    case .next(let id, let path):
      let sink = try state.withLock { (state) throws(RunError) in
        guard let sink = state.book.sink(of: id) else { throw state.book.hasEnded(id) }
        return sink
      }
      made = try makeFile(id, sink: sink, path: path, frames: nil)
    case .pause, .resume, .stop: return nil
    }
    if let made { return made }
    throw RunError(
      .failed,
      isStep
        ? "a sequence takes files up to \(RecordingBook.sequenceCapacity), with those that are still being "
          + "completed; ask for fewer, or again when these are complete"
        : "\(RecordingBook.capacity) files are still being completed; ask again when the disk has caught up"
    )
  }

  private func add(
    _ requests: [Request], _ jobs: [Job?], _ moment: Moment, _ holder: RequestHolder
  ) throws(RunError) -> AskedRequests {
    try state.withLock { (state) throws(RunError) in
      // The state changes only if all requests are accepted.
      var next = state
      let noted = try next.note(requests, jobs, moment)
      let ticket = RequestTicket(
        port.newID(), holder, moment, files: jobs.compactMap { $0?.order.part.file },
        stops: noted.stops, isFree: noted.isFree)
      if !noted.steps.isEmpty { try next.keep(ticket) }
      let ago = requests.compactMap(\.choice?.ago).max() ?? .zero
      let entry = RequestPort.Entry(
        steps: noted.steps, ticket: ticket, moment: moment.earlier(by: ago))
      guard noted.steps.isEmpty || port.add(entry, isOwn: noted.isFree) else { throw port.refusal }
      state = next
      return AskedRequests(recordings: noted.ids, id: ticket.id)
    }
  }
}

extension RecordingList.State {
  fileprivate struct Noted {
    var ids: [RecordingID] = []
    var steps: [RequestPort.Step] = []
    /// Recordings whose stop uses their reserved place.
    var stops: [RecordingID] = []
    /// Whether all requests are stops that use a reserved place.
    var isFree = true
  }

  /// Checks requests against earlier ones, and stores them.
  fileprivate mutating func note(
    _ requests: [Request], _ made: [RecordingList.Job?], _ moment: Moment
  ) throws(RunError) -> Noted {
    var noted = Noted()
    for (request, job) in zip(requests, made) {
      let step: RequestPort.Step
      let id: RecordingID
      switch (request, job) {
      case (.record(_, _, let frames), let job?):
        try book.add(job.order, counts: frames != nil, at: moment)
        if case .frame(let number) = moment { job.askedFrame = number }
        id = job.order.recording
        step = RequestPort.Step(sink: job.sink, change: .begin(id, frames: frames))
      case (.choose, let job?):
        try book.add(job.order, counts: true, isChoice: true, at: moment)
        job.aim(at: moment)
        id = job.order.recording
        step = RequestPort.Step(sink: job.sink, change: .choose(id))
      case (.next, let job?):
        try book.add(next: job.order)
        id = job.order.recording
        step = RequestPort.Step(sink: job.sink, change: .next(id, job.order.part.file))
      case (.pause(let paused), _):
        id = paused
        step = RequestPort.Step(sink: try book.sink(pausing: paused), change: .pause(paused))
      case (.resume(let resumed), _):
        id = resumed
        step = RequestPort.Step(sink: try book.sink(pausing: resumed), change: .resume(resumed))
      case (.stop(let stopped), _):
        let (sink, isFirst) = try book.add(stop: stopped, at: moment)
        noted.ids.append(stopped)
        // A recording that ends at the next frame already needs no second stop.
        if moment == .now, !isFirst { continue }
        noted.steps.append(RequestPort.Step(sink: sink, change: .end(stopped)))
        if isFirst { noted.stops.append(stopped) } else { noted.isFree = false }
        continue
      case (.record, nil), (.choose, nil), (.next, nil):
        preconditionFailure("a request without its file")
      }
      if let job { jobs[job.order.part.file] = job }
      noted.isFree = false
      noted.ids.append(id)
      noted.steps.append(step)
    }
    return noted
  }

  /// Stores the ticket of a waiting request. Throws if too many requests of its holder wait.
  fileprivate mutating func keep(_ ticket: RequestTicket) throws(RunError) {
    tickets.removeAll { !$0.waits }
    if !ticket.isFree, let refusal = refusal(of: ticket.holder) { throw refusal }
    tickets.append(ticket)
    if ticket.holder.isFollowed { followed.append(ticket) }
  }

  /// Why a holder cannot make a request that waits; `nil` if it can.
  fileprivate func refusal(of holder: RequestHolder) -> RunError? {
    guard let most = holder.most else { return nil }
    let held = tickets.filter { $0.waits && !$0.isFree && $0.holder.most != nil }
    let own = held.count { $0.holder == holder }
    guard own >= most || held.count >= RequestHolder.mostOfClients else { return nil }
    return RunError(
      .failed,
      "\(own < most ? "\(held.count) requests of clients" : "\(own) requests of yours") wait for their "
        + "frame; cancel one, or ask again when one has taken effect")
  }
}
