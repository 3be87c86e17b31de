internal import Glibc

/// The part of the sensor's picture that is shown, `crop` smaller at each side, and where it may be.
///
/// Its pose is where its middle lies, about the middle of the sensor's picture, and how far it is turned
/// clockwise.
struct CropWindow {
  /// From the middle of the first pixel to that of the last.
  let width: Double
  let height: Double
  private let share: Double
  private let crop: Double
  /// The most that it may be turned, in radians.
  let mostRoll: Double

  /// Of the smaller margin that the window has when it is not turned, what turning may use up: level
  /// pictures matter less than steady ones.
  private static let rollShare = 0.4
  /// Pixels that are left at the edges, for the rounding of whoever computes with the matrix.
  private static let reserve = 1e-3

  init(width: Int, height: Int, crop: Double) {
    (self.width, self.height) = (Double(width - 1), Double(height - 1))
    self.crop = crop
    share = 1 - 2 * crop
    // Turned by r, the window is share (short cos r + long sin r) high: at most what is left.
    let (short, long) = (min(self.width, self.height), max(self.width, self.height))
    let most = short * (1 - 2 * crop * (1 - Self.rollShare)) / share
    let diagonal = (short * short + long * long).squareRoot()
    mostRoll = max(0, asin(min(1, most / diagonal)) - atan2(short, long))
  }

  /// How far the middle may be from the sensor's, each way, with that roll.
  func margins(roll: Double) -> (x: Double, y: Double) {
    let (c, s) = (abs(cos(roll)), abs(sin(roll)))
    return (
      max(0, (width - share * (width * c + height * s)) / 2 - Self.reserve),
      max(0, (height - share * (height * c + width * s)) / 2 - Self.reserve)
    )
  }

  func clampedRoll(_ roll: Double) -> Double { min(max(roll, -mostRoll), mostRoll) }

  /// The nearest pose that shows nothing beyond the sensor's picture.
  func clamped(_ pose: Pose) -> Pose {
    let roll = clampedRoll(pose[2])
    let (x, y) = margins(roll: roll)
    return [min(max(pose[0], -x), x), min(max(pose[1], -y), y), roll]
  }

  /// What is left of the margins, 0 to 1, where it is least.
  func cropLeft(_ pose: Pose) -> Double {
    guard crop > 0 else { return 1 }
    let (x, y) = margins(roll: pose[2])
    let left = min((x - abs(pose[0])) / (crop * width), (y - abs(pose[1])) / (crop * height))
    return min(max(left, 0), 1)
  }

  func stabilizedFromSensor(_ pose: Pose) -> Similarity {
    Similarity(shiftX: pose[0], shiftY: pose[1], roll: pose[2], scale: share).inverse
  }
}
