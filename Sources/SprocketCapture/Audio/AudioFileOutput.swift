public import Sprocket

/// Records the session's microphone alone into files on request, beside pictures or without a camera.
///
///     let sounds = AudioFileOutput()
///     try await session.configure { c in c.add(sounds) }
///     let recording = try sounds.startRecording(to: "memo.wav")
///     try await Task.sleep(for: .seconds(5))
///     recording.stop()
///     print(await recording.finished().duration)
///
/// The ending of the path says what kind of file it is: `.wav`, `.flac`, `.mov` or `.mkv`. It begins with the
/// next block of sound and has no holes: what is missing is silence. An existing file is never replaced.
/// While nothing is recorded the output costs nothing.
public final class AudioFileOutput: TakesAudio, SessionOutput {
  public let core = OutputCore("audio-file")
  let takes: Set<CaptureDevice.MediaType> = [.audio]
  private let settings: RecordedSound
  private let limits: RecordingLimits
  private let recordings = SoundRecordings()

  /// - Parameters:
  ///   - sound: rate and channels of the files; the microphone's where they are not given.
  ///   - limits: `duration`, `bytes` and `freeBytes` end a recording, with an error that says that the file
  ///     can be used.
  public init(sound: RecordedSound = RecordedSound(), limits: RecordingLimits = RecordingLimits()) {
    (settings, self.limits) = (sound, limits)
  }

  public var isRecording: Bool { recordings.isRecording }

  /// How long the file under way is. 0 where there is none.
  public var recordedDuration: Duration { recordings.present?.duration ?? .zero }

  /// Bytes of the file under way, up to its last whole second. 0 where there is none.
  public var recordedFileSize: UInt64 { recordings.present?.fileSize ?? 0 }

  /// Begins a recording with the next block of sound. While one is under way it goes on in the new file
  /// instead: no sample between the two is lost, and none is in both. `limits` are of this file; `nil`: the
  /// output's own.
  ///
  /// Throws if the output is part of no running session, if that has no microphone, and if no such file can
  /// be made, for example because it exists.
  public func startRecording(
    to path: String, limits: RecordingLimits? = nil
  ) throws(CaptureError) -> Recording {
    let recording = Recording(path: path) { [weak self] in self?.recordings.stop($0) }
    try core.ask("the audio file output") { run throws(CaptureError) in
      try recordings.start(core, run, recording, settings, limits ?? self.limits)
    }
    return recording
  }

  /// Asks the recording to end with the sound so far. Does nothing if none is under way.
  public func stopRecording() { recordings.stop() }

  func makeSinks(_ setup: OutputSetup) throws(CaptureError) -> [any Sink] { [] }
  func didLeave() { recordings.stop() }
}
