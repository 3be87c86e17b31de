internal import Sprocket

// The source that the options ask for, and its controls.
extension RunCommand {
  /// The default source.
  static var usualSource: String { CameraSource.hasCamera ? "camera" : "scene" }

  func makeSource(_ registry: Registry) throws(RunError) -> any Source {
    try sourceText(registry).make(registry)
  }

  /// The source that the options ask for.
  func sourceText(_ registry: Registry) throws(RunError) -> SourceText {
    var values = try keyValues(sourceSet, option: "--source-set")
    let name = source.first ?? Self.usualSource
    // A scene that is asked for a number of frames has no reason to take its time; a camera has.
    if virtual != nil || sink.contains(where: { $0.hasPrefix("\(VirtualSink.kind.name):") }) {
      let settings = registry.source(named: name)?.settings ?? []
      if values["pace"] == nil, settings.contains(where: { $0.name == "pace" }) {
        values["pace"] = SourcePace.real.rawValue
      }
    } else if name == "scene", frames != nil, values["pace"] == nil {
      values["pace"] = SourcePace.fast.rawValue
    }
    if let from {
      guard registry.source(named: name)?.settings.contains(where: { $0.name == "from" }) != false
      else {
        throw RunError(
          .usage, "--from is for a recording: give it with --source file:PATH or replay:PATH")
      }
      guard values.updateValue(from.settingText, forKey: "from") == nil else {
        throw RunError(.usage, "--from and --source-set from are the same; give one of them")
      }
    }
    if name.split(separator: ":").first == "camera" {
      let records = recording.movie ?? recording.stills ?? recording.dump ?? sound.sound
      if let wait = onUnplug ?? (records == nil ? nil : CameraSettings.longestReplug),
        values["replug"] == nil
      {
        values["replug"] = wait.settingText
      }
    } else if onUnplug != nil {
      throw RunError(.usage, "--on-unplug is for a camera, and \(name) is none; leave it out")
    }
    if let controls {
      guard name.split(separator: ":").first == "camera" else {
        throw RunError(.usage, "--controls is for a camera, and \(name) is none; leave it out")
      }
      guard values.updateValue(controls, forKey: "controls") == nil else {
        throw RunError(
          .usage, "--controls and --source-set controls are the same; give one of them")
      }
    }
    let pixelFormat = try format.first.map { format throws(RunError) in
      try PixelFormat(option: format.value)
    }
    let request = FormatRequest(
      format: pixelFormat, size: size.first.map { ($0.value.width, $0.value.height) },
      rate: rate.first?.value)
    return SourceText(name: name, values: values, request: request)
  }

  func setControls(_ engine: Engine, _ voice: Voice) throws(RunError) {
    let values = try keyValues(control, option: "--control")
    let names = control.map { String($0.prefix { $0 != "=" }) }
    do throws(RunError) {
      // As given: of two controls that are independent the later one is written later.
      let wishes = names.map { (name: $0, text: values[$0] ?? "") }
      if let note = try engine.write(controls: wishes).note { voice.tell(notice: note) }
    } catch {
      throw RunError(error.code, "--control: \(error.description)", error.settings)
    }
  }
}
