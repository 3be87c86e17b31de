internal import Glibc
public import SprocketCore
internal import SprocketLibAV

/// At real pace: when time 0 of a file or a dump was on the monotonic clock, for its pictures and its sound.
final class FileZero: Sendable {
  private let start = Locked<Int64?>(nil)

  /// Time 0. Who asks first sets it, so that its time `time` is now; anew if `isAnew`.
  func monotonicTime(whenNowIs time: Int64, isAnew: Bool) -> Int64 {
    start.withLock { start in
      if let start, !isAnew { return start }
      let now = monotonicNow() &- time
      start = now
      return now
    }
  }
}

/// Plays the sound of a file: any codec that libavcodec decodes, in the format that holds it exactly.
///
///     let sound = try AudioEngine(FileAudioSource(path: "take.mov"), sinks: [SoundSink(path: "take.wav")])
///     try sound.start()
///     while !sound.wait(for: .seconds(1)) {}
///
/// A program reads the samples by an `AudioSink` of its own: `docs/library.md` has a whole one. Beside the
/// pictures of the same file it is made of their `FileSource`.
///
/// ## Time
///
/// At fast pace times are the file's own, on the media clock, as `FileSource` has them for its pictures. At
/// real pace sound comes when it has been heard; made of a `FileSource`, it is in step with the pictures
/// there too. With `from` it begins at that time from the file's first picture, or from its first sound if
/// it has none.
///
/// ## Damage
///
/// Packets that are lost or cannot be decoded are told in a note, and their samples are missing in the block
/// behind them. Where times go back, or on by more than an hour, a new segment begins (`isRestarted`).
public final class FileAudioSource: AudioSource {
  private let path: String
  private let stream: Int?
  private let settings: FileSettings
  private let zero: FileZero
  private var reader: SoundReader?
  private var blockSamples = 0
  /// At real pace: the time of the last block that was due.
  private var lastDue: Int64?
  private var damagedPackets: UInt64 = 0
  private var missingByteCount: Int64 = 0
  /// Notes of the reader about its clock, kept when it is closed.
  private var clockNotes: [String] = []
  /// Of those, packets before the place where it begins.
  private var damageBefore: UInt64 = 0
  /// It may end before the pictures that are played, too.
  private var isBesidePictures = false
  private let interruption = SourceInterrupt()

  /// Most of a second that a block has. Larger: fewer blocks; at real pace, sound comes later.
  private static let blocksPerSecond = 10
  /// Longest pause, as `FileSource` has it.
  private static let longestPause: Int64 = 3_600_000_000_000

  /// Opens nothing yet. `stream` is the number of a stream of the file, as ffprobe counts; without one, the
  /// best is taken. `startup` of the settings is for pictures.
  public convenience init(
    path: String, stream: Int? = nil, _ settings: FileSettings = FileSettings()
  ) {
    self.init(path, stream, settings, FileZero())
  }

  /// The sound of a file that `pictures` also plays; both keep the same times. Make it before `pictures` is
  /// opened.
  public convenience init(of pictures: FileSource, stream: Int? = nil) {
    pictures.isSoundTaken = true
    self.init(pictures.path, stream, pictures.settings, pictures.zero)
    isBesidePictures = true
  }

