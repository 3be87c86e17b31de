internal import Sprocket

extension CaptureDevice {
  /// Devices of some types, as they are now.
  ///
  ///     let cameras = CaptureDevice.DiscoverySession(
  ///       types: [.builtInCamera, .externalCamera], media: .video, position: .front).devices
  public struct DiscoverySession: Sendable {
    /// By position, then in the system's order.
    public let devices: [CaptureDevice]

    /// - Parameters:
    ///   - types: a scene is found only if it is asked for.
    ///   - media: `nil` for all.
    ///   - position: `.unspecified` for all.
    ///
    /// Cost: opens each camera and microphone, some ten milliseconds each.
    public init(
      types: [DeviceType] = [.builtInCamera, .externalCamera, .microphone],
      media: MediaType? = nil, position: Position = .unspecified
    ) {
      var found: [CaptureDevice] = []
      if media != .audio, types.contains(.builtInCamera) || types.contains(.externalCamera) {
        found += CameraInfo.all().filter(\.givesPictures).map { known($0) }
      }
      if media != .video, types.contains(.microphone) {
        found += MicrophoneInfo.all().map { known($0) }
      }
      if media != .audio, types.contains(.scene) { found += scenes }
      devices = found.filter {
        types.contains($0.deviceType) && (position == .unspecified || $0.position == position)
      }
    }
  }

  /// The cameras, or the microphones; without scenes.
  public static func devices(for media: MediaType) -> [CaptureDevice] {
    DiscoverySession(media: media).devices
  }

  /// The first one that may be opened, else the first; `nil` where there is none.
  public static func `default`(
    for media: MediaType, position: Position = .unspecified
  ) -> CaptureDevice? {
    let found = DiscoverySession(media: media, position: position).devices
    return found.first { $0.authorization == .authorized } ?? found.first
  }

  /// The device with that identity; `nil` if it is not there.
  public static func device(uniqueID: String) -> CaptureDevice? {
    if let scene = scenes.first(where: { $0.uniqueID == uniqueID }) { return scene }
    return DiscoverySession().devices.first { $0.uniqueID == uniqueID }
  }

  /// Whether some device of that kind may be opened, and if none may, why the first one may not.
  public static func authorizationStatus(for media: MediaType) -> Authorization {
    let known = devices(for: media).map(\.authorization)
    return known.first { $0 == .authorized } ?? known.first ?? .notDetermined
  }

  /// As `authorizationStatus`: rights are the system's, and nobody is asked.
  public static func requestAccess(for media: MediaType) async -> Bool {
    authorizationStatus(for: media) == .authorized
  }

  /// A device that came or went.
  public enum Change: Sendable {
    /// It was there when the stream began.
    case present(CaptureDevice)
    case connected(CaptureDevice)
    case disconnected(CaptureDevice)
  }

  /// Devices as they come and go, first those that are there. Ends when its reader leaves. Costs one thread
  /// of the engine's while it is read.
  public static func changes() throws(CaptureError) -> AsyncStream<Change> {
    let changes: AsyncStream<DeviceChange>
    do throws(RunError) { changes = try DeviceChange.stream() } catch { throw CaptureError(error) }
    let (stream, reader) = AsyncStream.makeStream(of: Change.self)
    let task = Task {
      for await change in changes {
        let device: CaptureDevice
        switch change.device {
        case .camera(let info):
          guard info.givesPictures || change.event == .removed else { continue }
          device = known(info)
        case .microphone(let info): device = known(info)
        }
        switch change.event {
        case .present: reader.yield(.present(device))
        case .added: reader.yield(.connected(device))
        case .removed: reader.yield(.disconnected(device))
        }
      }
      reader.finish()
    }
    reader.onTermination = { _ in task.cancel() }
    return stream
  }

  /// Every device that was found, by identity.
  private static let registry = Locked<[String: CaptureDevice]>([:])

  private static func known(_ info: CameraInfo) -> CaptureDevice {
    let position: Position =
      switch info.position {
      case .front: .front
      case .back: .back
      case .external, nil: .unspecified
      }
    let isBuiltIn = info.position == .front || info.position == .back
    return known(
      CaptureDevice(
        uniqueID: info.identity?.name ?? info.path, name: info.card, .video,
        isBuiltIn ? .builtInCamera : .externalCamera, position: position, .camera(info)))
  }

  private static func known(_ info: MicrophoneInfo) -> CaptureDevice {
    known(
      CaptureDevice(
        uniqueID: info.address, name: info.card, .audio, .microphone, .microphone(info)))
  }

  /// The object that the device has already, with what it is now.
  private static func known(_ new: CaptureDevice) -> CaptureDevice {
    let kind = new.kind
    let device = registry.withLock { registry in
      let device = registry[new.uniqueID] ?? new
      registry[new.uniqueID] = device
      return device
    }
    device.state.withLock { $0.kind = kind }
    return device
  }
}

extension CameraInfo {
  /// Something can be had from it, or only rights bar it.
  fileprivate var givesPictures: Bool {
    problem != nil || formats.contains { $0.pixelFormat != nil && !$0.sizes.isEmpty }
  }
}
