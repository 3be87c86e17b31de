internal import FoundationEssentials
internal import Sprocket
internal import SprocketPipelines

/// Answers requests in JSON (docs/on-demand.md). Later versions add keys and requests, and remove none.
struct RequestAnswerer: Sendable {
  /// Version of the protocol. It is increased when a request or a key is added.
  static let version = 1

  /// What those who ask may do.
  enum Limits: Sendable {
    /// What the user may do who started the run.
    case none
    /// A browser: it neither ends the run, nor names files, nor exchanges parts of the run.
    case page
  }

  private let desk: RequestDesk
  private let limits: Limits
  private let reader: RequestReader
  /// Path of the socket by which requests come; `nil` for those of a script.
  private let socket: String?

  init(_ desk: RequestDesk, socket: String? = nil, limits: Limits = .none) {
    (self.desk, self.socket, self.limits) = (desk, socket, limits)
    reader = RequestReader(parts: desk.parts)
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
      let asked = try reader.read(line)
      if limits == .page { try asked.requirePage() }
      if asked.request.isSlow { return .work { answerText(asked, client) } }
      return asked.request == .events
        ? .events(answerText(asked, client)) : .answer(answerText(asked, client))
    } catch {
      return .answer(refusal(error))
    }
  }

  private func answerText(_ asked: RequestReader.Asked, _ client: RequestHolder) -> String {
    do throws(RunError) {
      return text(try answer(asked, client))
    } catch {
      return refusal(error)
    }
  }

  /// Reads and checks a request of a script, before the run.
  func readAhead(_ line: [UInt8]) throws(RunError) -> RequestReader.Asked {
    let asked = try reader.read(line)
    let known = "record, photo, pause, resume, stop, next and set"
    guard asked.mayWait else {
      throw RunError(
        .usage,
        "a script cannot have `\(asked.name)`; it has \(known), each with at_frame or at_s")
    }
    guard asked.moment != .now else {
      throw RunError(
        .usage,
        "`\(asked.name)` has no moment; a script has \(known), each with at_frame or at_s")
    }
    switch asked.request {
    case .set(let change): try desk.engine.check(change)
    case .photo(let frames, let choice):
      try desk.check(photo: true, frames: frames, choice: choice)
    case .record(let sink, _, let frames): try desk.check(photo: false, sink: sink, frames: frames)
    default: break
    }
    return asked
  }

  /// Makes a request. Returns its number while it waits for its frame.
  func ask(_ asked: RequestReader.Asked, by holder: RequestHolder) throws(RunError) -> RequestID? {
    try answer(asked, holder).id.map { RequestID($0) }
  }

  /// The answer to a request that is refused, with the path of the value at fault.
  func refusal(_ error: RunError) -> String {
    refusal(DescriptionError(mark: nil, error: error).description)
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
      case .paused(let record):
        text(Answer(ok: nil, event: "paused", file: RecordingDocument(record)))
      case .resumed(let record):
        text(Answer(ok: nil, event: "resumed", file: RecordingDocument(record)))
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
    _ asked: RequestReader.Asked, _ client: RequestHolder
  ) throws(RunError) -> Answer {
    let made = try desk.make(asked.request, AskedTime(moment: asked.moment, holder: client))
    var answer = Answer(
      note: made.note, recording: made.recording?.number,
      id: asked.moment == .now ? nil : made.id?.number,
      controls: made.controls.isEmpty ? nil : made.controls)
    if asked.request == .status { answer.status = StatusDocument(desk.engine, socket: socket) }
    if asked.request == .recordings {
      answer.recordings = desk.engine.recordingRecords.map { RecordingDocument($0) }
    }
    return answer
  }

  private func text(_ answer: Answer) -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let data = (try? encoder.encode(answer)) ?? Data("{\"ok\":false}".utf8)
    return String(decoding: data, as: UTF8.self) + "\n"
  }
}

extension RequestReader.Asked {
  /// Throws for what a page may not ask.
  fileprivate func requirePage() throws(RunError) {
    guard moment == .now else {
      // All pages are one client: what waits of one would be in the way of others.
      throw RunError(.usage, "a page asks for the next frame; leave out at_frame and at_s")
    }
    switch request {
    case .quit: throw RunError(.usage, "a page cannot end the run; end it where it was started")
    case .record(_, .some, _), .next(_, .some):
      throw RunError(.usage, "a page names no files; leave out the path")
    case .reconfigure(let wish):
      var rest = wish
      rest.format = SourceFormat()
      guard rest == PipelineWish() else {
        throw RunError(
          .usage,
          "a page changes format, size and rate alone; change the rest where the run was started")
      }
    default: break
    }
  }
}
