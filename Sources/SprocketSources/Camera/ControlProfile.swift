public import SprocketCore
internal import SprocketFiles
internal import SprocketV4L2

/// The controls of a camera, as a file keeps them: a line `name=value` for each, as `v4l2-ctl --set-ctrl`
/// takes them, in the driver's order. What follows `#` is for people, but for the lines that say of which
/// camera they are:
///
///     # sprocket controls
///     # camera: HD Pro Webcam C920
///     # identity: usb:046d:082d:9A2B1C20#0
///     brightness=128
///     power_line_frequency=1  # 50_hz
public struct ControlProfile: Sendable, Hashable {
  /// A line: a control and its value.
  public struct Entry: Sendable, Hashable {
    public var name: String
    /// A number, or the name of a menu's choice.
    public var value: String
    /// The name of a menu's choice, where `value` is its number.
    public var note: String?

    public init(_ name: String, _ value: String, note: String? = nil) {
      self.name = name
      self.value = value
      self.note = note
    }
  }

  /// Name of the camera; `nil` if the file does not say so.
  public var camera: String?
  public var identity: String?
  public var entries: [Entry]
  /// Names that the file gives more than once; the last value counts.
  public private(set) var repeated: [String] = []

  public init(camera: String? = nil, identity: String? = nil, entries: [Entry] = []) {
    self.camera = camera
    self.identity = identity
    self.entries = entries
  }

  /// Most bytes of a file, 1 MB. A camera has some hundred controls at most.
  private static let longest = 1 << 20
  /// Most controls of a file. Larger: files of more controls are read, and take longer.
  private static let most = 10_000
  /// Most characters of a line that an error quotes.
  private static let quoted = 60

  /// Reads a file.
  public init(path: String) throws(RunError) {
    func refusal(_ reason: String) -> RunError {
      RunError(
        .usage, "\(path) \(reason); give a file of controls, as `devices NAME --save` makes it")
    }
    switch fileKind(path) {
    case .file: break
    case .none: throw refusal(PartialFile.isThere(path) ? "cannot be read" : "does not exist")
    default: throw refusal("is no file")
    }
    guard let bytes = fileBytes(path, atMost: Self.longest + 1) else {
      throw refusal("cannot be read")
    }
    guard bytes.count <= Self.longest else { throw refusal("is larger than 1 MB") }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw refusal("is no text in UTF-8")
    }
    do throws(RunError) {
      try self.init(text: text)
    } catch {
      throw RunError(error.code, "\(path), \(error.description)")
    }
    guard !entries.isEmpty else {
      throw RunError(
        .usage, "\(path) holds no control; give a file as `devices NAME --save` makes it")
    }
  }

  /// Reads the text of a file.
  public init(text: String) throws(RunError) {
    self.init()
    // By name.
    var places: [String: Int] = [:]
    // Some editors put a mark of the byte order before the text.
    let text = text.hasPrefix("\u{FEFF}") ? text.dropFirst() : text[...]
    let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
    for (index, line) in lines.enumerated() {
      let line = line.trimmed
      if line.hasPrefix("#") {
        let words = line.dropFirst().trimmed.split(separator: ":", maxSplits: 1).map(\.trimmed)
        if words.count == 2, words[0] == "camera" { camera = words[1] }
        if words.count == 2, words[0] == "identity" { identity = words[1] }
        continue
      }
      let parts = line.prefix { $0 != "#" }.split(separator: "=", maxSplits: 1).map(\.trimmed)
      if parts.isEmpty || parts == [""] { continue }
      guard parts.count == 2, !parts[0].isEmpty, !parts[1].isEmpty else {
        throw RunError(
          .usage, "line \(index + 1): write `\(line.prefix(Self.quoted))` as NAME=VALUE")
      }
      if let place = places.updateValue(entries.count, forKey: parts[0]) {
        entries[place].value = ""
        if !repeated.contains(parts[0]) { repeated.append(parts[0]) }
      }
      entries.append(Entry(parts[0], parts[1]))
      guard entries.count <= Self.most else {
        throw RunError(.usage, "line \(index + 1): a profile has at most \(Self.most) controls")
      }
    }
    // Of a name that is there twice, the last counts.
    entries.removeAll { $0.value.isEmpty }
  }

  /// The text of a file.
  public var text: String {
    var lines = ["# sprocket controls"]
    if let camera { lines.append("# camera: \(Self.oneLine(camera))") }
    if let identity { lines.append("# identity: \(Self.oneLine(identity))") }
    lines += entries.map { entry in
      "\(entry.name)=\(entry.value)" + (entry.note.map { "  # \($0)" } ?? "")
    }
    return lines.joined(separator: "\n") + "\n"
  }

  private static func oneLine(_ text: String) -> String {
    String(text.map { $0.isNewline ? " " : $0 })
  }
}

extension StringProtocol {
  /// Without blanks at both ends.
  fileprivate var trimmed: String {
    var rest = self[...]
    while rest.first?.isWhitespace == true { rest = rest.dropFirst() }
    while rest.last?.isWhitespace == true { rest = rest.dropLast() }
    return String(rest)
  }
}

// Saving and restoring, without I/O.

