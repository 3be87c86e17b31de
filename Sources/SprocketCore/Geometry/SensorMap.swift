/// Where the points of a picture lie in the picture that the sensor made:
///
///     sensor = sensorFromDistorted · lens(undistortedFromPicture · picture)
///
/// `lens` is `FrameFormat.lens`, and does nothing where that is `nil`: in a chain without `undistort`, where
/// `sensorFromDistorted` is the identity. Coordinates are those of `Projection`.
public struct SensorMap: Sendable, BitwiseCopyable {
  /// To the picture that `undistort` made; without it, to the sensor's picture.
  public var undistortedFromPicture = Projection.identity
  /// From the picture that `undistort` read to the sensor's picture.
  public var sensorFromDistorted = Projection.identity

  public init() {}

  /// Where the point (`x`, `y`) of the picture lies in the sensor's picture.
  public func sensorPoint(_ x: Double, _ y: Double, through lens: Lens?) -> (x: Double, y: Double) {
    let straight = undistortedFromPicture.apply(x, y)
    let bent = lens?.distort(straight.x, straight.y) ?? straight
    return sensorFromDistorted.apply(bent.x, bent.y)
  }

  /// The map of a picture made from this one.
  public func followed(by sourceFromPicture: Projection) -> SensorMap {
    var map = self
    map.undistortedFromPicture = undistortedFromPicture * sourceFromPicture
    return map
  }

  /// The map of a picture made from this one by removing a lens's distortion. There may be one such step.
  public func followedByLens() -> SensorMap {
    var map = SensorMap()
    map.sensorFromDistorted = undistortedFromPicture
    return map
  }
}

/// What a stage that moves pixels says of each frame: where its points lie in the sensor's picture. See
/// `SensorMap` for the formula.
public struct GeometryReport: FrameReport {
  /// A matrix from this picture's pixels to those of the picture that `undistort` made; without it, to the
  /// sensor's.
  public var undistortedFromPicture = Projection.identity.values
  /// A matrix from the pixels of the picture that `undistort` read to the sensor's.
  public var sensorFromDistorted = Projection.identity.values

  public init() {}

  public init(_ map: SensorMap) {
    undistortedFromPicture = map.undistortedFromPicture.values
    sensorFromDistorted = map.sensorFromDistorted.values
  }

  public static var fields: [ReportField<Self>] {
    [
      ReportField("undistorted_from_picture", \.undistortedFromPicture),
      ReportField("sensor_from_distorted", \.sensorFromDistorted),
    ]
  }
}
