public import SprocketCore
internal import SprocketLibAV

/// A microphone that comes while a movie sink is attached: files that begin from then on have its sound.
public final class LateSound: Sendable {
  /// Unchecked: the sink's thread alone reads with them; others add them, and ask for their formats.
  private struct Readers: @unchecked Sendable {
    var all: [AudioReader] = []
  }

  private let readers = Locked(Readers())

  public init() {}

  /// Hands over a tap that nobody has read.
  public func add(_ tap: sending any AudioTap) {
    let new = Readers(all: [AudioReader(tap)])
    readers.withLock { $0.all = $0.all + new.all }
  }

  var all: [AudioReader] {
    let now = readers.withLock { $0 }
    return now.all
  }
}

/// The sound that goes into a sink's movies: a track for each microphone.
struct MovieSound {
  private var first: [AudioReader] = []
  private var late: LateSound?
  var settings = RecordedSound()
  var readers: [AudioReader] {
    guard let late else { return first }
    return first + late.all
  }

  init() {}

  init(_ taps: [any AudioTap], _ settings: RecordedSound, _ late: LateSound? = nil) {
    first = taps.map { AudioReader($0) }
    (self.settings, self.late) = (settings, late)
  }

  /// Sound does not wait; what comes later never does. Asked for each picture.
  var isLive: Bool { late != nil || first.contains { $0.isLive } }

  /// How sound is stored in such a file; `nil` for PCM.
  func codec(_ container: MovieContainer) -> SoundCodec? {
    switch settings.codec {
    case nil: container.holdsPCM ? nil : container == .webm ? .opus : .aac
    case .pcm: nil
    case .aac: .aac
    case .opus: .opus
    case .flac: .flac
    }
  }

  /// Throws where such a file does not hold the sound. Returns what it does not keep of it.
  func check(_ container: MovieContainer, _ path: String) throws(RunError) -> [String] {
    guard !readers.isEmpty else { return [] }
    guard let codec = codec(container) else {
      if container.holdsPCM {
        guard settings.bitRate == nil else {
          throw RunError(
            .usage,
            "the sound of \(path) is PCM, which has no bit rate to choose; leave out the bit rate, or "
              + "choose aac", change: .audioCodec)
        }
        return container == .mkv ? try unplaced { $0.hasUsualSpeakers } : []
      }
      throw RunError(
        .usage,
        "cannot record PCM into \(path): .\(container.rawValue) files have none; record a .mov or .mkv, or "
          + "choose \(container == .webm ? "opus" : "aac")", change: .audioCodec)
    }
    guard container.holds(codec) else {
      throw RunError(
        .usage,
        "cannot record \(codec.rawValue) into \(path): .\(container.rawValue) files do not hold it; record a "
          + ".mp4 or .mkv, or choose \(container == .webm ? "opus" : "aac")", change: .audioCodec)
    }
    return try unplaced { (format) throws(RunError) in
      try encoder(codec, settings(codec, format).format(of: format))
        .saysSpeakers(hasWords: container == .mkv)
    }
  }

  /// Says which sound loses the places of its channels.
  private func unplaced(
    _ isKept: (AudioFormat) throws(RunError) -> Bool
  ) throws(RunError) -> [String] {
    var losses: [String] = []
    for reader in readers where try !isKept(reader.format) {
      losses.append(reader.format.unplaced)
    }
    return losses
  }

  /// The settings, with a rate that the codec has.
  private func settings(_ codec: SoundCodec?, _ source: AudioFormat) -> RecordedSound {
    var settings = settings
    let rate = settings.rate ?? source.rate
    if let known = codec?.rate(for: rate), known != rate { settings.rate = known }
    return settings
  }

  private func encoder(_ codec: SoundCodec, _ format: AudioFormat) throws(RunError) -> SoundEncoder
  {
    guard format.channels <= codec.mostChannels else {
      throw RunError(
        .usage,
        "\(codec.rawValue) has \(codec.mostChannels) channels at most, and this sound "
          + "\(format.channels); choose \(codec.mostChannels), or pcm",
        change: .audioChannels, .audioCodec)
    }
    do throws(EncoderError) {
      return try SoundEncoder(codec, PCMFormat(format), bitRate: settings.bitRate?.bitsPerSecond)
    } catch {
      throw RunError(
        .usage, "\(error); choose pcm, or another rate", change: .audioCodec, .audioRate)
    }
  }

  /// Tracks of a file that begins at `time` (nanoseconds), and what encodes them. A microphone that was taken
  /// away has none.
  func tracks(
    from time: Int64, in container: MovieContainer
  ) throws(RunError) -> [(track: AudioTrack, encoder: SoundEncoder?)] {
    let codec = codec(container)
    var tracks: [(track: AudioTrack, encoder: SoundEncoder?)] = []
    for reader in readers where reader.tap.hasSource {
      let track = try AudioTrack(reader, settings(codec, reader.format), start: time)
      tracks.append(
        (track, try codec.map { (codec) throws(RunError) in try encoder(codec, track.format) }))
    }
    return tracks
  }

  /// At the run's end: accounts for what no file wants.
  func close() {
    for reader in readers {
      reader.skip()
      reader.tap.close()
    }
  }
}
