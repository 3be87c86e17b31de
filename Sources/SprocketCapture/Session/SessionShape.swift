internal import Sprocket

/// What a session consists of: a value, so that going back is keeping the old one.
struct SessionShape: Sendable {
  var inputs: [DeviceInput] = []
  var outputs: [any CaptureOutput] = []
  var preset = SessionPreset.high
  /// Formats that were set, by the device's identity.
  var formats: [String: FormatChoice] = [:]
  /// A rate that was set; `nil` for the preset's.
  var rate: FrameRate?
  /// As they were configured.
  var chosenStages: [StageChoice] = []
  /// What was preferred for outputs' links.
  var stabilization: [ObjectIdentifier: StabilizationMode] = [:]
  var soundStages: [AudioChoice] = []

  /// What pictures pass: a link that prefers steadied pictures adds the stage for it.
  var stages: [StageChoice] {
    guard let mode = stabilizationMode,
      !chosenStages.contains(where: { $0.plugin.name == "stabilize" })
    else { return chosenStages }
    return chosenStages + [.stabilize { $0.mode = mode }]
  }

  var camera: CaptureDevice? { inputs.first { $0.device.mediaType == .video }?.device }
  var microphone: CaptureDevice? { inputs.first { $0.device.mediaType == .audio }?.device }

  var workers: [any SessionOutput] { outputs.compactMap { $0 as? any SessionOutput } }

  /// Outputs that have sinks for pictures: all of them, where there is a camera.
  var pictured: [any SessionOutput] { camera == nil ? [] : workers }

  var stageNames: Set<String> { Set(stages.map(\.plugin.name)) }

  func has(_ output: any CaptureOutput) -> Bool { outputs.contains { $0 === output } }

  /// The format that the preset stands for with the present camera and outputs; `nil` without a camera.
  func solve() throws(CaptureError) -> FormatChoice? {
    try solve(preset)
  }

  func solve(_ preset: SessionPreset) throws(CaptureError) -> FormatChoice? {
    guard let camera else { return nil }
    var formats = camera.formats
    for output in workers {
      let isTaken = output.neededPixels
      // What is not named is decoded or converted to a picture.
      formats.removeAll { !isTaken($0.pixelFormat ?? .i420) }
    }
    guard !formats.isEmpty else {
      throw CaptureError(
        .formatUnsupported,
        "\(camera.localizedName) offers no pixels that all outputs can take; leave out raw photographs"
      )
    }
    let isAny = formats.count == camera.formats.count
    var choice: FormatChoice
    if preset == .inputPriority, let known = self.formats[camera.uniqueID] {
      choice = known
      if let pixels = known.pixelFormat, !formats.contains(where: { $0.pixelFormat == pixels }) {
        throw CaptureError(
          .formatUnsupported,
          "an output cannot take \(pixels.settingText) of \(camera.localizedName); set another format"
        )
      }
    } else {
      // H.264 and HEVC are taken only where nothing else is, as `CameraNegotiation` has it.
      let pictures = formats.filter { $0.pixelFormat?.isPackets != true }
      let usual = pictures.isEmpty ? formats : pictures
      choice = try PresetSolver(device: camera.localizedName, formats: usual).solve(preset)
      choice.isRateWish = rate == nil
      if !isAny { choice.pixelFormat = formats.first { $0.offers(choice.size) }?.pixelFormat }
    }
    if let rate { choice.rate = try checked(rate, choice, of: camera) }
    return choice
  }

  private func checked(
    _ rate: FrameRate, _ choice: FormatChoice, of camera: CaptureDevice
  ) throws(CaptureError) -> FrameRate {
    let formats = camera.formats.filter { $0.offers(choice.size) }
    guard formats.contains(where: { $0.offers(rate) }) else {
      let known = Set(formats.map(\.rates.text)).sorted().joined(separator: " or ")
      throw CaptureError(
        .valueOutOfRange,
        "\(camera.localizedName) has \(choice.size.text) at \(known), not at \(rate.settingText)")
    }
    return rate
  }

  // MARK: Questions

  func mayAdd(_ input: DeviceInput) -> Answer {
    if inputs.contains(where: { $0 === input || $0.device === input.device }) {
      return .no(
        CaptureError(
          .inputRefused, "\(input.device.localizedName) is an input of the session already"))
    }
    let kind = input.device.mediaType
    if let other = inputs.first(where: { $0.device.mediaType == kind }) {
      let what = kind == .video ? "camera" : "microphone"
      return .no(
        CaptureError(
          .inputRefused,
          "the session has the \(what) \(other.device.localizedName); remove it first"
            + (kind == .video ? ", or switchCamera" : "")))
    }
    return .yes
  }

  func mayAdd(_ output: any CaptureOutput, to session: ObjectIdentifier) -> Answer {
    guard output is any SessionOutput else {
      return .no(CaptureError(.outputRefused, "only outputs of SprocketCapture can be added"))
    }
    if has(output) {
      return .no(
        CaptureError(
          .outputRefused, "\(output.core.name) is in the session already; add it once"))
    }
    let owner = output.core.state.withLock(\.session)
    if let owner, owner != session {
      return .no(CaptureError(.outputRefused, "\(output.core.name) belongs to another session"))
    }
    return .yes
  }

  func maySet(_ preset: SessionPreset) -> Answer {
    do throws(CaptureError) {
      _ = try solve(preset)
      return .yes
    } catch {
      return .no(error)
    }
  }
}
