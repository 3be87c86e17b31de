public import SprocketCore

/// Removes the distortion of a lens, as a calibration file describes it.
public struct Undistort: Stage {
  public static let plugin = Plugin(
    "undistort", "straight lines where the lens bends them", Undistort.self)

  public typealias Report = UndistortReport

  public static var order: Order { .any }

  /// What a user may choose.
  public struct Settings: KindSettings {
    /// Path of the file.
    public var calibration = InputName("")
    public var model = Model.auto
    /// OpenCV's free scaling parameter; below 0 the new camera has the matrix of the old one.
    public var alpha = -1.0

    public init() {}

    public static var settings: [Setting<Self>] {
      [
        Setting("calibration", \.calibration, "file of OpenCV or ROS that describes the lens"),
        Setting("model", \.model, "model of the lens; auto goes by the file"),
        Setting(
          "alpha", \.alpha, range: -1...1,
          "0: no black borders, 1: all pixels are kept, -1: the camera matrix stays as it is"),
      ]
    }
  }

  public var settings = Settings()

  /// The model of the lens; `auto` takes the file's.
  public enum Model: String, Sendable, CaseIterable, SettingValue {
    case auto, pinhole, fisheye
  }

  private var maps: [RemapTable] = []
  private var report = UndistortReport()
  private var writer: ReportWriter<UndistortReport>?
  private var mixesFields = false
  private var isMoved = false

  public init() {}

  public mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    try setup.writes(.nextImage, depth: .any)
    writer = setup.report(UndistortReport.self)
    let format = setup.format
    guard format.lens == nil else {
      throw StageError(
        "removes the distortion of a lens, and a stage before it has done so; leave one out",
        change: .stage)
    }
    guard !settings.calibration.path.isEmpty else {
      throw StageError(
        "needs a calibration file, such as calibration=camera.yml, as OpenCV's calibration writes it",
        change: .stage)
    }
    let lens: Lens
    do throws(CalibrationError) {
      lens = try Calibration(CalibrationFile.read(settings.calibration.path))
        .lens(settings.model, alpha: settings.alpha, width: format.width, height: format.height)
    } catch {
      throw StageError("cannot use \(settings.calibration.path): \(error)", change: .stage)
    }
    var straight = format
    straight.lens = lens
    mixesFields = format.presentation.fieldOrder.isInterlaced
    if mixesFields { straight.presentation.fieldOrder = .unknown }
    report = UndistortReport(lens)
    isMoved = false
    try makeMaps(lens, format)
    return straight
  }

  private mutating func makeMaps(_ lens: Lens, _ format: FrameFormat) throws(StageError) {
    maps = []
    for plane in 0..<min(format.image?.planeCount ?? 0, 2) {
      let bytes = RemapTable.byteCount(plane, format)
      let memory = SystemMemory.now()
      guard bytes < min(memory.available, memory.addressSpace) else {
        throw StageError(
          "needs \(SystemMemory.text(bytes)) for a table on each worker, and there is less memory left; use "
            + "fewer workers, or put resize before it", change: .workers, .stage)
      }
      maps.append(RemapTable(plane, lens, format))
    }
  }

  public mutating func process(_ frame: inout FrameView) -> Verdict {
    guard let writer else { return .keep }
    let map = frame.sensorMap
    if !map.isWholePicture { isMoved = true }
    let straight = map.followedByLens()
    frame.setSensorMap(straight)
    report.set(straight)
    frame.write(report, writer)
    var picture = frame.edit()
    for plane in 0..<picture.planeCount { maps[min(plane, 1)].remap(plane, of: &picture) }
    return .keep
  }

  public var notes: [String] {
    var notes: [String] = []
    if isMoved {
      notes.append(
        "undistort: the picture was cut, turned or moved before, and the calibration is of the whole "
          + "picture: put undistort first")
    }
    if mixesFields {
      notes.append(
        "undistort: the pictures were interlaced, and rows of both fields are mixed: deinterlace before"
      )
    }
    return notes
  }
}

extension SensorMap {
  /// Whether the picture is the sensor's, at any size.
  fileprivate var isWholePicture: Bool {
    let m = undistortedFromPicture.values
    let corner = undistortedFromPicture.apply(-0.5, -0.5)
    return m[1] == 0 && m[3] == 0 && m[6] == 0 && m[7] == 0 && m[0] > 0 && m[4] > 0
      && abs(corner.x + 0.5) < 1e-6 && abs(corner.y + 0.5) < 1e-6
  }
}

extension StageChoice {
  /// Removes the distortion of a lens.
  public static func undistort(_ choose: (inout Undistort.Settings) -> Void) -> StageChoice {
    StageChoice(Undistort.plugin, of: Undistort.self, choose)
  }
}
