internal import SprocketCodecs
internal import SprocketCore

/// Makes the bytes of the scene's frames at one size, drawn one by one or all at the start.
final class SceneImager {
  let format: FrameFormat
  private var writer: SceneFrameWriter
  /// Frames drawn at the start.
  private(set) var cache: [[UInt8]] = []

  /// Bytes that any frame fits in.
  var capacity: Int { writer.capacity }

  /// Throws where the memory that is left does not suffice.
  init(
    _ settings: SceneSettings, isAlternate: Bool, _ interruption: SourceInterrupt
  ) throws(RunError) {
    let (width, height) = settings.size(isAlternate: isAlternate)
    format = settings.frameFormat(width: width, height: height)
    try Self.check(format, cached: settings.cached)
    let renderer = SceneRenderer(
      width: width, height: height, seed: settings.seed, lens: settings.lensModel,
      sensor: settings.sensorModel, interruption: interruption)
    writer = try SceneFrameWriter(renderer, format: format, quality: settings.quality)
    if settings.cached > 0 { fillCache(settings, interruption) }
  }

  /// Draws a frame into `out`, which holds `capacity` bytes; returns its bytes.
  func draw(_ moment: SceneMoment, into out: inout MutableSpan<UInt8>) -> Int {
    writer.write(moment, into: &out)
  }

  /// What is allocated here is gone before the engine plans its frames. Swift ends the process where an
  /// allocation fails.
  private static func check(_ format: FrameFormat, cached: Int) throws(RunError) {
    let (width, height) = (format.width, format.height)
    let texture = SceneTexture.drawingBytes(frameWidth: width, frameHeight: height)
    let planes = SceneFrameWriter.planeBytes(format)
    let encoder = JPEGPacker.requirements(format)?.packerBytes ?? 0
    // The frame that is handed over, the one that is drawn into the cache, and those in it.
    let frames = SceneFrameWriter.capacity(format) * (cached > 0 ? 2 + cached : 1)
    let needed = texture + planes + encoder + frames
    let system = SystemMemory.now()
    let left = min(system.available, system.addressSpace)
    guard needed > left else { return }
    throw RunError(
      .failed,
      "the scene of \(width)x\(height) needs \(SystemMemory.text(needed)) of memory, and "
        + "\(SystemMemory.text(left)) are left for it: use a smaller size"
        + (cached > 0 ? ", fewer cached frames" : "")
        + (system.addressSpace <= system.available ? ", or raise the limit (ulimit -v)" : ""),
      change: .size)
  }

  private func fillCache(_ settings: SceneSettings, _ interruption: SourceInterrupt) {
    let camera = SceneCamera(settings)
    var frame = [UInt8](repeating: 0, count: capacity)
    for number in 0..<UInt64(settings.cached) where !interruption.isSet {
      var span = frame.mutableSpan
      let count = draw(camera.moment(number, seconds: 0), into: &span)
      cache.append(Array(frame[..<count]))
    }
  }
}
