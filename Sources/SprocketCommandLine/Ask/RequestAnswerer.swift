internal import FoundationEssentials
internal import Sprocket

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

  /// A request with the keys of all requests; `known` says which of them each request takes.
  private struct Request: Decodable {
    let request: String
    let path: String?
    let sink: String?
    let frames: UInt64?
    let recording: UInt64?
    let name: String?
    let value: SettingValue?
    let stage: String?
    let settings, controls: [String: SettingValue]?
    let source, format, size: String?
    let sourceSettings: [String: SettingValue]?
    let rate: Double?
    let stages, attach, detach: [String]?
    let frame: UInt64?
    let seconds: Double?

    enum CodingKeys: String, CodingKey {
      case request, path, sink, frames, recording, name, value, stage, settings, controls
      case source, format, size, rate, stages, attach, detach
      case sourceSettings = "source_settings"
      case frame = "at_frame"
      case seconds = "at_s"
    }

    /// Keys of each request, beside `request`.
    static let known: [String: Set<String>] = [
      "record": ["path", "sink", "frames", "at_frame", "at_s"],
      "photo": ["frames", "at_frame", "at_s"], "stop": ["recording", "at_frame", "at_s"],
      "next": ["recording", "path", "at_frame", "at_s"],
      "set": ["stage", "settings", "at_frame", "at_s"], "control": ["name", "value", "controls"],
      "reconfigure": [
        "source", "source_settings", "format", "size", "rate", "stages", "attach", "detach",
      ], "status": [], "recordings": [], "events": [], "quit": [],
    ]

    /// Whether the answer may take long.
    var isSlow: Bool { request == "reconfigure" || request == "control" }

    var change: RunParts.Texts {
      RunParts.Texts(
        source: source, sourceSettings: sourceSettings?.mapValues(\.text), format: format,
        size: size,
        rate: rate, stages: stages, attached: attach ?? [], detached: detach ?? [])
    }

    var moment: Moment {
      get throws(RunError) {
        if frame != nil, seconds != nil {
          throw RunError(.usage, "at_frame and at_s are two ways to say when; give one of them")
        }
        if let frame { return .frame(frame) }
        guard let seconds else { return .now }
        guard seconds >= 0, seconds < 1e9 else {
          throw RunError(.usage, "at_s is seconds from 0 to 1e9")
        }
        return .time(.nanoseconds(Int64(seconds * 1e9)))
      }
    }
  }

  private struct Answer: Encodable {
    var ok: Bool? = true
    var error: String?
    var note: String?
    var recording: UInt64?
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

  func outcome(_ line: [UInt8]) -> Outcome {
    do throws(RunError) {
      let request = try parse(line)
      if request.isSlow { return .work { answerText(request) } }
      return request.request == "events"
        ? .events(answerText(request)) : .answer(answerText(request))
    } catch {
      return .answer(refusal(error.told))
    }
  }

  private func answerText(_ request: Request) -> String {
    do throws(RunError) {
      return text(try answer(request))
    } catch {
      return refusal(error.told)
    }
  }

  /// Makes a request of a script, before the run.
  func askAhead(_ line: [UInt8]) throws(RunError) {
    let request = try parse(line)
    let known = "record, photo, stop, next and set"
    guard Request.known[request.request]?.contains("at_frame") == true else {
      throw RunError(
        .usage,
        "a script cannot have `\(request.request)`; it has \(known), each with at_frame or at_s")
    }
    guard try request.moment != .now else {
      throw RunError(
        .usage,
        "`\(request.request)` has no moment; a script has \(known), each with at_frame or at_s")
    }
    _ = try answer(request)
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

  private func parse(_ line: [UInt8]) throws(RunError) -> Request {
    guard line.count < 1 << 16, let text = String(validating: line, as: UTF8.self) else {
      throw RunError(.usage, "a request is one line of UTF-8 text")
    }
    let data = Data(text.utf8)
    guard let keys = try? JSONDecoder().decode([String: Ignored].self, from: data) else {
      throw RunError(
        .usage, "a request is a JSON object in one line, such as {\"request\":\"status\"}")
    }
    guard let request = try? JSONDecoder().decode(Request.self, from: data) else {
      throw RunError(
        .usage,
        "a request has the text `request`; frames, recording and at_frame are whole numbers, at_s is a "
          + "number, and so is rate; settings, controls and source_settings are objects of values by name; "
          + "stages, "
          + "attach and detach are lists of texts; all others are texts")
    }
    guard let known = Request.known[request.request] else {
      throw RunError(
        .usage,
        "there is no request `\(request.request)`; "
          + knownNames(Request.known.keys.sorted(), near: request.request))
    }
    if let unknown = keys.keys.sorted().first(where: { $0 != "request" && !known.contains($0) }) {
      throw RunError(
        .usage,
        "`\(request.request)` has no `\(unknown)`"
          + (known.isEmpty ? "" : "; " + knownNames(known.sorted(), near: unknown, "it has")))
    }
    return request
  }

  private func answer(_ request: Request) throws(RunError) -> Answer {
    let id = request.recording.map { RecordingID($0) }
    switch request.request {
    case "record":
      let id = try desk.record(
        path: request.path, frames: request.frames, sink: request.sink, at: request.moment)
      return Answer(recording: id.number)
    case "photo":
      return Answer(
        recording: try desk.photo(frames: request.frames ?? 1, at: request.moment).number)
    case "next":
      return Answer(
        recording: try desk.next(id, path: request.path, at: request.moment).number)
    case "stop": return Answer(recording: try desk.stop(id, at: request.moment).number)
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
      guard let stage = request.stage, let settings = request.settings else {
        throw RunError(.usage, "`set` has a stage and its settings")
      }
      try desk.engine.set(stage, settings.mapValues(\.text), at: request.moment)
      return Answer()
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

/// The value of a setting: a text, a number, true or false.
private struct SettingValue: Decodable {
  let text: String

  init(from decoder: any Decoder) throws {
    let value = try decoder.singleValueContainer()
    if let flag = try? value.decode(Bool.self) {
      text = flag.settingText
    } else if let number = try? value.decode(Double.self) {
      text = number.settingText
    } else {
      text = try value.decode(String.self)
    }
  }
}

/// Any JSON value.
private struct Ignored: Decodable { init(from decoder: any Decoder) {} }
