/// A device as an input of a session.
public final class DeviceInput: Sendable {
  public let device: CaptureDevice

  /// Throws if this user may not open the device, or if it offers nothing. Does not open it: the session
  /// does.
  public init(_ device: CaptureDevice) throws(CaptureError) {
    if case .denied(let reason) = device.authorization {
      throw CaptureError(.notAuthorized, reason)
    }
    if device.mediaType == .video, !device.formats.contains(where: { $0.pixelFormat != nil }) {
      throw CaptureError(
        .formatUnsupported, "\(device.localizedName) offers no pictures that Sprocket knows")
    }
    self.device = device
  }
}
