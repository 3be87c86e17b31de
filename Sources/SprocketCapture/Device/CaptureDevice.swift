internal import Sprocket

/// A camera or a microphone. There is one object for each, so that all who ask for a device share it.
///
/// It is found by its identity, which it keeps in whatever port (docs/cameras.md).
public final class CaptureDevice: Sendable {
  /// Whether it is a camera or a microphone.
  public enum MediaType: Sendable, Hashable { case video, audio }

  /// Where a camera looks.
  public enum Position: Sendable, Hashable {
    /// Towards the user.
    case front
    case back
    /// Not built in, or not known.
    case unspecified
  }

  /// Whether it is a part of the machine.
  public enum DeviceType: Sendable, Hashable, CaseIterable {
    /// Part of this machine, by its position.
    case builtInCamera
    case externalCamera
    case microphone
    /// The built-in synthetic camera.
    case scene
  }

  enum Kind: Sendable {
    case camera(CameraInfo)
    case microphone(MicrophoneInfo)
    case scene(SceneDevice)
    case sceneMicrophone(SceneMicrophoneSettings)
    /// A source of the program's own.
    case other(formats: [DeviceFormat], @Sendable (FormatChoice) throws(RunError) -> any Source)
    /// A source of sound of the program's own.
    case otherSound(@Sendable (AudioFormat?) throws(RunError) -> any AudioSource)
  }

  /// What changes while a program runs.
  struct State: Sendable {
    var kind: Kind
    /// Values by the control's name that hold whenever a session starts it.
    var wanted: [String: Double] = [:]
    /// What was set of the session's loops, by stage: it holds whenever a session with these stages starts
    /// it.
    var loops: [String: SettingsChange] = [:]
    /// Whether the exposure was locked last, rather than set by hand.
    var isExposureLocked = false
    /// Of a microphone: what its sound is multiplied by, where a session has the stage `gain`.
    var volume: Double?
    /// The run that it is the camera of.
    var run: SessionRun?
  }

  /// A persistent name (`DeviceIdentity`), or the node of a device that the kernel does not list.
  public let uniqueID: String
  public let localizedName: String
  public let mediaType: MediaType
  public let deviceType: DeviceType
  public let position: Position
  let state: Locked<State>
  let observers = DeviceObservers()

  init(
    uniqueID: String, name: String, _ media: MediaType, _ type: DeviceType,
    position: Position = .unspecified, _ kind: Kind
  ) {
    self.uniqueID = uniqueID
    localizedName = name
    mediaType = media
    deviceType = type
    self.position = position
    state = Locked(State(kind: kind))
  }

  var kind: Kind { state.withLock(\.kind) }

  /// What a camera offers; empty for microphones, and where it may not be asked.
  public var formats: [DeviceFormat] {
    switch kind {
    case .camera(let info):
      info.formats.flatMap { format in
        format.sizes.map { DeviceFormat($0, format.isEmulated ? nil : format.pixelFormat) }
      }
    case .scene(let scene): scene.formats
    case .microphone, .sceneMicrophone, .otherSound: []
    case .other(let formats, _): formats
    }
  }

  /// Whether this user may open it, and if not, why and what to do.
  public var authorization: Authorization {
    let problem: String? =
      switch kind {
      case .camera(let info): info.problem
      case .microphone(let info): info.problem
      case .scene, .sceneMicrophone, .other, .otherSound: nil
      }
    return problem.map { .denied($0) } ?? .authorized
  }

  /// Whether a session could have it with that preset: a question without an effect.
  public func supports(_ preset: SessionPreset) -> Answer {
    do throws(CaptureError) {
      _ = try PresetSolver(device: localizedName, formats: formats).solve(preset)
      return .yes
    } catch {
      return .no(error)
    }
  }

  /// Whether it is there. Asks the system: some ten milliseconds.
  public var isConnected: Bool {
    switch kind {
    case .camera(let info): Self.listed(info) != nil
    case .microphone(let info):
      MicrophoneInfo.all().contains { $0.address == info.address }
    case .scene, .sceneMicrophone, .other, .otherSound: true
    }
  }

  /// The camera as the system lists it now: it may have another node than before.
  static func listed(_ info: CameraInfo) -> CameraInfo? {
    CameraInfo.all().first {
      info.identity == nil ? $0.path == info.path : $0.identity == info.identity
    }
  }

  /// The reason of an interruption in which the device gives no frames. Costs some ten milliseconds.
  var reasonForNoFrames: SessionInterruption.Reason {
    guard case .camera(let info) = kind else {
      return isConnected ? .noFrames : .deviceDisconnected
    }
    guard let camera = Self.listed(info) else { return .deviceDisconnected }
    // Several programs can have a camera's node open; only one of them gets its frames.
    return camera.holders.isEmpty || camera.isKeptHere ? .noFrames : .deviceInUse
  }

  /// Values that hold whenever a session starts it.
  var wanted: [String: Double] { state.withLock { $0.wanted.mapValues { $0 } } }
}

/// Whether a device may be used: on Linux whoever may open its node may.
public enum Authorization: Sendable, Hashable {
  case authorized
  /// With a sentence that says what to do.
  case denied(String)
  /// There is no such device to be asked.
  case notDetermined
}
