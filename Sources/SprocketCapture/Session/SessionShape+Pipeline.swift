internal import Sprocket
public import SprocketPipelines

extension CaptureSession {
  /// What the session describes, as files, Python and the command line describe a run: `Tree(Run(pipeline))`
  /// is its JSON or YAML. `nil` without a camera and a microphone. Of a microphone alone it is a run without
  /// pictures: name a file for its sound in it.
  ///
  /// Movies and photographs are outputs that wait for requests; what a program reads by a callback or shows
  /// in a view is no part of it. A source of the program's own is of the kind `program`, which no file can
  /// name.
  ///
  /// Throws if the camera does not offer the preset.
  public var pipeline: Pipeline? {
    get throws(CaptureError) {
      let choice = try shape.solve()
      guard choice != nil || shape.microphone != nil else { return nil }
      var pipeline = shape.pipeline(choice)
      pipeline.source = pipeline.source.map { Part($0.kind, $0.settings) }
      var outputs: [Part] = []
      for part in pipeline.outputs where part.kind != Part.program {
        let count = outputs.count { $0.kind == part.kind }
        let id = count == 0 ? part.kind : "\(part.kind)\(count + 1)"
        outputs.append(Part(part.kind, id: id, part.settings))
      }
      pipeline.outputs = outputs
      return pipeline
    }
  }
}

extension SessionShape {
  /// What the engine is made of. Devices and outputs are told apart by their ids. Without a camera outputs
  /// have no pictures, and are no part of it.
  func pipeline(_ choice: FormatChoice?) -> Pipeline {
    var pipeline = Pipeline(
      source: camera?.part ?? Part(EmptySource.kind.name, id: EmptySource.kind.name, NoSettings()))
    if let request = choice?.request {
      pipeline.format.format = request.format
      pipeline.format.size = request.size
      pipeline.format.rate = request.rate
    }
    pipeline.controls = (camera?.wanted ?? [:]).sorted { $0.key < $1.key }.map {
      ControlWish($0.key, $0.value.settingText)
    }
    pipeline.stages = usedStages.map { Part($0.plugin.name, $0.settings) }
    if let microphone {
      pipeline.sound.microphones = [microphone.part]
      pipeline.sound.stages = soundParts
    }
    pipeline.outputs = pictured.map(\.part)
    return pipeline
  }

  /// The stages of the run: none where there are no pictures.
  var usedStages: [StageChoice] { camera == nil ? [] : liveStages }
}

extension Part {
  /// The kind of what only a program can have: sources of its own, callbacks and views.
  static let program = "program"
}

extension CaptureDevice {
  /// What it is in a description. Format and controls are the session's.
  var part: Part {
    switch kind {
    case .camera(let info):
      var settings = CameraSettings()
      settings.name = info.identity?.name ?? info.path
      settings.replug = CameraSettings.longestReplug
      return Part(CameraSource.kind.name, id: uniqueID, settings)
    case .scene(let scene): return Part(SceneSource.kind.name, id: uniqueID, scene.settings)
    case .microphone(let info):
      var settings = MicrophoneSettings()
      settings.name = info.address
      settings.replug = CameraSettings.longestReplug
      return Part(MicrophoneSource.kind.name, id: uniqueID, settings)
    case .sceneMicrophone(let settings):
      return Part(SceneMicrophone.kind.name, id: uniqueID, settings)
    case .other, .otherSound: return Part(Part.program, id: uniqueID, NoSettings())
    }
  }

  /// A source that gives frames of that format, not opened.
  func makeSource(_ choice: FormatChoice) throws(RunError) -> any Source {
    switch kind {
    case .camera:
      guard var settings = part[CameraSettings.self] else { break }
      settings.isRateWish = choice.isRateWish
      return try CameraSource.kind.make(settings, request: choice.request)
    case .scene(let scene):
      var settings = scene.settings
      settings.exposure = wanted["exposure"] ?? settings.exposure
      settings.gain = wanted["gain"] ?? settings.gain
      settings.lens = wanted["lens"] ?? settings.lens
      return try SceneSource.kind.make(settings, request: choice.request)
    case .other(_, let make): return try make(choice)
    case .microphone, .sceneMicrophone, .otherSound: break
    }
    throw RunError(.usage, "\(localizedName) is a microphone and gives no pictures")
  }
}
