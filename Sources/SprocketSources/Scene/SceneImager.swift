internal import SprocketCore

/// Makes the bytes of the scene's frames at one size, drawn one by one or all at the start.
final class SceneImager {
  let format: FrameFormat
  /// Bytes that any frame fits in.
  let capacity: Int
  private var writer: SceneFrameWriter?
  private var jpeg: SceneJPEG?
  /// Frames drawn at the start.
  private(set) var cache: [[UInt8]] = []

  init(
    _ settings: SceneSettings, isAlternate: Bool, _ interruption: SourceInterrupt
  ) throws(RunError) {
    let (width, height) = settings.size(isAlternate: isAlternate)
    format = settings.frameFormat(width: width, height: height)
    let renderer = SceneRenderer(
      width: width, height: height, seed: settings.seed, lens: settings.lensModel,
      sensor: settings.sensorModel, interruption: interruption)
    if settings.format == .mjpeg {
      let chroma: SceneChroma = settings.subsampling == .half422 ? .half422 : .half420
      capacity = SceneJPEG.capacity(width: width, height: height, subsampling: chroma) ?? 0
      jpeg = SceneJPEG(renderer, subsampling: chroma, quality: settings.quality)
      guard jpeg != nil else {
        throw RunError(.failed, "the scene cannot set up its JPEG encoder: out of memory")
      }
    } else {
      capacity = settings.format.byteCount(width: width, height: height)
      writer = SceneFrameWriter(renderer, format: settings.format)
    }
    if settings.cached > 0 { fillCache(settings, interruption) }
  }

  /// Draws a frame into `out`, which holds `capacity` bytes; returns its bytes.
  func draw(_ moment: SceneMoment, into out: inout MutableSpan<UInt8>) -> Int {
    if writer != nil {
      writer?.write(moment, into: &out)
      return capacity
    }
    return jpeg?.write(moment, into: &out) ?? 0
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
