internal import SprocketCore

/// Identifies a file of a recording from the call that asks for it to the stamp with which it begins.
struct FileID: Hashable, Sendable {
  let number: UInt64
}

/// State of all recordings of a run that have not ended. It is a plain value without locks and files:
/// `RecordingList` protects it with a lock, and `RecordingBookTests` enumerates its states.
///
/// A recording is asked for, begins with its stamp, continues in further files, and ends. One function
/// performs each of these steps. A request takes effect with its stamp; until then its file is a waiting
/// `Part`. A refused request changes nothing.
///
/// Keeps of the contract of requests:
/// - A1: a request about a recording that has ended is refused with the reason of its end.
/// - A6: a recording, and each further file, takes a place when it is asked for and gives it back with its
///   record. Without a place the request is refused; no request is refused later for want of one.
struct RecordingBook: Hashable {
  /// Files that are asked for and not yet complete. Larger: a slower disk refuses fewer requests, at the
  /// cost of as many open files.
  static let capacity = 80
  /// Number of files up to which a sequence may be asked. Its files have places from the call on; the rest is
  /// for other recordings. Larger: longer sequences.
  static let sequenceCapacity = 64
  /// Reasons of ends that are kept, as many as records. Larger: later questions are answered.
  static let kept = 1024

  /// A sink, attached or detached, by its number in the run and its name.
  struct Owner: Hashable {
    let sink: Int
    let name: String
  }

  /// A file that was asked for and has not begun.
  struct Part: Hashable {
    let file: FileID
    /// The path that was asked for, or that the recording had then; `nil` for the sink's own.
    let path: String?
    /// Number of the file among those of its path; the sink may take a later one.
    let index: Int
    /// Whether it is a further file of its recording, and not the first.
    let isFurther: Bool
  }

  struct Recording: Hashable {
    let id: RecordingID
    /// Whether it ends by itself, when it has as many frames as were asked for.
    let counts: Bool
    /// Whether it is one chosen frame: no other recording is in its way.
    let isChoice: Bool
    /// Whether it was asked for at a later frame than the next, and has not begun.
    var isLater: Bool
    /// Whether a stop at the next frame is on its way, and whether one at a later frame is.
    var isEnding = false
    var endsLater = false
    /// The path of the file under way, and the file's number among those of that path.
    var path: String?
    var index: Int
    /// Files that have not begun, in the order asked.
    var waiting: [Part]

    /// The number of the next file of that path.
    fileprivate func nextIndex(of path: String) -> Int {
      let waits = waiting.filter { $0.path == path }.map(\.index).max() ?? 0
      return max(waits, self.path == path ? index : 0) + 1
    }
  }

  struct Sink: Hashable {
    let name: String
    /// Number of the latest file with a name of the sink's own.
    var lastIndex = 0
    /// Recordings that have not ended, in the order asked.
    var recordings: [Recording] = []
  }

  /// What a caller needs to make a file.
  struct Order: Hashable {
    let owner: Owner
    let recording: RecordingID
    let part: Part
  }

  /// Sinks by their number in the run. Only the functions of this type change it.
  var sinks: [Int: Sink] = [:]
  /// Number of files that were asked for and are not complete, by sink.
  private(set) var places: [Owner: Int] = [:]
  private var recordingCount: UInt64 = 0
  private var fileCount: UInt64 = 0
  /// Why recordings ended, the latest ones.
  private var reasons: [Reason] = []
  private(set) var isClosed = false

  struct Reason: Hashable {
    let id: RecordingID
    let end: RecordingEnd
  }

  // MARK: Sinks

  mutating func attach(_ sink: Int, name: String) { sinks[sink] = Sink(name: name) }

  /// Refuses requests to a sink from now on, and ends its recordings that have not begun. Returns the files
  /// that are not needed.
  mutating func detach(_ sink: Int) -> [FileID] {
    guard let left = sinks.removeValue(forKey: sink) else { return [] }
    // The sink's thread ends those that have begun.
    for recording in left.recordings where recording.waiting.contains(where: { !$0.isFurther }) {
      add(Reason(id: recording.id, end: .detached))
    }
    return left.recordings.flatMap { $0.waiting.map(\.file) }
  }

  /// Refuses all later requests. Returns the files that have not begun.
  mutating func close() -> [FileID] {
    isClosed = true
    var unused: [FileID] = []
    for sink in sinks.keys.sorted() {
      for index in sinks[sink, default: Sink(name: "")].recordings.indices {
        unused += sinks[sink]?.recordings[index].waiting.map(\.file) ?? []
        sinks[sink]?.recordings[index].waiting = []
      }
    }
    return unused
  }

  func sink(named name: String) throws(RunError) -> Int {
    if let found = sinks.first(where: { $0.value.name == name })?.key { return found }
    let known = sinks.values.map(\.name).sorted()
    throw RunError(
      .usage,
      known.isEmpty
        ? "this run has no on-demand sink; make one that waits for requests"
        : "no on-demand sink is called \(name); " + knownNames(known, near: name))
  }

  /// The sink of a recording that has not ended.
  func sink(of id: RecordingID) -> Int? {
    sinks.first { $0.value.recordings.contains { $0.id == id } }?.key
  }

  func recording(_ id: RecordingID) -> Recording? {
    sinks.values.lazy.flatMap(\.recordings).first { $0.id == id }
  }

  /// A sink's recordings that have begun, or begin at the next frame, without those that end there.
  func current(_ sink: Int) -> [Recording] {
    sinks[sink]?.recordings.filter { !$0.isEnding && !$0.isLater && !$0.isChoice } ?? []
  }

  func reason(_ id: RecordingID) -> RecordingEnd? { reasons.last { $0.id == id }?.end }

