public import Sprocket

/// The built-in synthetic camera as a device: which sizes it has, where it looks, what it shows.
public struct SceneDevice: Sendable {
  /// The scene itself; size, rate and format come from the session.
  public var settings: SceneSettings
  public var sizes: [CameraSize]
  public var rates: CameraRates

  /// - Parameters:
  ///   - settings: what it shows, and how it fails.
  ///   - sizes: what it offers, each at all rates.
  ///   - rates: 1 to 60 frames/s unless others are given.
  public init(
    _ settings: SceneSettings = SceneSettings(), sizes: [CameraSize],
    rates: CameraRates = .range(FrameRate(frames: 1), FrameRate(frames: 60))
  ) {
    (self.settings, self.sizes, self.rates) = (settings, sizes, rates)
  }

  var formats: [DeviceFormat] { sizes.map { DeviceFormat($0, settings.format, rates: rates) } }
}

extension CaptureDevice {
  /// A source of the program's own as a camera: a replay, for example, or a grabber with an interface that
  /// Sprocket does not know. `makeSource` is called each time that a session starts it, or gives it another
  /// format, and returns a source that was not opened.
  public convenience init(
    name: String, position: Position = .unspecified, formats: [DeviceFormat],
    makeSource: @escaping @Sendable (FormatChoice) throws(RunError) -> any Source
  ) {
    self.init(
      uniqueID: "program:\(name)", name: name, .video, .externalCamera, position: position,
      .other(formats: formats, makeSource))
  }

  /// A scene as a device of its own: for programs without a camera, and for tests.
  public convenience init(
    scene: SceneDevice, name: String = "scene", position: Position = .unspecified
  ) {
    self.init(
      uniqueID: "scene:\(name)", name: name, .video, .scene, position: position, .scene(scene))
  }

  /// Two scenes that every machine has: one looks back and has up to 1920x1080, one looks at the user and has
  /// up to 1280x720.
  public static let scenes: [CaptureDevice] = {
    let small = [CameraSize(320, 240), CameraSize(640, 480), CameraSize(1280, 720)]
    var selfie = SceneSettings()
    selfie.seed = 2
    return [
      CaptureDevice(
        scene: SceneDevice(sizes: small + [CameraSize(1920, 1080)]), name: "back scene",
        position: .back),
      CaptureDevice(
        scene: SceneDevice(selfie, sizes: small), name: "front scene", position: .front),
    ]
  }()
}
