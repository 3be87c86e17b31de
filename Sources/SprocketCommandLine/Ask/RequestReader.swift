internal import Sprocket
internal import SprocketPipelines

/// Reads requests of clients and scripts: one JSON object per line (docs/on-demand.md).
struct RequestReader: Sendable {
  /// Keys of each request, beside `request`.
  private static let keys: [String: [String]] = [
    "record": ["path", "sink", "frames", "at_frame", "at_s"],
    "photo": ["frames", "ago_s", "moment", "at_frame", "at_s"],
    "stop": ["recording", "at_frame", "at_s"], "pause": ["recording", "at_frame", "at_s"],
    "resume": ["recording", "at_frame", "at_s"],
    "next": ["recording", "path", "at_frame", "at_s"], "cancel": ["id"],
    "set": ["stage", "settings", "at_frame", "at_s"], "control": ["name", "value", "controls"],
    "reconfigure": [
      "source", "source_settings", "format", "size", "rate", "stages", "attach", "detach",
      "pipeline",
    ], "status": [], "recordings": [], "events": [], "quit": [],
  ]

  static var names: [String] { keys.keys.sorted() }

  /// A request, with the moment from which it holds.
  struct Asked {
    let name: String
    let request: RunRequest
    let moment: Moment
    /// Whether requests of that name may wait for a frame.
    var mayWait: Bool { keys[name]?.contains("at_frame") ?? false }
  }

  /// The run that is asked.
  let parts: RunParts
  private var kinds: Kinds { parts.kinds }

  func read(_ line: [UInt8]) throws(RunError) -> Asked {
    guard line.count < 1 << 16, String(validating: line, as: UTF8.self) != nil else {
      throw RunError(.usage, "a request is one line of UTF-8 text")
    }
    let tree: Tree
    let sentence = "a request is a JSON object in one line, such as {\"request\":\"status\"}"
    do throws(TreeError) { tree = try Tree(json: line) } catch {
      throw RunError(.usage, line.isEmpty ? sentence : "\(sentence); here \(error.problem)")
    }
    guard let entries = tree.entries else { throw RunError(.usage, sentence) }
    let values = RequestValues(tree: tree)
    guard let name = try values.text("request") else {
      throw RunError(
        .usage, "a request has the text `request`, such as {\"request\":\"status\"}")
    }
    guard let known = Self.keys[name] else {
      throw RunError(
        .usage,
        "there is no request `\(name)`; " + knownNames(Self.names, near: name))
    }
    if let unknown = entries.map(\.key).first(where: { $0 != "request" && !known.contains($0) }) {
      throw RunError(
        .usage,
        "`\(name)` has no `\(unknown)`"
          + (known.isEmpty ? "" : "; " + knownNames(known.sorted(), near: unknown, "it has")))
    }
    return Asked(name: name, request: try request(name, values), moment: try moment(values))
  }