  // MARK: Files

  /// Whether there is a place for one more file, or for one more file of a sequence.
  func hasRoom(isStep: Bool = false) -> Bool {
    places.values.reduce(0, +) < (isStep ? Self.sequenceCapacity : Self.capacity)
  }

  /// Takes a place for the first file of a new recording, or for a further one of `known`. `nil` if there is
  /// none.
  mutating func reserve(
    _ sink: Int, path: String?, of known: RecordingID? = nil, isStep: Bool = false
  ) throws(RunError) -> Order? {
    guard let name = sinks[sink]?.name else { throw Self.isDetached("the sink") }
    guard hasRoom(isStep: isStep) else { return nil }
    var (path, index) = (path, 1)
    if let known {
      guard let recording = recording(known) else { throw hasEnded(known) }
      if path == nil, let own = recording.path {
        (path, index) = (own, recording.nextIndex(of: own))
      }
    } else {
      recordingCount += 1
    }
    if path == nil {
      sinks[sink]?.lastIndex += 1
      index = sinks[sink]?.lastIndex ?? 1
    }
    fileCount += 1
    let owner = Owner(sink: sink, name: name)
    places[owner, default: 0] += 1
    let part = Part(
      file: FileID(number: fileCount), path: path, index: index, isFurther: known != nil)
    return Order(owner: owner, recording: known ?? RecordingID(recordingCount), part: part)
  }

  /// Gives back the place and the number of an order whose file could not be made, or whose request was
  /// refused.
  mutating func release(_ order: Order) {
    giveBack(order.owner)
    let sink = order.owner.sink
    if order.part.path == nil, sinks[sink]?.lastIndex == order.part.index {
      sinks[sink]?.lastIndex -= 1
    }
  }

  /// Gives back the place of a file that is complete.
  mutating func giveBack(_ owner: Owner) {
    let left = places[owner, default: 0] - 1
    precondition(left >= 0, "a place of \(owner.name) was given back twice")
    places[owner] = left > 0 ? left : nil
  }

  // MARK: Requests

  /// Why a recording cannot begin at the next frame; `nil` if it can.
  func busy(_ sink: Int, counts: Bool) -> RunError? {
    current(sink).first { !(counts && $0.counts) }.map {
      RunError(
        .usage,
        "\(sinks[sink]?.name ?? "it") is recording already (recording \($0.id)); stop that first")
    }
  }

  /// Adds a recording. The caller has made its first file already.
  mutating func add(
    _ order: Order, counts: Bool, isChoice: Bool = false, at moment: Moment
  ) throws(RunError) {
    try requireOpen()
    guard sinks[order.owner.sink] != nil else { throw Self.isDetached(order.owner.name) }
    if moment == .now, !isChoice, let busy = busy(order.owner.sink, counts: counts) { throw busy }
    sinks[order.owner.sink]?.recordings.append(
      Recording(
        id: order.recording, counts: counts, isChoice: isChoice, isLater: moment != .now,
        path: order.part.path, index: order.part.index, waiting: [order.part]))
  }

  /// Adds a further file of a recording. The caller has made the file already.
  mutating func add(next order: Order) throws(RunError) {
    try requireOpen()
    let isThere = change(order.recording) { recording in
      guard !recording.counts else { return false }
      recording.waiting.append(order.part)
      return true
    }
    guard isThere == true else {
      throw RunError(
        .usage,
        "recording \(order.recording) has ended, or counts its frames, which go into one file")
    }
  }

  /// Adds a stop. Returns the recording's sink, and whether the recording had no such stop yet. Each
  /// recording reserves one place for a stop at the next frame, and one for a stop at a later frame.
  mutating func add(
    stop id: RecordingID, at moment: Moment
  ) throws(RunError) -> (sink: Int, isFirst: Bool) {
    try requireOpen()
    guard let sink = sink(of: id) else { throw hasEnded(id) }
    let isFirst = change(id) { recording in
      let wasAsked = moment == .now ? recording.isEnding : recording.endsLater
      // A recording that is to end at a later frame goes on until then.
      if moment == .now { recording.isEnding = true } else { recording.endsLater = true }
      return !wasAsked
    }
    return (sink, isFirst ?? false)
  }

  // MARK: Parts of these

  func recording(of file: FileID) -> Recording? {
    sinks.values.lazy.flatMap(\.recordings).first { $0.waiting.contains { $0.file == file } }
  }

  /// Changes a recording with `body`; returns `nil` if it has ended.
  @discardableResult
  mutating func change<Result>(
    _ id: RecordingID, _ body: (inout Recording) -> Result
  ) -> Result? {
    guard let sink = sink(of: id),
      let place = sinks[sink]?.recordings.firstIndex(where: { $0.id == id })
    else { return nil }
    return body(&sinks[sink, default: Sink(name: "")].recordings[place])
  }

  /// Stores why a recording ended. A later stop may find a recording that has ended already: the first reason
  /// is kept.
  mutating func add(_ reason: Reason) {
    if reasons.contains(where: { $0.id == reason.id }) { return }
    if reasons.count == Self.kept { reasons.removeFirst() }
    reasons.append(reason)
  }

  func requireOpen() throws(RunError) {
    if isClosed { throw RunError(.usage, "the run has ended") }
  }

  func hasEnded(_ id: RecordingID) -> RunError {
    if let reason = reason(id)?.sentence {
      return RunError(.usage, "recording \(id) has ended: \(reason)")
    }
    let isKnown = id.number > 0 && id.number <= recordingCount
    return RunError(
      .usage, isKnown ? "recording \(id) has ended long ago" : "there is no recording \(id)")
  }
}
