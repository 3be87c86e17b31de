public import SprocketCore
internal import SprocketEngine
public import SprocketSinks
internal import SprocketSources

extension Composition {
  /// What an export has written.
  public struct Exported: Sendable {
    /// The file.
    public let path: String
    /// Pictures in it.
    public let pictures: UInt64
    /// From the first picture to the end of the last one.
    public let duration: Duration
    /// Why the pictures were encoded anew; `nil` where they were copied as they are.
    public let reasonForEncoding: String?
    /// What the user should know.
    public let notes: [String]
  }

  /// How a composition is written.
  public struct ExportSettings: Sendable {
    /// Encodes the pictures. `nil`: they are copied as they are where that can be; else they are encoded as
    /// the first clip is coded, where Sprocket encodes that, or as H.264.
    public var codec: MovieCodec?
    /// 1 to 100, of JPEGs that are encoded.
    public var quality = 90
    /// How sound is stored. `nil`: PCM where all of it is PCM and the file can hold that, else AAC, in WebM
    /// Opus.
    public var soundCodec: AudioCodec?
    /// Leaves out the sound.
    public var isSilent = false
    /// What the film says of itself. Each field that is set replaces the first clip's; what is left empty is
    /// as the first clip has it.
    public var metadata = MovieMetadata()
    /// Replaces a file that exists.
    public var overwrite = false

    /// The usual settings.
    public init() {}
  }

  /// Writes one file: `.mov`, `.mp4`, `.mkv` or `.webm`. Returns when it has its name.
  ///
  /// Pictures are copied as they are where that can be: all clips are coded alike, and each is cut where no
  /// picture needs another one that is not in it: at key frames (Motion JPEG has nothing else). Else all are
  /// encoded, and `reasonForEncoding` says why. Sound is always written anew, so that it is in step to the
  /// sample.
  ///
  /// Throws if there are no clips; if their pictures would have to be encoded, and have other sizes, pixels
  /// or turns; if the file cannot be written; and if the task is cancelled. No file is left then. Cost:
  /// copying is bound by the disk and by the sound; encoding costs as decoding and encoding all pictures.
  @discardableResult
  public func export(
    to path: String, _ settings: ExportSettings = ExportSettings()
  ) async throws(RunError) -> Exported {
    let stop = SourceInterrupt()
    let work = try BackgroundWork("export") {
      try write(to: path, settings) { stop.isSet }
    }
    await withTaskCancellationHandler {
      while !work.wait(for: .zero) {
        // A task of its own is not cancelled with the caller's.
        await Task { try? await Task.sleep(for: .milliseconds(5)) }.value
      }
    } onCancel: {
      stop.set()
    }
    do {
      if let made = try work.take()?.get() { return made }
    } catch let error as RunError {
      throw error
    } catch {}
    throw RunError(.failed, "\(path) was not written")
  }

  /// The same; blocks the thread, and asks `isInterrupted` some times a second. With `mustCopy` it throws
  /// where pictures would have to be encoded.
  package func write(
    to path: String, _ settings: ExportSettings, mustCopy: Bool = false,
    isInterrupted: @escaping @Sendable () -> Bool
  ) throws(RunError) -> Exported {
    guard !clips.isEmpty else {
      throw RunError(.usage, "the composition has no clips; append one first")
    }
    let parts = clips.map(\.part)
    let usual = try MovieCopy.usualSound(of: parts, in: path)
    let sound = settings.isSilent || usual == nil ? nil : settings.soundCodec ?? usual
    let obstacle = try MovieCopy.obstacle(to: path, of: parts)
    let reason = settings.codec == nil ? obstacle : "a codec was asked for"
    if mustCopy, let reason {
      throw RunError(.usage, "the pictures cannot be copied as they are: \(reason); encode them")
    }
    if let reason {
      return try encode(to: path, settings, sound, because: reason, isInterrupted)
    }
    let notes = try MovieCopy.join(
      parts, to: path, sound: sound, metadata: settings.metadata, overwrite: settings.overwrite,
      isInterrupted: isInterrupted)
    return Exported(
      path: path, pictures: clips.reduce(0) { $0 + UInt64($1.times.count) }, duration: duration,
      reasonForEncoding: nil, notes: notes)
  }

  private func encode(
    to path: String, _ settings: ExportSettings, _ sound: AudioCodec?, because reason: String,
    _ isInterrupted: () -> Bool
  ) throws(RunError) -> Exported {
    let isMixed = clips.contains { $0.codec != clips[0].codec }
    let usual = try MovieCopy.codec(like: isMixed ? "" : clips[0].codec, in: path)
    let codec = settings.codec ?? usual
    if isMixed, codec.isJPEG {
      throw RunError(
        .usage,
        "clips of several codecs cannot be joined as Motion JPEG; choose h264, or export each as mjpeg"
      )
    }
    var audio: [AudioEngine] = []
    let sounds = sound == nil ? nil : ClipsAudioSource(clips)
    if let sounds { audio = [try AudioEngine(sounds)] }
    var recorded = RecordedSound()
    recorded.codec = sound
    let movie = MovieSink(
      path: path, quality: settings.quality, codec: codec, overwrite: settings.overwrite,
      sound: try audio.map { (sound) throws(RunError) in try sound.makeTap(for: "movie") },
      soundSettings: recorded, metadata: settings.metadata)
    let source = ClipsSource(clips, isEncoded: !codec.isJPEG)
    let ending = movie.ending
    source.onFailure = { ending.giveUp() }
    sounds?.onFailure = { ending.giveUp() }
    let engine = try Engine(source: source, sinks: [movie], audio: audio)
    try engine.start()
    while !engine.wait(for: .milliseconds(50)) {
      guard isInterrupted() else { continue }
      movie.giveUp()
      engine.stop()
      _ = engine.wait(for: .seconds(20))
      throw RunError(.interrupted, "stopped: \(path) was not written")
    }
    let summary = engine.summary
    if let error = summary.errors.first { throw error }
    let wanted = clips.reduce(0) { $0 + UInt64($1.times.count) }
    let written = summary.ledger.entries.first?.counts[.delivered] ?? 0
    var notes = summary.notes
    if written < wanted {
      notes.append(
        "\(wanted - written) of \(wanted) pictures could not be decoded, and are left out")
    }
    return Exported(
      path: path, pictures: written, duration: duration, reasonForEncoding: reason, notes: notes)
  }
}