extension ControlProfile {
  /// The controls that are to be saved: those that can be written, and that neither the hardware nor another
  /// control decides over. An automatic that is on is saved, what it decides over is not. `value` is what a
  /// control has now.
  init(
    camera: String, identity: String?, _ controls: [V4L2Control],
    value: (V4L2Control) -> Int64?
  ) {
    self.init(camera: camera, identity: identity)
    for control in controls where control.isKeepable && !control.name.isEmpty {
      guard V4L2Control.staysAsWritten(control.flags), let value = value(control) else { continue }
      let text = ControlDescription(control).text(of: Double(value))
      let isNamed = if case .menu = control.kind { text != "\(value)" } else { false }
      entries.append(Entry(control.name, "\(value)", note: isNamed ? text : nil))
    }
  }

  /// What of a profile a camera takes.
  struct Plan {
    /// Index of a control, and its value.
    var writes: [(index: Int, value: Int64)] = []
    /// What is left out, and why.
    var notes: [String] = []
  }

  /// What a camera with these controls takes; `flags` are those that they have now.
  func plan(
    for controls: [V4L2Control], of camera: String, named title: String,
    flags: (Int) -> UInt32
  ) -> Plan {
    var plan = Plan()
    if let made = self.camera, made != camera {
      plan.notes.append("the controls are those of \(made); \(title) takes what fits")
    }
    if !repeated.isEmpty {
      plan.notes.append("given more than once, the last counts: " + Self.list(repeated))
    }
    var missing: [String] = []
    var fixed: [String] = []
    var held: [String] = []
    var wrong: [String] = []
    for entry in entries {
      guard let index = controls.firstIndex(where: { $0.name == entry.name }) else {
        missing.append(entry.name)
        continue
      }
      let description = ControlDescription(controls[index])
      guard controls[index].isKeepable else {
        fixed.append(entry.name)
        continue
      }
      guard let value = description.value(entry.value) else {
        wrong.append(
          "\(entry.name)=\(entry.value.prefix(Self.quoted)) is left out for \(title): "
            + description.advice(insteadOf: entry.value))
        continue
      }
      guard !V4L2Control.isGrabbed(flags(index)) else {
        held.append(entry.name)
        continue
      }
      plan.writes.append((index, Int64(nearest: value)))
    }
    plan.notes += wrong.prefix(Self.listed)
    if wrong.count > Self.listed {
      plan.notes.append("\(wrong.count - Self.listed) more values are left out")
    }
    if !missing.isEmpty {
      plan.notes.append("\(title) has no " + Self.list(missing))
    }
    if !fixed.isEmpty {
      plan.notes.append(
        "left out, because they cannot be set: " + Self.list(fixed))
    }
    if !held.isEmpty {
      plan.notes.append(
        "left out, because they cannot be changed while frames come: "
          + Self.list(held))
    }
    return plan
  }

  /// Most names or sentences of a kind. Larger: longer notes of a file that fits the camera badly.
  private static let listed = 12

  private static func list(_ names: [String]) -> String {
    let shown = names.prefix(listed).map { String($0.prefix(quoted)) }.joined(separator: ", ")
    return names.count > listed ? "\(shown) and \(names.count - listed) more" : shown
  }

  /// The sentence about controls that were left out because another one decides over them.
  static func note(inactive: [V4L2Control]) -> String? {
    inactive.isEmpty
      ? nil
      : "left out, because an automatic control decides over them: "
        + list(inactive.map(\.name))
  }
}

extension V4L2Control {
  /// It has a value that lasts, and can be set to it.
  fileprivate var isKeepable: Bool {
    isNumber && kind != .button && !isReadOnly && !isWriteOnly && !isExecuted
  }
}

extension CameraSource {
  /// Writes the profile of the settings, in one batch, before the first frame.
  func restoreProfile() throws(RunError) {
    guard let profile = writing.profile else { return }
    // What cannot be written is told of as such, as `CameraInfo.restore` does.
    let places = controls.all.map { known in controls.writable.firstIndex { $0.id == known.id } }
    var plan = profile.plan(for: controls.all, of: card, named: title) { place in
      places[place].map { controls.flags($0) } ?? controls.all[place].flags
    }
    plan.writes = plan.writes.compactMap { write in places[write.index].map { ($0, write.value) } }
    firstNotes += plan.notes
    writing.batch.removeAll()
    for write in plan.writes {
      writing.batch.add(
        controls.writable[write.index], write.value, before: controls.known(write.index))
    }
    do throws(ControlBatch.Refusal) {
      try writing.batch.perform(on: &device!, leavingInactive: true)
    } catch {
      let wishes = plan.writes.map { write in
        (control: controls.port.controls[write.index], value: Double(write.value))
      }
      throw RunError(
        error, of: wishes, name: title, node: path,
        isPriority: isOutranked(settings.priority, device?.priority()))
    }
    if let note = ControlProfile.note(inactive: writing.batch.inactive) { firstNotes.append(note) }
    for (place, write) in plan.writes.enumerated() {
      guard let made = writing.batch.result(at: place) else { continue }
      let control = controls.writable[write.index]
      controls.restored(
        control, value: made, flags: device!.flags(of: control.id) ?? control.flags,
        at: monotonicNow())
    }
  }
}
