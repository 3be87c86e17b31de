public import SprocketCore

/// How the picture moved since the frame that it was compared with: the nearest intact earlier one.
public struct MotionReport: FrameReport {
  /// What the frame was compared with.
  public enum Comparison: String, ReportWords {
    /// There is nothing before it to compare with.
    case first
    case tracked
    /// Another scene.
    case cut
    /// Nothing to hold on to.
    case blank
  }

  /// A point at (x, y) about the middle of the earlier frame is found in this one at
  ///
  ///     x' = scale (cos(roll) x - sin(roll) y) + shift_x
  ///     y' = scale (sin(roll) x + cos(roll) y) + shift_y
  ///
  /// in pixels of the full picture, x to the right and y down; no motion unless `tracked`.
  public var shiftX = 0.0
  /// In pixels of the full picture; above 0 the picture moved down.
  public var shiftY = 0.0
  /// In degrees, clockwise as seen.
  public var rollDegrees = 0.0
  /// A factor above 0; above 1 the picture became larger.
  public var scale = 1.0
  /// How sure the motion is, 0 to 1.
  public var confidence = 0.0
  /// Number of points that were followed.
  public var tracked: UInt32 = 0
  /// Number of followed points that moved as the picture did.
  public var inliers: UInt32 = 0
  /// How many intact frames before this one the earlier frame lies: 1 for the one just before; more where
  /// this one could not be measured, or only badly.
  public var framesBack: UInt32 = 1
  /// Capture time since the earlier frame, in milliseconds; 0 for the first.
  public var sinceMilliseconds = 0.0
  /// What the frame was compared with.
  public var comparison = Comparison.first

  public init() {}

  init(_ motion: FrameMotion) {
    shiftX = motion.fromEarlier.shiftX
    shiftY = motion.fromEarlier.shiftY
    rollDegrees = motion.fromEarlier.roll * 180 / .pi
    scale = motion.fromEarlier.scale
    confidence = motion.confidence
    tracked = UInt32(motion.tracked)
    inliers = UInt32(motion.inliers)
    framesBack = UInt32(motion.framesBack)
    sinceMilliseconds = motion.seconds * 1000
    comparison = motion.comparison
  }

  var motion: FrameMotion {
    var motion = FrameMotion()
    motion.fromEarlier = Similarity(
      shiftX: shiftX, shiftY: shiftY, roll: rollDegrees * .pi / 180, scale: scale)
    motion.comparison = comparison
    (motion.tracked, motion.inliers) = (Int(tracked), Int(inliers))
    motion.confidence = confidence
    motion.framesBack = Int(framesBack)
    motion.seconds = sinceMilliseconds / 1000
    return motion
  }

  public static var fields: [ReportField<Self>] {
    [
      ReportField("shift_x", unit: "px", \.shiftX),
      ReportField("shift_y", unit: "px", \.shiftY),
      ReportField("roll", unit: "degree", \.rollDegrees),
      ReportField("scale", \.scale),
      ReportField("confidence", unit: "fraction", \.confidence),
      ReportField("tracked", unit: "points", \.tracked),
      ReportField("inliers", unit: "points", \.inliers),
      ReportField("frames_back", unit: "frames", \.framesBack),
      ReportField("since", unit: "ms", \.sinceMilliseconds),
      ReportField("comparison", \.comparison),
    ]
  }
}

/// How the camera's picture moved between two frames.
struct FrameMotion: Sendable {
  /// A point of the earlier frame, to where it is in this one.
  var fromEarlier = Similarity.identity
  var comparison = MotionReport.Comparison.first
  var tracked = 0
  var inliers = 0
  /// 0 to 1.
  var confidence = 0.0
  /// Intact frames from the earlier frame to this one, at least 1.
  var framesBack = 1
  /// Between the captures of the two.
  var seconds = 0.0
}