  private func moment(_ values: RequestValues) throws(RunError) -> Moment {
    let (frame, seconds) = (try values.count("at_frame"), try values.number("at_s"))
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

  private func request(_ name: String, _ values: RequestValues) throws(RunError) -> RunRequest {
    let recording = try values.count("recording").map { RecordingID($0) }
    let (path, frames) = (try values.text("path"), try values.count("frames"))
    if let path { try FileIdentity.refuseDescriptor(path, name) }
    switch name {
    case "record": return .record(sink: try values.text("sink"), path: path, frames: frames)
    case "photo": return .photo(frames: frames ?? 1, choice: try choice(values, frames))
    case "next": return .next(recording, path: path)
    case "pause": return .pause(recording)
    case "resume": return .resume(recording)
    case "stop": return .stop(recording)
    case "cancel":
      guard let id = try values.count("id") else {
        throw RunError(.usage, "`cancel` has the `id` from the answer to the request")
      }
      return .cancel(RequestID(id))
    case "set":
      guard let stage = try values.text("stage"), let settings = try values.texts(in: "settings")
      else { throw RunError(.usage, "`set` has a stage and its settings") }
      return .set(try kinds.kind(stage, .stage).change(settings))
    case "control": return .control(try controls(values))
    case "reconfigure": return .reconfigure(try wish(values))
    case "status": return .status
    case "recordings": return .recordings
    case "events": return .events
    case "quit": return .quit
    default: throw RunError(.failed, "`\(name)` is not made yet; ask for another request")
    }
  }

  /// The frame of a photograph that is chosen by its time.
  private func choice(
    _ values: RequestValues, _ frames: UInt64?
  ) throws(RunError) -> FrameChoice? {
    let (ago, word) = (try values.number("ago_s"), try values.text("moment"))
    guard ago != nil || word != nil else { return nil }
    guard frames ?? 1 == 1 else {
      throw RunError(.usage, "a photograph of a moment is one frame; leave `frames` out")
    }
    guard 0..<1e9 ~= ago ?? 0 else { throw RunError(.usage, "ago_s is seconds from 0 to 1e9") }
    guard let rule = FrameChoice.Rule(rawValue: word ?? FrameChoice.Rule.nearest.rawValue) else {
      let words = FrameChoice.Rule.allCases.map(\.rawValue)
      throw RunError(
        .usage, "there is no moment `\(word ?? "")`; " + knownNames(words, near: word ?? ""))
    }
    return FrameChoice(rule, ago: .nanoseconds(Int64((ago ?? 0) * 1e9)))
  }

  private func controls(_ values: RequestValues) throws(RunError) -> [ControlWish] {
    var wishes = try values.texts(in: "controls") ?? [:]
    let (name, value) = (try values.text("name"), try values.value("value"))
    if let name, let value, wishes.updateValue(value, forKey: name) != nil {
      throw RunError(
        .usage, "`control` gives \(name) twice, in name and in controls; give it once")
    }
    guard !wishes.isEmpty, (name == nil) == (value == nil) else {
      throw RunError(.usage, "`control` has a name and a value, or controls")
    }
    return wishes.sorted { $0.key < $1.key }.map { ControlWish($0.key, $0.value) }
  }

  private func wish(_ values: RequestValues) throws(RunError) -> PipelineWish {
    var wish = PipelineWish()
    if let tree = values.tree["pipeline"] {
      guard values.tree.entries?.count == 2 else {
        throw RunError(.usage, "`pipeline` is all that the run is to be; give nothing beside it")
      }
      let run: Run
      do throws(DescriptionErrors) { run = try Run(tree, kinds, in: workingFolder()) } catch {
        throw error.errors.first?.error ?? RunError(.usage, "`pipeline` is no run")
      }
      wish.whole = try parts.pipeline(of: run)
      return wish
    }
    let settings = try values.texts(in: "source_settings")
    if let text = try values.text("source") {
      wish.source = try kinds.source(text, settings ?? [:])
    } else if let settings, !settings.isEmpty, let source = parts.pipeline.source {
      wish.sourceSettings = try kinds.kind(source.kind, .source).change(settings)
    }
    for (key, given) in [
      ("format", try values.text("format")), ("size", try values.text("size")),
      ("rate", try values.value("rate")),
    ] {
      guard let given else { continue }
      guard given != "auto" else {
        throw RunError(
          .usage, "`\(key)` stays as it is where it is left out; give a value, or leave it out")
      }
      do throws(SettingError) { try wish.format.set(key, to: given) } catch {
        throw RunError(refused: error, at: .source(key), of: "the source")
      }
    }
    wish.stages = try values.list("stages")?.map { (text) throws(RunError) in
      try kinds.stage(text)
    }
    wish.attached = try (values.list("attach") ?? []).map { (text) throws(RunError) in
      try kinds.sink(text)
    }
    wish.detached = try values.list("detach") ?? []
    return wish
  }
}

/// The values of a request. Each reads `nil` where there is none; throws for one of another type.
private struct RequestValues {
  let tree: Tree

  private func scalar(_ key: String) -> Tree.Scalar? {
    if case .scalar(let scalar)? = tree[key]?.content { scalar } else { nil }
  }

  private func has(_ key: String) -> Bool { tree[key].map { !$0.isNull } ?? false }

  func text(_ key: String) throws(RunError) -> String? {
    guard has(key) else { return nil }
    guard let scalar = scalar(key), scalar.isQuoted else {
      throw RunError(.usage, "`\(key)` is a text; put it into quotes")
    }
    return scalar.text
  }

  func count(_ key: String) throws(RunError) -> UInt64? {
    guard has(key) else { return nil }
    guard let scalar = scalar(key), !scalar.isQuoted,
      let count = UInt64(scalar.text) ?? Double(scalar.text).flatMap(UInt64.init(exactly:))
    else {
      throw RunError(.usage, "`\(key)` is a whole number from 0")
    }
    return count
  }

  func number(_ key: String) throws(RunError) -> Double? {
    guard has(key) else { return nil }
    guard let scalar = scalar(key), !scalar.isQuoted, let number = Double(scalar.text) else {
      throw RunError(.usage, "`\(key)` is a number")
    }
    return number
  }

  /// A text, a number, true or false.
  func value(_ key: String) throws(RunError) -> String? {
    guard has(key) else { return nil }
    guard let value = Self.value(tree[key]) else {
      throw RunError(.usage, "`\(key)` is a text, a number, true or false")
    }
    return value
  }

  private static func value(_ tree: Tree?) -> String? {
    guard let tree, !tree.isNull, case .scalar(let scalar) = tree.content else { return nil }
    // 5.0 and 5e0 are the number 5.
    return scalar.isQuoted ? scalar.text : Double(scalar.text)?.settingText ?? scalar.text
  }

  /// Values by their names.
  func texts(in key: String) throws(RunError) -> [String: String]? {
    guard let map = tree[key], !map.isNull else { return nil }
    var texts: [String: String] = [:]
    for entry in map.entries ?? [] { texts[entry.key] = Self.value(entry.value) }
    guard let count = map.entries?.count, count == texts.count else {
      throw RunError(
        .usage, "`\(key)` is an object: texts, numbers, true or false by their names")
    }
    return texts
  }

  func list(_ key: String) throws(RunError) -> [String]? {
    guard let list = tree[key], !list.isNull else { return nil }
    guard case .list(let items) = list.content else {
      throw RunError(.usage, "`\(key)` is a list of texts")
    }
    return try items.map { (item) throws(RunError) in
      guard case .scalar(let scalar) = item.content, scalar.isQuoted else {
        throw RunError(.usage, "`\(key)` is a list of texts")
      }
      return scalar.text
    }
  }
}
