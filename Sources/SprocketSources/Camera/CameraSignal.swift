internal import SprocketCore

/// Whether pictures come from what is connected to the camera's input, or are the driver's own for want
/// of that: HDMI grabbers deliver noise, a blue field or the last picture, and call it good. Pure.
///
/// The driver is asked at most four times a second, for an answer may take a slow bus some milliseconds,
/// and at once when it tells of a change; frames in between have what was found last. So up to a quarter
/// of a second of such pictures may pass where the driver does not tell.
struct CameraSignal: Sendable {
  /// From one question to the next, in nanoseconds. Longer lets more pictures pass.
  static let interval: Int64 = 250_000_000

  private(set) var isMissing = false
  /// Frames that came without a signal.
  private(set) var frames: UInt64 = 0
  private var asked: Int64?

  /// The driver told of a change.
  mutating func changed() { asked = nil }

  /// Whether the driver has to be asked before the frame that was taken at `now`.
  func isDue(_ now: Int64) -> Bool { asked.map { now - $0 >= Self.interval } ?? true }

  /// What the driver said; `nil` where it does not tell.
  mutating func found(_ hasSignal: Bool?, at now: Int64) {
    asked = now
    isMissing = hasSignal == false
  }

  /// Whether a frame is to be taken for damaged.
  mutating func condemns() -> Bool {
    if isMissing { frames += 1 }
    return isMissing
  }

  /// What the user should know at the end.
  func note(_ title: String) -> String? {
    guard frames > 0 else { return nil }
    let many = frames == 1 ? "1 frame of \(title) is" : "\(frames) frames of \(title) are"
    return "\(many) corrupt, for no signal came in: check what is connected to it"
  }
}
