import SprocketTesting

/// Texts of calibrations, as programs write them.
enum CalibrationTexts {
  static let camera = "[ 300., 0., 160.5, 0., 310., 119., 0., 0., 1. ]"

  /// As OpenCV's `FileStorage` writes YAML.
  static func yaml(
    _ coefficients: [Double] = [-0.3, 0.1, 0.001, -0.002, 0.02], width: Int = 320,
    height: Int = 240, more: String = ""
  ) -> String {
    """
    %YAML:1.0
    ---
    calibration_time: "Tue Nov 24 20:00:00 2026" # a comment: camera_matrix
    \(more)image_width: \(width)
    image_height: \(height)
    camera_matrix: !!opencv-matrix
       rows: 3
       cols: 3
       dt: d
       data: [ 3.0000000000000000e+02, 0., 160.5, 0., 310.,
           1.19e+02, 0., 0., 1. ]
    distortion_coefficients: !!opencv-matrix
       rows: \(coefficients.count)
       cols: 1
       dt: d
       data: [ \(coefficients.map { "\($0)" }.joined(separator: ",\n       ")) ]
    avg_reprojection_error: 0.2

    """
  }

  static let xml = """
    <?xml version="1.0"?>
    <opencv_storage>
    <!-- <image_width>1</image_width> -->
    <image_width>320</image_width>
    <image_height>240</image_height>
    <camera_matrix type_id="opencv-matrix">
      <rows>3</rows>
      <cols>3</cols>
      <dt>d</dt>
      <data>
        300. 0. 160.5 0. 310. 119. 0. 0.
        1.</data></camera_matrix>
    <distortion_coefficients type_id="opencv-matrix">
      <rows>5</rows>
      <cols>1</cols>
      <dt>d</dt>
      <data>
        -0.3 0.1 0.001 -2.e-03 0.02</data></distortion_coefficients>
    </opencv_storage>

    """

  static let json = """
    {
        "image_width": 320,
        "image_height": 240,
        "camera_matrix": {
            "type_id": "opencv-matrix",
            "rows": 3,
            "cols": 3,
            "dt": "d",
            "data": [ 300.0, 0.0, 160.5, 0.0, 310.0, 119.0, 0.0, 0.0, 1.0 ]
        },
        "distortion_coefficients": {
            "type_id": "opencv-matrix",
            "rows": 5,
            "cols": 1,
            "dt": "d",
            "data": [ -0.3, 0.1, 0.001, -0.002, 0.02 ]
        }
    }

    """

  static let ros = """
    image_width: 320
    image_height: 240
    camera_name: head
    camera_matrix:
      rows: 3
      cols: 3
      data: [300.0, 0.0, 160.5, 0.0, 310.0, 119.0, 0.0, 0.0, 1.0]
    distortion_model: plumb_bob
    distortion_coefficients:
      rows: 1
      cols: 5
      data:
      - -0.3
      - 0.1
      - 0.001
      - -0.002
      - 0.02
    projection_matrix:
      rows: 3
      cols: 4
      data: [1, 2, 3]

    """

  /// One line, and lists within a list.
  static let short =
    #"{"image_width":320,"image_height":240,"camera_matrix":[[300,0,160.5],[0,310,119],[0,0,1]],"#
    + #""distortion_coefficients":[[-0.3,0.1,0.001,-0.002,0.02]]}"#

  static let all = [yaml(), xml, json, ros, short]

  static let fisheye = [0.05, -0.02, 0.003, -0.001]
}
