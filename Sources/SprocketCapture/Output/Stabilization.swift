internal import Sprocket
internal import SprocketStages

/// How a link's pictures are steadied: by the stage `stabilize`, for any camera.
public enum StabilizationMode: Sendable, Hashable, CaseIterable {
  case off
  /// Delays nothing.
  case standard
  /// Waits for later frames, 15 of them unless the stage is configured otherwise.
  case cinematic
  /// `standard` where frames come live, as a camera's do; else `cinematic`.
  case auto
}

extension SessionShape {
  /// The mode of the stage that the links' preferences add; `nil` where none wants it.
  var stabilizationMode: Stabilizer.Mode? {
    let wanted = outputs.compactMap { stabilization[ObjectIdentifier($0)] }
    if wanted.contains(.cinematic) { return .cinematic }
    if wanted.contains(.standard) { return .standard }
    return wanted.contains(.auto) ? .auto : nil
  }
}

extension VideoLink {
  /// How the pictures of the running session are steadied: never `.auto`. Pictures that are too small to be
  /// steadied are left alone: `.off`.
  public var activeStabilization: StabilizationMode {
    guard let run = core.run, let mode = run.stabilization,
      let description = run.engine?.description
    else { return .off }
    switch Stabilizer.active(mode, description.format, isLive: description.isLive) {
    case .off: return .off
    case .cinematic: return .cinematic
    case .standard, .auto: return .standard
    }
  }
}

extension CaptureSession {
  /// What was preferred for an output, whether it is active or not.
  public func preferredStabilization<Output: TakesVideo>(
    of added: Added<Output>
  ) -> StabilizationMode { shape.stabilization[ObjectIdentifier(added.output)] ?? .off }
}
