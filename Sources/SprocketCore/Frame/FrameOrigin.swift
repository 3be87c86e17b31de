/// Where frames come from, as far as a picture's file says it.
///
/// A class, so that frames that are lent refer to it without counting.
public final class FrameOrigin: Sendable {
  /// Name of the camera; of a film what the film says. Empty where it is not known: a file's path is no
  /// camera.
  public let camera: String
  /// Date of time 0 of a film's frames, nanoseconds since 1970 (UTC), if the film tells when it was recorded;
  /// `nil` for all others.
  public let date: Int64?

  public init(camera: String = "", date: Int64? = nil) { (self.camera, self.date) = (camera, date) }

  /// The origin of frames of which nothing is known.
  public static let unknown = FrameOrigin()

  /// When a frame was captured, nanoseconds since 1970: by this machine's clock, or by its film. `nil` where
  /// neither knows it.
  package func date(of captured: Timestamp) -> Int64? {
    if let time = WallClock.shared.time(of: captured) { return time }
    return captured.clock == .media ? date.map { $0.clampedSum(captured.nanoseconds) } : nil
  }
}
