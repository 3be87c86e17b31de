internal import Glibc

/// How a lens distorts a picture, by the models of OpenCV's calibration (`calib3d`).
///
/// A point of the undistorted picture is taken to the plane at distance 1 before the camera, distorted there,
/// and taken to the distorted picture. With r2 = x2 + y2 the model `pinhole` is
///
///     radial = (1 + k1 r2 + k2 r4 + k3 r6) / (1 + k4 r2 + k5 r4 + k6 r6)
///     x' = x radial + 2 p1 x y + p2 (r2 + 2 x2) + s1 r2 + s2 r4
///     y' = y radial + p1 (r2 + 2 y2) + 2 p2 x y + s3 r2 + s4 r4
///
/// followed by the tilt of the sensor (`tauX`, `tauY`), where these are not 0. The model `fisheye` is
///
///     theta = atan(r),  radial = theta (1 + k1 theta2 + k2 theta4 + k3 theta6 + k4 theta8) / r
///
/// Sources: OpenCV's documentation of `calib3d` and `cv::fisheye`.
public struct Lens: Sendable, Hashable, BitwiseCopyable {
  /// The projection, as OpenCV names it.
  public enum Model: String, ReportWords { case pinhole, fisheye }

  /// Focal lengths and the optical centre, in pixels.
  public struct Camera: Sendable, Hashable, BitwiseCopyable {
    public var focalX: Double
    public var focalY: Double
    public var centerX: Double
    public var centerY: Double

    public init(focalX: Double, focalY: Double, centerX: Double, centerY: Double) {
      (self.focalX, self.focalY) = (focalX, focalY)
      (self.centerX, self.centerY) = (centerX, centerY)
    }
  }

  /// Those of the model `fisheye` are `k1` to `k4`. The tilt is in radians.
  public struct Distortion: Sendable, Hashable, BitwiseCopyable {
    public var k1 = 0.0
    public var k2 = 0.0
    public var p1 = 0.0
    public var p2 = 0.0
    public var k3 = 0.0
    public var k4 = 0.0
    public var k5 = 0.0
    public var k6 = 0.0
    public var s1 = 0.0
    public var s2 = 0.0
    public var s3 = 0.0
    public var s4 = 0.0
    public var tauX = 0.0
    public var tauY = 0.0

    public init() {}
  }

  public var model: Model
  /// The camera that made the distorted picture.
  public var camera: Camera
  /// The camera that the undistorted picture seems to be of.
  public var undistorted: Camera
  public var distortion: Distortion

  public init(model: Model, camera: Camera, undistorted: Camera, distortion: Distortion) {
    self.model = model
    self.camera = camera
    self.undistorted = undistorted
    self.distortion = distortion
  }

  /// Where the point (`x`, `y`) of the undistorted picture lies in the distorted one. In pixels. Costs up to
  /// four trigonometric functions with a fisheye or a tilt; make a table for pictures.
  public func distort(_ x: Double, _ y: Double) -> (x: Double, y: Double) {
    let across = (x - undistorted.centerX) / undistorted.focalX
    let down = (y - undistorted.centerY) / undistorted.focalY
    let bent = model == .pinhole ? pinhole(across, down) : fisheye(across, down)
    return (camera.focalX * bent.x + camera.centerX, camera.focalY * bent.y + camera.centerY)
  }

  private func pinhole(_ x: Double, _ y: Double) -> (x: Double, y: Double) {
    let d = distortion
    let r2 = x * x + y * y
    let (r4, r6) = (r2 * r2, r2 * r2 * r2)
    let radial =
      (1 + d.k1 * r2 + d.k2 * r4 + d.k3 * r6) / (1 + d.k4 * r2 + d.k5 * r4 + d.k6 * r6)
    let bentX =
      x * radial + 2 * d.p1 * x * y + d.p2 * (r2 + 2 * x * x) + d.s1 * r2 + d.s2 * r4
    let bentY =
      y * radial + d.p1 * (r2 + 2 * y * y) + 2 * d.p2 * x * y + d.s3 * r2 + d.s4 * r4
    return d.tauX == 0 && d.tauY == 0 ? (bentX, bentY) : tilted(bentX, bentY)
  }

  /// The Scheimpflug model (OpenCV's `computeTiltProjectionMatrix`): the plane of the sensor is turned about
  /// x by `tauX`, then about y by `tauY`.
  private func tilted(_ x: Double, _ y: Double) -> (x: Double, y: Double) {
    let (cosX, sinX) = (cos(distortion.tauX), sin(distortion.tauX))
    let (cosY, sinY) = (cos(distortion.tauY), sin(distortion.tauY))
    // The rotation R = Ry Rx, then the projection on the turned plane along the axis.
    let turnedX = cosY * x + sinY * sinX * y - sinY * cosX
    let turnedY = cosX * y + sinX
    let turnedZ = sinY * x - cosY * sinX * y + cosY * cosX
    let (r02, r12, r22) = (-sinY * cosX, sinX, cosY * cosX)
    return (
      (r22 * turnedX - r02 * turnedZ) / turnedZ, (r22 * turnedY - r12 * turnedZ) / turnedZ
    )
  }

  private func fisheye(_ x: Double, _ y: Double) -> (x: Double, y: Double) {
    let radius = (x * x + y * y).squareRoot()
    guard radius > 0 else { return (0, 0) }
    let theta = atan(radius)
    let square = theta * theta
    let d = distortion
    let polynomial = 1 + square * (d.k1 + square * (d.k2 + square * (d.k3 + square * d.k4)))
    let radial = theta * polynomial / radius
    return (x * radial, y * radial)
  }
}
