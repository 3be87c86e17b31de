internal import SprocketCodecs
internal import SprocketCore

/// Draws the scene's frames at one size, one by one or all at the start.
final class SceneImager {
  let format: FrameFormat
  private var writer: SceneFrameWriter
  /// Frames drawn at the start.
  private(set) var cache: [[UInt8]] = []

  /// Largest possible frame in bytes.
  var capacity: Int { writer.capacity }

  /// Throws if there is not enough memory.
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

  /// Draws a frame into `out`, which has `capacity` bytes; returns the frame's size in bytes.
  func draw(_ moment: SceneMoment, into out: inout MutableSpan<UInt8>) -> Int {
    writer.write(moment, into: &out)
  }

  /// Throws if the arrays that `init` makes do not fit in the address space that is left. The check is needed
  /// because Swift ends the process if an allocation fails. The engine plans its own memory later.
  private static func check(_ format: FrameFormat, cached: Int) throws(RunError) {
    let (width, height) = (format.width, format.height)
    let texture = SceneTexture.drawingBytes(frameWidth: width, frameHeight: height)
    let planes = SceneFrameWriter.planeBytes(format)
    let encoder = JPEGPacker.requirements(format)?.packerBytes ?? 0
    // Memory of: the frame that is delivered, the frame that is drawn into the cache, and the cached frames.
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
