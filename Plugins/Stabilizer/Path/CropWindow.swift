internal import Glibc
internal import SprocketCore

/// The part of the sensor's picture that is shown, `crop` smaller at each side, and its allowed poses.
///
/// A pose is the position of the window's middle, relative to the middle of the sensor's picture, and its
/// clockwise roll.
struct CropWindow {
  /// From the middle of the first pixel to that of the last.
  let width: Double
  let height: Double
  /// Side of a finest pixel that motion is measured in, in pixels.
  let finestPixel: Double
  private let share: Double
  private let crop: Double
  /// The most that it may be turned, in radians.
  let mostRoll: Double

  /// Fraction of the smaller margin that roll may use. Larger: more roll is corrected, and less shift: a
  /// jitter of 1.87 for 1.79 at 1 in `test.avi`. By trial on it.
  private static let rollShare = 0.4
  /// Pixels left free at the edges for rounding errors of programs that use the matrix. Larger: less room.
  private static let reserve = 1e-3

  init(width: Int, height: Int, crop: Double) {
    (self.width, self.height) = (Double(width - 1), Double(height - 1))
    self.crop = crop
    finestPixel = Double(MotionEstimator.scales(longerSide: max(width, height))[0].divisor)
    share = 1 - 2 * crop
    // Turned by r, the window is share (short cos r + long sin r) high: at most what is left.
    let (short, long) = (min(self.width, self.height), max(self.width, self.height))
    let most = short * (1 - 2 * crop * (1 - Self.rollShare)) / share
    let diagonal = (short * short + long * long).squareRoot()
    mostRoll = max(0, asin(min(1, most / diagonal)) - atan2(short, long))
  }

  /// Greatest distance of the window's middle from the sensor's, each way, at that roll.
  func margins(roll: Double) -> (x: Double, y: Double) {
    let (c, s) = (abs(cos(roll)), abs(sin(roll)))
    return (
      max(0, (width - share * (width * c + height * s)) / 2 - Self.reserve),
      max(0, (height - share * (height * c + width * s)) / 2 - Self.reserve)
    )
  }

  func clampedRoll(_ roll: Double) -> Double { min(max(roll, -mostRoll), mostRoll) }

  /// The nearest pose that stays within the sensor's picture.
  func clamped(_ pose: Pose) -> Pose {
    let roll = clampedRoll(pose[2])
    let (x, y) = margins(roll: roll)
    return [min(max(pose[0], -x), x), min(max(pose[1], -y), y), roll]
  }

  /// The unused part of the margins, 0 to 1, of the axis with the least.
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
