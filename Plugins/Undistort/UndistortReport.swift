public import SprocketCore

/// Where the points of a picture without distortion lie in the sensor's picture: the matrices of
/// `GeometryReport`, and the lens between them. See `SensorMap` and `Lens` for the formulas.
public struct UndistortReport: FrameReport {
  /// A matrix from this picture's pixels to those of the picture without distortion.
  public var undistortedFromPicture = Projection.identity.values
  /// A matrix from the pixels of the picture that was read to the sensor's.
  public var sensorFromDistorted = Projection.identity.values
  /// The model of the lens: never `auto`.
  public var model = Lens.Model.pinhole
  /// The camera that made the distorted picture: focal lengths and centre in pixels, as OpenCV writes them.
  public var cameraMatrix = Projection.identity.values
  /// The camera that the undistorted picture seems to be of, in the form of `cameraMatrix`.
  public var newCameraMatrix = Projection.identity.values
  /// Coefficients in the order of OpenCV's vector of 14; of a fisheye its k1, k2, k3 and k4 have these names.
  /// The two of the tilt are in radians, the others have no unit.
  public var distortion = Lens.Distortion()

  public init() {}

  init(_ lens: Lens) {
    model = lens.model
    cameraMatrix = lens.camera.matrix
    newCameraMatrix = lens.undistorted.matrix
    distortion = lens.distortion
  }

  mutating func set(_ map: SensorMap) {
    undistortedFromPicture = map.undistortedFromPicture.values
    sensorFromDistorted = map.sensorFromDistorted.values
  }

  public static var fields: [ReportField<Self>] {
    [
      ReportField("undistorted_from_picture", \.undistortedFromPicture),
      ReportField("sensor_from_distorted", \.sensorFromDistorted),
      ReportField("model", \.model),
      ReportField("camera_matrix", \.cameraMatrix),
      ReportField("new_camera_matrix", \.newCameraMatrix),
      ReportField("k1", \.distortion.k1), ReportField("k2", \.distortion.k2),
      ReportField("p1", \.distortion.p1), ReportField("p2", \.distortion.p2),
      ReportField("k3", \.distortion.k3), ReportField("k4", \.distortion.k4),
      ReportField("k5", \.distortion.k5), ReportField("k6", \.distortion.k6),
      ReportField("s1", \.distortion.s1), ReportField("s2", \.distortion.s2),
      ReportField("s3", \.distortion.s3), ReportField("s4", \.distortion.s4),
      ReportField("tau_x", unit: "rad", \.distortion.tauX),
      ReportField("tau_y", unit: "rad", \.distortion.tauY),
    ]
  }
}

extension Lens.Camera {
  fileprivate var matrix: MatrixValues { [focalX, 0, centerX, 0, focalY, centerY, 0, 0, 1] }
}