  /// The same; `nil` if the file has no sound, or can be read once only (a pipe).
  public static func ifAny(of pictures: FileSource) -> FileAudioSource? {
    var status = stat()
    guard unsafe stat(pictures.path, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
      (try? SoundReader(path: pictures.path, stream: nil, isInterrupted: { false })) != nil
    else { return nil }
    return FileAudioSource(of: pictures)
  }

  /// Why the sound of a file that has some cannot be heard; `nil` where it can, and where there is none.
  public static func fault(of pictures: FileSource) -> RunError? {
    do throws(MediaError) {
      _ = try SoundReader(path: pictures.path, stream: nil, isInterrupted: { false })
      return nil
    } catch {
      return error.code == .noSound ? nil : RunError(opening: error)
    }
  }

  private init(_ path: String, _ stream: Int?, _ settings: FileSettings, _ zero: FileZero) {
    (self.path, self.stream, self.settings, self.zero) = (path, stream, settings, zero)
  }

  private var isReal: Bool { settings.pace == .real }

  /// Decodes the first samples, whose format is the file's.
  public func open() throws(RunError) -> AudioDescription {
    try settings.check(of: "the sound of a file")
    let info: SoundInfo
    do throws(MediaError) {
      info = try openReader()
    } catch {
      throw RunError(opening: error)
    }
    let sound = info.format
    guard let format = AudioFormat(checked: sound) else {
      throw RunError(
        .usage,
        "\(path) has sound of \(sound.rate) Hz and \(sound.channels) channels, and Sprocket takes "
          + "8000 to 192000 Hz and 1 to 8 channels; convert it first, for example with ffmpeg")
    }
    if settings.from > .zero { try begin(at: settings.from) }
    blockSamples = format.rate / Self.blocksPerSecond
    var description = AudioDescription(
      name: path, format: format, isLive: isReal, clock: isReal ? .monotonic : .media,
      blockSamples: blockSamples)
    if isReal, let next = try? reader?.next(atMost: blockSamples) {
      description.usualSamples = max(1, next.count)
    }
    description.tags = info.tags
    missingByteCount = info.missingByteCount
    description.setup = "\(info.codecName), stream \(info.streamIndex)"
    if info.streams.count > 1, stream == nil {
      let numbers = info.streams.map(String.init).joined(separator: ", ")
      description.note =
        "\(path) has sound in the streams \(numbers); \(info.streamIndex) is taken"
    }
    return description
  }

  private func openReader() throws(MediaError) -> SoundInfo {
    let opened = try SoundReader(path: path, stream: stream) { [interruption] in
      interruption.isSet
    }
    let info = opened.info
    reader = consume opened
    return info
  }

  /// Leaves out what is before `from`.
  private func begin(at from: Duration) throws(RunError) {
    let firstPicture = firstPictureTime()
    var isEmpty = false
    do throws(MediaError) {
      guard let first = try reader?.next(atMost: 1)?.timeNanoseconds else { return }
      let target = (firstPicture ?? first).clampedSum(from.nanosecondCount)
      // Read from the start if the file could not seek, or if its index led to a later place.
      let isSought = reader?.seek(toNanoseconds: target) == true
      let place = isSought ? try reader?.next(atMost: 1) : nil
      if place.map({ $0.timeNanoseconds > target }) ?? true { _ = try openReader() }
      try skip(to: target)
      // The decoder begins in the middle of a stream: what it misses lies before.
      damageBefore = reader?.damagedPackets ?? 0
      isEmpty = try reader?.next(atMost: 1) == nil
    } catch {
      throw RunError(opening: error)
    }
    if isEmpty, !isBesidePictures {
      throw RunError(
        .usage, "\(path) has no sound at \(from.settingText) or later; begin earlier")
    }
  }

  private func skip(to target: Int64) throws(MediaError) {
    while let block = try reader?.next(atMost: .max), block.timeNanoseconds < target,
      let rate = reader?.info.format.rate
    {
      let early = Double(target.clampedSum(-max(block.timeNanoseconds, -.max)))
      // Times are whole nanoseconds: a hundredth of a sample is none.
      let samples = (early * Double(rate) / 1e9 - 0.01).rounded(.up)
      guard samples >= 1 else { return }
      reader?.leave(samples < Double(block.count) ? Int(samples) : block.count)
    }
  }

  /// The time of the file's first picture as `FileSource` has it, from which `from` counts.
  private func firstPictureTime() -> Int64? {
    let pictures = FileSource(path: path)
    defer { pictures.close() }
    guard (try? pictures.open()) != nil, case .frame(let frame) = try? pictures.next(timeout: 0)
    else { return nil }
    return frame.captured.nanoseconds
  }

  public func read(
    into bytes: inout MutableSpan<UInt8>, timeout: Int64
  ) throws(RunError) -> AudioArrival {
    guard !interruption.isSet else { return .end }
    do throws(MediaError) {
      guard let block = try reader?.next(atMost: blockSamples) else { return .end }
      guard let time = heardTime(block, timeout: timeout) else {
        return interruption.isSet ? .end : .nothing
      }
      reader?.take(block.count, into: &bytes)
      let count = isReal ? block.count : fill(&bytes, behind: block)
      var sound = ArrivedSound(count: count, missing: block.missing, timing: .exact(time))
      sound.isRestarted = block.isRestarted
      return .block(sound)
    } catch {
      if error.code == .interrupted { return .end }
      throw RunError(.failed, error.description)
    }
  }

  /// Takes what follows without a gap, until the block is full: the ring has so many blocks for a second.
  /// Returns the number of samples in the block.
  /// What fails here fails at the next block again.
  private func fill(_ bytes: inout MutableSpan<UInt8>, behind block: SoundBlock) -> Int {
    guard let size = reader?.info.format.sampleBytes else { return block.count }
    var count = block.count
    while count < blockSamples, let next = try? reader?.next(atMost: blockSamples - count),
      next.missing == 0, !next.isRestarted
    {
      var rest = bytes._mutatingExtracting(droppingFirst: count * size)
      reader?.take(next.count, into: &rest)
      count += next.count
    }
    return count
  }

  /// When the block was heard. At real pace waits until its end; `nil` when `timeout` nanoseconds are over
  /// before.
  private func heardTime(_ block: SoundBlock, timeout: Int64) -> Int64? {
    guard isReal, let rate = reader?.info.format.rate else { return block.timeNanoseconds }
    let time = block.timeNanoseconds
    let isTooLong = time - Self.longestPause > lastDue ?? time
    if isTooLong { lastDue = time }
    let due = zero.monotonicTime(whenNowIs: time, isAnew: isTooLong) &+ time
    let length = Int64(block.count) * 1_000_000_000 / Int64(rate)
    guard interruption.wait(until: due.clampedSum(length), timeout: timeout) else { return nil }
    lastDue = time
    return due
  }

  public var notes: [String] {
    // Beside pictures these tell it.
    let clock =
      isBesidePictures
      ? [] : (reader?.timeNotes ?? clockNotes) + FileSource.cut(path, missingByteCount)
    let damaged = (reader?.damagedPackets ?? damagedPackets) - damageBefore
    guard damaged > 0 else { return clock }
    return clock + [
      damaged == 1
        ? "\(path): a packet of sound is damaged"
        : "\(path): \(damaged) packets of sound are damaged"
    ]
  }

  public func interrupt() { interruption.set() }

  public func close() {
    damagedPackets = reader?.damagedPackets ?? damagedPackets
    clockNotes = reader?.timeNotes ?? clockNotes
    reader = nil
  }
}

extension AudioFormat {
  /// `nil` for a rate or a count of channels that Sprocket does not take.
  init?(checked format: PCMFormat) {
    guard Self.rates.contains(format.rate), 1...Self.mostChannels ~= format.channels else {
      return nil
    }
    let number: Number =
      switch format.number {
      case .s16: .s16
      case .s24: .s24
      case .s32: .s32
      case .f32: .f32
      }
    self.init(number: number, rate: format.rate, channels: format.channels)
    speakers = format.speakers
  }
}
