public import SprocketCore

/// Where the points of a picture without distortion lie in the sensor's picture: the matrices of
/// `GeometryReport`, and the lens between them. See `SensorMap` and `Lens` for the formulas.
public struct UndistortReport: FrameReport {
  public var undistortedFromPicture = Projection.identity.values
  public var sensorFromDistorted = Projection.identity.values
  /// Never `auto`.
  public var model: ReportWord<Lens.Model>
  /// Of the camera that made the distorted picture, and of the one that the undistorted picture seems to be
  /// of: focal lengths and centres in pixels, as OpenCV writes them.
  public var cameraMatrix = Projection.identity.values
  public var newCameraMatrix = Projection.identity.values
  /// In the order of OpenCV's vector of 14 coefficients; of a fisheye its k1, k2, k3 and k4 have these names.
  public var distortion = Lens.Distortion()

  /// Looks through the words: a stage of many frames keeps one.
  public init() { model = ReportWord(.pinhole) }

  init(_ lens: Lens) {
    model = ReportWord(lens.model)
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
