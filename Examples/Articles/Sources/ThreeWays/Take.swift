import Sprocket
import SprocketCapture
import Synchronization

/// One movie of a writer. Pictures and sound come from the threads of their outputs.
final class Take: Sendable {
  private let writer: AssetWriter
  private let video: AssetWriter.VideoInput
  private let audio: AssetWriter.AudioInput
  /// Whether the first picture has come, and what went wrong first.
  private let state = Mutex((hasBegun: false, error: CaptureError?.none))

  init(
    path: String, _ shape: Shape, _ format: FrameFormat, _ soundFormat: AudioFormat
  ) throws(CaptureError) {
    var pictures = VideoSettings(.h264)
    // As shown: the quarter turn exchanges the file's own width and height.
    pictures.displaySize = (shape.width, shape.height)
    pictures.scalingMode = .resizeAspectFill
    pictures.transform = .quarterTurn
    // 6 bits per pixel and second.
    pictures.averageBitRate = BitRate(bitsPerSecond: shape.width * shape.height * 6)
    pictures.expectedFrameRate = FrameRate(frames: 30)
    pictures.maxKeyFrameInterval = 30
    pictures.profile = "baseline"
    var sound = AudioSettings(.aac)
    sound.bitRatePerChannel = BitRate(bitsPerSecond: 28_000)
    sound.channels = 1
    sound.sampleRate = 22_050

    writer = AssetWriter(path: path, expectsMediaDataInRealTime: true)
    video = AssetWriter.VideoInput(format, pictures)
    audio = AssetWriter.AudioInput(soundFormat, sound)
    try writer.add(video)
    try writer.add(audio)
    try writer.startWriting()
  }

  /// The movie begins with the first picture.
  func append(_ frame: borrowing FrameView) {
    do throws(CaptureError) {
      if state.withLock({ !$0.hasBegun }) {
        try writer.startSession(at: frame.record.captured.nanoseconds)
        state.withLock { $0.hasBegun = true }
      }
      try video.append(frame)
    } catch {
      fail(error)
    }
  }

  /// Sound that is heard before the first picture is left out.
  func append(_ samples: Span<UInt8>, at time: Timestamp) {
    guard state.withLock({ $0.hasBegun }) else { return }
    do throws(CaptureError) {
      try audio.append(samples, at: time.nanoseconds)
    } catch {
      fail(error)
    }
  }

  func finish() async throws(CaptureError) -> AssetWriter.Asset {
    if let error = state.withLock({ $0.error }) { throw error }
    return try await writer.finishWriting()
  }

  private func fail(_ error: CaptureError) {
    state.withLock { $0.error = $0.error ?? error }
  }
}

/// The take that gets pictures and sound now.
final class Takes: Sendable {
  private let state = Mutex((now: Take?.none, soundFormat: AudioFormat?.none))

  var now: Take? {
    get { state.withLock { $0.now } }
    set { state.withLock { $0.now = newValue } }
  }

  /// Of sound whose time is known; `nil` before.
  var soundFormat: AudioFormat? { state.withLock { $0.soundFormat } }

  func append(_ block: SoundBlock, _ samples: Span<UInt8>) {
    guard let time = block.time else { return }
    state.withLock { $0.soundFormat = block.format }
    now?.append(samples, at: time)
  }
}
