internal import FoundationEssentials
internal import Sprocket
internal import SprocketPipelines

/// Answers requests in JSON (docs/on-demand.md). Later versions add keys and requests, and remove none.
struct RequestAnswerer: Sendable {
  /// Version of the protocol. It is increased when a request or a key is added.
  static let version = 1

  private let desk: RequestDesk
  /// Path of the socket by which requests come; `nil` for those of a script.
  private let socket: String?

  init(_ desk: RequestDesk, socket: String? = nil) {
    self.desk = desk
    self.socket = socket
  }

  fileprivate struct Answer: Encodable {
    var ok: Bool? = true
    var error: String?
    var note: String?
    var recording: UInt64?
    /// Number for `cancel`, while the request waits for its frame.
    var id: UInt64?
    var status: StatusDocument?
    var recordings: [RecordingDocument]?
    var event: String?
    var file: RecordingDocument?
    var frame: UInt64?
    var stage: String?
    var settings: [String: String]?
    var control: String?
    var value: Double?
    var controls: [String: Double]?
  }

  /// What comes of a line of a client. An answer has a line's end.
  enum Outcome {
    case answer(String)
    /// The answer, and from now on events.
    case events(String)
    /// Makes the answer, and may take long.
    case work(() -> String)
  }

  func outcome(_ line: [UInt8], of client: RequestHolder) -> Outcome {
    do throws(RunError) {
      let request = try parse(line)
      if request.isSlow { return .work { answerText(request, client) } }
      return request.request == "events"
        ? .events(answerText(request, client)) : .answer(answerText(request, client))
    } catch {
      return .answer(refusal(error.told))
    }
  }

  private func answerText(_ request: Request, _ client: RequestHolder) -> String {
    do throws(RunError) {
      return text(try answer(request, client))
    } catch {
      return refusal(error.told)
    }
  }

  /// Reads and checks a request of a script, before the run.
  func parseAhead(_ line: [UInt8]) throws(RunError) -> (request: Request, moment: Moment) {
    let request = try parse(line)
    let known = "record, photo, stop, next and set"
    guard Request.known[request.request]?.contains("at_frame") == true else {
      throw RunError(
        .usage,
        "a script cannot have `\(request.request)`; it has \(known), each with at_frame or at_s")
    }
    let moment = try request.moment
    guard moment != .now else {
      throw RunError(
        .usage,
        "`\(request.request)` has no moment; a script has \(known), each with at_frame or at_s")
    }
    if let path = request.path { try FileIdentity.refuseDescriptor(path, request.request) }
    switch request.request {
    case "set":
      let (stage, values) = try request.stageSettings
      try desk.engine.check(stage, values)
    case "photo": try desk.check(photo: true, frames: request.frames)
    case "record": try desk.check(photo: false, sink: request.sink, frames: request.frames)
    default: break
    }
    return (request, moment)
  }

  /// Makes a request. Returns its number while it waits for its frame.
  func ask(_ request: Request, by holder: RequestHolder) throws(RunError) -> RequestID? {
    try answer(request, holder).id.map { RequestID($0) }
  }

  func refusal(_ sentence: String) -> String { text(Answer(ok: false, error: sentence)) }

  /// The place after all events so far.
  var mark: NewsMark { desk.engine.newsMark }

  /// A line for each event since `mark`, which moves on.
  func events(since mark: inout NewsMark) -> [String] {
    desk.engine.news(since: &mark).map { news in
      switch news {
      case .started(let record):
        text(Answer(ok: nil, event: "started", file: RecordingDocument(record)))
      case .ended(let record):
        text(Answer(ok: nil, event: "ended", file: RecordingDocument(record)))
      case .settings(let changed, let frame):
        text(
          Answer(
            ok: nil, event: "settings", frame: frame, stage: changed.stage, settings: changed.values
          ))
      case .reconfigured(let frame):
        text(Answer(ok: nil, event: "reconfigured", frame: frame))
      case .control(let name, let value, let frame):
        text(
          Answer(
            ok: nil, event: "control", frame: frame, control: name,
            value: value.isFinite ? value : nil))
      }
    }
  }

  /// The event of the run's end.
  func end() -> String { text(Answer(ok: nil, event: "end")) }

  private func answer(
    _ request: Request, _ client: RequestHolder
  ) throws(RunError) -> Answer {
    let id = request.recording.map { RecordingID($0) }
    let time = AskedTime(moment: try request.moment, holder: client)
    if let path = request.path { try FileIdentity.refuseDescriptor(path, request.request) }
    switch request.request {
    case "record":
      return Answer(
        asked: try desk.record(
          path: request.path, frames: request.frames, sink: request.sink, time), time)
    case "photo":
      return Answer(asked: try desk.photo(frames: request.frames ?? 1, time), time)
    case "next": return Answer(asked: try desk.next(id, path: request.path, time), time)
    case "stop": return Answer(asked: try desk.stop(id, time), time)
    case "cancel":
      guard let id = request.id else {
        throw RunError(.usage, "`cancel` has the `id` from the answer to the request")
      }
      try desk.engine.withdraw(RequestID(id), of: client)
      return Answer()
    case "control":
      var wishes = request.controls?.mapValues(\.text) ?? [:]
      if let name = request.name, let value = request.value {
        guard wishes[name] == nil else {
          throw RunError(
            .usage, "`control` gives \(name) twice, in name and in controls; give it once")
        }
        wishes[name] = value.text
      }
      guard !wishes.isEmpty, (request.name == nil) == (request.value == nil) else {
        throw RunError(.usage, "`control` has a name and a value, or controls")
      }
      let sorted = wishes.sorted { $0.key < $1.key }.map { (name: $0.key, text: $0.value) }
      let made = try desk.control(sorted)
      return Answer(note: made.note, controls: made.values.isEmpty ? nil : made.values)
    case "set":
      let (stage, values) = try request.stageSettings
      let id = try desk.engine.set(stage, values, at: time.moment, by: client)
      return Answer(id: time.moment == .now ? nil : id.number)
    case "reconfigure":
      try desk.reconfigure(request.change)
      return Answer()
    case "status": return Answer(status: StatusDocument(desk.engine, socket: socket))
    case "recordings":
      return Answer(recordings: desk.engine.recordingRecords.map { RecordingDocument($0) })
    case "quit":
      desk.engine.stop()
      return Answer()
    default: return Answer()
    }
  }

  private func text(_ answer: Answer) -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let data = (try? encoder.encode(answer)) ?? Data("{\"ok\":false}".utf8)
    return String(decoding: data, as: UTF8.self) + "\n"
  }
}

extension RequestAnswerer.Answer {
  fileprivate init(asked: AskedRequests, _ time: AskedTime) {
    self.init(
      recording: asked.recordings.first?.number, id: time.moment == .now ? nil : asked.id.number)
  }
}
