internal import FoundationEssentials
internal import Sprocket

// What a client asks, as JSON.
extension RequestAnswerer {
  /// A request with the keys of all requests; `known` says which of them each request takes.
  struct Request: Decodable {
    let request: String
    let path: String?
    let sink: String?
    let frames: UInt64?
    let recording, id: UInt64?
    let name: String?
    let value: RequestValue?
    let stage: String?
    let settings, controls: [String: RequestValue]?
    let source, format, size: String?
    let sourceSettings: [String: RequestValue]?
    let rate: Double?
    let stages, attach, detach: [String]?
    let frame: UInt64?
    let seconds: Double?

    enum CodingKeys: String, CodingKey {
      case request, path, sink, frames, recording, id, name, value, stage, settings, controls
      case source, format, size, rate, stages, attach, detach
      case sourceSettings = "source_settings"
      case frame = "at_frame"
      case seconds = "at_s"
    }

    /// Keys of each request, beside `request`.
    static let known: [String: Set<String>] = [
      "record": ["path", "sink", "frames", "at_frame", "at_s"],
      "photo": ["frames", "at_frame", "at_s"], "stop": ["recording", "at_frame", "at_s"],
      "next": ["recording", "path", "at_frame", "at_s"], "cancel": ["id"],
      "set": ["stage", "settings", "at_frame", "at_s"], "control": ["name", "value", "controls"],
      "reconfigure": [
        "source", "source_settings", "format", "size", "rate", "stages", "attach", "detach",
      ], "status": [], "recordings": [], "events": [], "quit": [],
    ]

    /// Whether the answer may take long: files are made, or a device is asked.
    var isSlow: Bool {
      ["reconfigure", "control", "record", "photo", "next"].contains(request)
    }

    /// Whether it is about the recording that was asked for last.
    var isOfLatestRecording: Bool { ["stop", "next"].contains(request) && recording == nil }

    var change: RunParts.Texts {
      RunParts.Texts(
        source: source, sourceSettings: sourceSettings?.mapValues(\.text), format: format,
        size: size,
        rate: rate, stages: stages, attached: attach ?? [], detached: detach ?? [])
    }

    /// What `set` changes.
    var stageSettings: (stage: String, values: [String: String]) {
      get throws(RunError) {
        guard let stage, let settings else {
          throw RunError(.usage, "`set` has a stage and its settings")
        }
        return (stage, settings.mapValues(\.text))
      }
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

  func parse(_ line: [UInt8]) throws(RunError) -> Request {
    guard line.count < 1 << 16, let text = String(validating: line, as: UTF8.self) else {
      throw RunError(.usage, "a request is one line of UTF-8 text")
    }
    let data = Data(text.utf8)
    guard let parsed = try? JSONDecoder().decode(Parsed.self, from: data) else {
      throw RunError(
        .usage, "a request is a JSON object in one line, such as {\"request\":\"status\"}")
    }
    guard let request = parsed.request else {
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
    let unknown = parsed.keys.filter { $0 != "request" && !known.contains($0) }.min()
    if let unknown {
      throw RunError(
        .usage,
        "`\(request.request)` has no `\(unknown)`"
          + (known.isEmpty ? "" : "; " + knownNames(known.sorted(), near: unknown, "it has")))
    }
    return request
  }
}

/// The value of a setting: a text, a number, true or false.
struct RequestValue: Decodable {
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

/// A JSON object: all its keys, and the request unless a value is of the wrong type.
private struct Parsed: Decodable {
  let keys: [String]
  let request: RequestAnswerer.Request?

  private struct Key: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  init(from decoder: any Decoder) throws {
    keys = try decoder.container(keyedBy: Key.self).allKeys.map(\.stringValue)
    request = try? RequestAnswerer.Request(from: decoder)
  }
}
