public import Sprocket

/// What pictures a session makes, without naming a device's format. A preset that the camera does not offer
/// is refused; none is replaced by another one.
public enum SessionPreset: Sendable, Hashable, CustomStringConvertible {
  /// The most pixels that the camera has.
  case photo
  /// The most pixels at 30 frames per second or more; the default.
  case high
  /// The size nearest to 640x480.
  case medium
  /// The size nearest to 320x240.
  case low
  /// Exactly that size.
  case size(CameraSize)
  /// The format that was set for the camera (`CaptureSession.Configuration.setFormat`).
  case inputPriority

  public static let qvga320x240 = size(CameraSize(320, 240))
  public static let cif352x288 = size(CameraSize(352, 288))
  public static let vga640x480 = size(CameraSize(640, 480))
  public static let qHD960x540 = size(CameraSize(960, 540))
  public static let hd1280x720 = size(CameraSize(1280, 720))
  public static let hd1920x1080 = size(CameraSize(1920, 1080))
  public static let hd4K3840x2160 = size(CameraSize(3840, 2160))
  /// All frames are whole pictures with any preset: movies are Motion-JPEG unless a codec is chosen.
  public static let iFrame960x540 = qHD960x540
  public static let iFrame1280x720 = hd1280x720

  /// Sizes that cameras usually have, the smallest first.
  static let named = [
    qvga320x240, cif352x288, vga640x480, qHD960x540, hd1280x720, hd1920x1080, hd4K3840x2160,
  ]

  public var description: String {
    switch self {
    case .photo: "photo"
    case .high: "high"
    case .medium: "medium"
    case .low: "low"
    case .size(let size): size.text
    case .inputPriority: "inputPriority"
    }
  }
}

/// Finds the format that a preset stands for. Pure.
struct PresetSolver {
  let device: String
  let formats: [DeviceFormat]

  /// A rate that counts as 30 frames per second: that of NTSC, 29.97, does. Larger: fewer formats are `high`.
  private static let smooth = 29.9

  func solve(_ preset: SessionPreset) throws(CaptureError) -> FormatChoice {
    let known = formats.filter { $0.pixelFormat != nil }
    guard !known.isEmpty else {
      throw CaptureError(.formatUnsupported, "\(device) offers no pictures that Sprocket knows")
    }
    switch preset {
    case .photo: return largest(of: known)
    case .high:
      let smooth = known.filter { ($0.fastest ?? .infinity) >= Self.smooth }
      return largest(of: smooth.isEmpty ? known : smooth)
    case .medium: return nearest(to: CameraSize(640, 480), of: known)
    case .low: return nearest(to: CameraSize(320, 240), of: known)
    case .size(let size):
      guard let format = best(known.filter { $0.offers(size) }) else { throw refusal(size) }
      return FormatChoice(size, rate: format.usualRate)
    case .inputPriority:
      throw CaptureError(
        .presetUnsupported,
        "inputPriority takes the format that was set for \(device), and none was: call setFormat",
        alternative: .high)
    }
  }

  private func best(_ formats: [DeviceFormat]) -> DeviceFormat? {
    formats.max { ($0.fastest ?? 0) < ($1.fastest ?? 0) }
  }

  private func largest(of known: [DeviceFormat]) -> FormatChoice {
    let most = known.max {
      (area($0.largest), $0.fastest ?? 0) < (area($1.largest), $1.fastest ?? 0)
    }
    return FormatChoice(most?.largest ?? CameraSize(0, 0), rate: most?.usualRate)
  }

  private func area(_ size: CameraSize) -> Int { size.width * size.height }

  /// Of two that are as near, the larger.
  private func nearest(to wanted: CameraSize, of known: [DeviceFormat]) -> FormatChoice {
    let sizes = known.flatMap { format in
      ([wanted, format.smallest, format.largest].filter { format.offers($0) }).map { ($0, format) }
    }
    func distance(_ size: CameraSize) -> Double {
      let (one, other) = (Double(area(size)), Double(area(wanted)))
      return max(one / other, other / one)
    }
    let found = sizes.min {
      (distance($0.0), -area($0.0), -($0.1.fastest ?? 0))
        < (distance($1.0), -area($1.0), -($1.1.fastest ?? 0))
    }
    return FormatChoice(found?.0 ?? wanted, rate: found?.1.usualRate)
  }

  /// Names the largest that is not larger, of the usual sizes and of those that the device lists.
  private func refusal(_ size: CameraSize) -> CaptureError {
    let known = formats.filter { $0.pixelFormat != nil }
    let usual = SessionPreset.named.compactMap { preset in
      if case .size(let size) = preset { size } else { nil }
    }
    let listed = known.flatMap { [$0.smallest, $0.largest] }
    let offered = (usual + listed).filter { size in known.contains { $0.offers(size) } }
      .sorted { (area($0), $0.width) < (area($1), $1.width) }
    let nearest = offered.last { area($0) <= area(size) } ?? offered.first
    return CaptureError(
      .presetUnsupported,
      "\(device) does not offer \(size.text); the nearest that it offers is "
        + (nearest?.text ?? "none"), alternative: nearest.map { .size($0) } ?? .high)
  }
}
