extension CaptureSession {
  /// Goes over to another camera, in place of the one that the session has. Outputs stay; the first frame of
  /// the new camera is marked as a discontinuity. If the new one does not offer the preset, or cannot be
  /// opened, the session goes on with the old one, its preset and its formats. `preset` is set with it, such
  /// as the error's `alternative`; `nil` leaves the session's.
  @discardableResult
  public nonisolated(nonsending) func switchCamera(
    to device: CaptureDevice, preset: SessionPreset? = nil
  ) async throws(CaptureError) -> DeviceInput {
    // All that is thrown is thrown by `configure`, which tells the stream of errors.
    try await configure { (c) throws(CaptureError) in
      guard device.mediaType == .video else {
        throw CaptureError(.inputRefused, "\(device.localizedName) is no camera")
      }
      let input = try DeviceInput(device)
      for old in c.inputs where old.device.mediaType == .video { c.remove(old) }
      c.add(input)
      if let preset { c.preset = preset }
      return input
    }
  }

  /// Whether `switchCamera` has another camera to go to: one of this machine, or a scene if the session has
  /// one now.
  public var canSwitchCamera: Bool { inactiveCamera != nil }

  /// A camera that the session does not have; `nil` where there is none.
  public var inactiveCamera: CaptureDevice? {
    guard let now = shape.camera else { return nil }
    let isScene = now.deviceType == .scene
    let known = CaptureDevice.DiscoverySession(
      types: isScene ? [.scene] : [.builtInCamera, .externalCamera], media: .video
    ).devices
    return known.first { $0 !== now && $0.position != now.position } ?? known.first { $0 !== now }
  }

  /// The camera that the session has.
  public var activeCamera: CaptureDevice? { shape.camera }
}
