import SprocketCore

/// What a calibration file says of a camera, for pictures of one size.
struct Calibration: Equatable {
  var width: Int
  var height: Int
  var camera: Lens.Camera
  /// 4, 5, 8, 12 or 14.
  var coefficients: [Double]
  var isFisheye: Bool

  init(_ file: [UInt8]) throws(CalibrationError) {
    let text = try CalibrationText(file)
    guard let width = try text.length("image_width") else { throw .missing("image_width") }
    guard let height = try text.length("image_height") else { throw .missing("image_height") }
    guard let matrix = try text.numbers("camera_matrix") else { throw .missing("camera_matrix") }
    guard let coefficients = try text.numbers("distortion_coefficients") else {
      throw .missing("distortion_coefficients")
    }
    guard matrix.count == 9 else {
      throw .wrong("its camera_matrix has \(matrix.count) numbers; give the file one of 3x3")
    }
    guard matrix[0] > 0, matrix[4] > 0, matrix[3...] == [0, matrix[4], matrix[5], 0, 0, 1] else {
      throw .wrong(
        "its camera_matrix is not [fx 0 cx, 0 fy cy, 0 0 1] with lengths above 0; calibrate again")
    }
    guard matrix[1] == 0 else {
      throw .wrong(
        "its camera_matrix has a skew, which pinhole and fisheye maps do not use; calibrate without"
      )
    }
    guard [4, 5, 8, 12, 14].contains(coefficients.count) else {
      throw .wrong(
        "it has \(coefficients.count) distortion_coefficients; calibrate with 4, 5, 8, 12 or 14")
    }
    (self.width, self.height) = (width, height)
    camera = Lens.Camera(
      focalX: matrix[0], focalY: matrix[4], centerX: matrix[2], centerY: matrix[5])
    self.coefficients = coefficients
    isFisheye = try Self.isFisheye(text)
  }

  /// OpenCV's sample says `fisheye_model: 1`, ROS names the model.
  private static func isFisheye(_ text: CalibrationText) throws(CalibrationError) -> Bool {
    if let flag = text.word("fisheye_model") { return flag == "1" || flag == "true" }
    guard let name = text.word("distortion_model") else { return false }
    switch name {
    case "plumb_bob", "rational_polynomial": return false
    case "equidistant", "fisheye": return true
    default:
      throw .wrong(
        "its distortion_model is `\(name)`; give one of plumb_bob, rational_polynomial, equidistant"
      )
    }
  }

  /// The lens for pictures of `width` by `height`, which are those of the calibration at any size.
  func lens(
    _ asked: Undistort.Model, alpha: Double, width: Int, height: Int
  ) throws(CalibrationError) -> Lens {
    let (across, down) = (
      Double(width) / Double(self.width), Double(height) / Double(self.height)
    )
    // Sizes are whole numbers: half a pixel may be missing.
    let rounding = 0.51 / Double(min(width, height))
    guard abs(across / down - 1) <= rounding else {
      throw .wrong(
        "it is of \(self.width)x\(self.height) pixels, and the pictures have \(width)x\(height), another "
          + "aspect; give the calibration of this format, or put undistort before what cuts")
    }
    let isFisheye =
      switch asked {
      case .auto: self.isFisheye
      case .pinhole: false
      case .fisheye: true
      }
    guard !isFisheye || coefficients.count == 4 else {
      throw .wrong(
        "it has \(coefficients.count) distortion_coefficients, and a fisheye has 4; give model=pinhole"
      )
    }
    // Whole numbers are the middles of pixels.
    let scaled = Lens.Camera(
      focalX: camera.focalX * across, focalY: camera.focalY * down,
      centerX: (camera.centerX + 0.5) * across - 0.5, centerY: (camera.centerY + 0.5) * down - 0.5)
    var lens = Lens(
      model: isFisheye ? .fisheye : .pinhole, camera: scaled, undistorted: scaled,
      distortion: Lens.Distortion(coefficients, isFisheye: isFisheye))
    if alpha >= 0 {
      guard let free = lens.freeCamera(alpha: alpha, width: width, height: height) else {
        throw .wrong(
          "its lens bends the picture's edges so far that no straight picture holds them; leave alpha out"
        )
      }
      lens.undistorted = free
    }
    return lens
  }
}

extension Lens.Distortion {
  /// In OpenCV's order: k1 k2 p1 p2 k3 k4 k5 k6 s1 s2 s3 s4 tauX tauY, or k1 k2 k3 k4.
  fileprivate init(_ coefficients: [Double], isFisheye: Bool) {
    self.init()
    guard !isFisheye else {
      (k1, k2, k3, k4) = (coefficients[0], coefficients[1], coefficients[2], coefficients[3])
      return
    }
    let c = coefficients + [Double](repeating: 0, count: 14 - coefficients.count)
    (k1, k2, p1, p2, k3) = (c[0], c[1], c[2], c[3], c[4])
    (k4, k5, k6) = (c[5], c[6], c[7])
    (s1, s2, s3, s4) = (c[8], c[9], c[10], c[11])
    (tauX, tauY) = (c[12], c[13])
  }
}
