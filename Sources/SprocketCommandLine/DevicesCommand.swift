internal import ArgumentParser
internal import Sprocket

/// `devices`: what can be captured from.
struct DevicesCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "devices",
    abstract:
      "Lists cameras and microphones: formats, sizes, rates, and controls with their ranges.",
    discussion: """
      With a camera's name, sets, saves and restores its controls, also while a run or another program \
      streams from it: --controls first, then --control, then --save.
      """)

  @Argument(
    help:
      "One camera alone: its node, identity, or name, as after `--source camera:`; or a microphone's address."
  )
  var name: String?

  @Option(
    "Sets a control. Several are set together: all, or none where one is refused. Any order will do.",
    takes: "name=value")
  var control: [String] = []

  @Option(
    "Sets the controls that --save wrote, as far as this camera has them.", takes: "path",
    completion: .file())
  var controls: String?

  @Option(
    "Writes the controls as they are now, a line NAME=VALUE each. `-` is standard output.",
    takes: "path", completion: .file())
  var save: String?

  @Flag(help: "With --save: replaces a file that exists.")
  var overwrite = false

  @Flag(help: "Prints a JSON list instead; docs/cameras.md says what is in it.")
  var json = false

  @Flag(
    help: """
      Goes on until Ctrl-C: tells of what is there, then of what comes and goes, a line each. With --json, \
      each line is an object: `event` is present, added or removed, `device` as without --watch.
      """)
  var watch = false

  func execute(_ signals: inout StopSignals) throws {
    let isCommand = !control.isEmpty || controls != nil || save != nil
    if overwrite, save == nil {
      throw RunError(.usage, "--overwrite is for --save; add --save PATH")
    }
    if json, save == "-" {
      throw RunError(
        .usage, "--json and --save - both write to standard output; save the controls to a file")
    }
    if watch {
      guard name == nil, !isCommand else {
        throw RunError(.usage, "--watch tells of all devices; leave out the name and controls")
      }
      return try follow(&signals)
    }
    if isCommand {
      guard let name else {
        throw RunError(
          .usage,
          "whose controls? name the camera: `\(programName) devices NAME \(givenOption) ...`")
      }
      return try command(name, &signals)
    }
    let (cameras, microphones) = try devices(&signals)
    if json {
      try Console.output.say(
        encoding: cameras.map { DeviceLine.camera(CameraLine($0)) }
          + microphones.map { DeviceLine.microphone(MicrophoneLine($0)) })
      return
    }
    let noCamera = "there is no camera; the built-in scene is `\(programName) run --source scene`"
    // What is missing is told where all devices are listed.
    let (missingCamera, missingMicrophone) =
      name == nil ? ([[noCamera]], [["there is no microphone"]]) : ([], [])
    let listed =
      (cameras.isEmpty ? missingCamera : cameras.map { lines($0, microphones) })
      + (microphones.isEmpty ? missingMicrophone : microphoneLines(microphones))
    for line in listed.joined(separator: [""]) { Console.output.say(line) }
  }

  /// Tells of changes until a signal comes or nobody reads any more.
  private func follow(_ signals: inout StopSignals) throws {
    let watch = try DeviceWatch()
    let isOver = Locked(false)
    let json = json
    let work = try BackgroundWork("devices") {
      try watch.follow(while: {
        !isOver.withLock { $0 } && Console.output.failure == 0 && !Console.output.isAbandoned
      }) {
        change in
        if json {
          Console.output.say(json: try jsonText(ChangeLine(change), isOneLine: true))
        } else {
          Console.output.say(line(change))
        }
      }
    }
    // A device that does not answer is left alone at the second signal.
    do {
      try work.value(&signals) {
        defer { isOver.withLock { $0 = true } }
        return isOver.withLock { $0 } ? .zero : .seconds(2)
      }
    } catch is Abandoned {}
  }

  private func line(_ change: DeviceChange) -> String {
    let start = "\(change.event.rawValue) "
    switch change.device {
    case .camera(let camera):
      let identity = camera.identity.map { ", \($0.name)" } ?? ""
      let problem = camera.problem.map { ": \($0)" } ?? ""
      return start + "camera \(camera.card) (\(camera.path))\(identity)\(problem)"
    case .microphone(let microphone):
      return start + "microphone \(microphone.card) (\(microphone.address))"
        + (microphone.problem.map { ": \($0)" } ?? "")
    }
  }

  /// Asks the devices; one that does not answer is left alone at the first signal.
  private func devices(
    _ signals: inout StopSignals
  ) throws -> (cameras: [CameraInfo], microphones: [MicrophoneInfo]) {
    let name = name
    return try ask(&signals) {
      guard let name else { return (CameraInfo.all(), MicrophoneInfo.all()) }
      let microphones = MicrophoneInfo.all().filter { $0.address == name }
      return microphones.isEmpty ? ([try Self.camera(name)], []) : ([], microphones)
    }
  }

  /// The first of the options that need a camera's name.
  private var givenOption: String {
    !control.isEmpty ? "--control" : controls != nil ? "--controls" : "--save"
  }

  /// The camera of that name. Where there is none, the error names microphones.
  private static func camera(_ name: String) throws(RunError) -> CameraInfo {
    do throws(RunError) {
      return try CameraInfo.named(name)
    } catch {
      let microphones = error.device == .notFound ? MicrophoneInfo.all() : []
      // The options of `run` that may help are none of this command.
      throw RunError(error.code, error.description + hint(name, microphones))
    }
  }

  /// What to write instead, if `name` may be a microphone's. Pure.
  static func hint(_ name: String, _ microphones: [MicrophoneInfo]) -> String {
    guard !microphones.isEmpty else { return "" }
    let lower = name.lowercased()
    let near = microphones.filter { microphone in
      [microphone.card, microphone.id, microphone.device].contains {
        $0.lowercased().contains(lower)
      }
    }
    return near.isEmpty
      ? "; microphones: " + microphones.map(\.address).joined(separator: ", ")
      : "; a microphone is named by its address: "
        + near.map(\.address).joined(separator: ", ")
  }

  /// Sets and saves controls, and says what became of them.
  private func command(_ name: String, _ signals: inout StopSignals) throws {
    let pairs = try keyValues(control, option: "--control")
    let wishes = control.map { pair in
      let name = String(pair.prefix { $0 != "=" })
      return (name: name, text: pairs[name] ?? "")
    }
    let profile = try controls.map { path throws(RunError) in try ControlProfile(path: path) }
    // A bad path is told before controls are changed.
    var file: OutputFile?
    if let save { file = try OutputFile(path: save, purpose: "controls", overwrite: overwrite) }
    let savesProfile = save != nil
    let (changes, saved) = try ask(&signals) {
      if MicrophoneInfo.all().contains(where: { $0.address == name }) {
        throw RunError(
          .usage,
          "\(name) is a microphone, and --control, --controls and --save are for cameras; "
            + "a run sets its controls: `\(programName) run --microphone \(name) --control NAME=VALUE`"
        )
      }
      let camera = try Self.camera(name)
      var changes: [CameraControlChange] = []
      // A misspelt name is an error before the profile is written.
      if !wishes.isEmpty { try camera.check(wishes) }
      if let profile { changes.append(try camera.restore(profile)) }
      if !wishes.isEmpty { changes.append(try camera.write(wishes)) }
      return (changes, savesProfile ? try camera.profile() : nil)
    }
    for note in changes.flatMap(\.notes) { tellError(note) }
    let made = changes.flatMap(\.controls)
    if json {
      let values = made.map { ($0.description.name, Int64(nearest: $0.value)) }
      try Console.output.say(encoding: Dictionary(values) { $1 })
    } else if save != "-" {
      for (description, value) in made {
        Console.output.say("\(description.name)=\(description.text(of: value))")
      }
    }
    if let saved { try file.take()?.write(saved.text) }
  }

  /// Does what asks devices on a thread of its own; at the first signal it is left alone.
  private func ask<Value: Sendable>(
    _ signals: inout StopSignals, _ body: @escaping @Sendable () throws -> Value
  ) throws -> Value {
    let stopped = RunError(.failed, "stopped before every device had answered")
    var isStopped = false
    do {
      let found = try BackgroundWork("devices", body).value(&signals) {
        isStopped = true
        return .zero
      }
      // The devices may answer just when the signal comes: it ends the program all the same.
      guard !isStopped else { throw stopped }
      return found
    } catch is Abandoned {
      throw stopped
    }
  }
}
