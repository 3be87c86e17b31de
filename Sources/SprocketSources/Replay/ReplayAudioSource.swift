public import SprocketCore
internal import SprocketMCAP
internal import SprocketRecords

/// Plays the sound of a dump: the same samples, numbers, times and gaps.
///
/// What the device's status said is in the dump, so that the clock is measured again, with the same result,
/// and a movie of the replay has the same sound. Samples that the dump lost, because it came too late or its
/// file is damaged, are missing.
///
/// With `live=true` blocks come at the times at which they came, with the pictures' if it is made of a
/// ``ReplaySource``.
public final class ReplayAudioSource: AudioSource {
  private let path: String
  private let number: Int
  private let settings: ReplaySettings
  private let zero: FileZero
  private var reader: MCAPReader?
  private var blocks: [ReplayBlock] = []
  private var microphone: ReplayMicrophone?
  private var place = 0
  private var damagedBlocks: UInt64 = 0
  private let interruption = SourceInterrupt()

  /// Opens nothing yet. `microphone` counts the dump's sources of sound, from 1.
  public convenience init(
    path: String, microphone: Int = 1, _ settings: ReplaySettings = ReplaySettings()
  ) {
    self.init(path, microphone, settings, FileZero())
  }

  /// The sources of sound of a dump that `pictures` also replays; both keep the same times. Empty if the dump
  /// has no sound.
  public static func all(of pictures: ReplaySource) -> [ReplayAudioSource] {
    guard let reader = try? MCAPReader.open(pictures.path),
      let topics = try? ReplayStreams(reader).topics(pictures.settings.stream, path: pictures.path)
    else { return [] }
    return (0..<reader.microphoneCount(topics)).map {
      ReplayAudioSource(pictures.path, $0 + 1, pictures.settings, pictures.zero)
    }
  }

  private init(_ path: String, _ number: Int, _ settings: ReplaySettings, _ zero: FileZero) {
    (self.path, self.number, self.settings, self.zero) = (path, number, settings, zero)
  }

  /// Blocks of sound, and samples from the first to the last, lost ones counted; 0 before `open`.
  public var blockCount: Int { blocks.count }
  public var sampleCount: UInt64 {
    blocks.last.flatMap { last in blocks.first.map { last.end &- $0.sample } } ?? 0
  }

  /// Reads what the file tells of all blocks, so that it takes a while with a long one.
  public func open() throws(RunError) -> AudioDescription {
    try settings.check(of: "the sound of a replay")
    do throws(MCAPError) {
      reader = try MCAPReader.open(path) { [interruption] in interruption.isSet }
    } catch {
      throw RunError(opening: error)
    }
    let topics = try ReplayStreams(reader!).topics(settings.stream, path: path)
    do throws(MCAPError) {
      let index = try ReplaySoundIndex(number - 1, &reader!, topics)
      (blocks, microphone) = (index.blocks, index.microphone)
      if blocks.isEmpty || microphone == nil {
        throw MCAPError(.format, noSound(reader!.microphoneCount(topics)))
      }
      if settings.from > .zero { try begin(&reader!, topics) }
    } catch {
      throw RunError(opening: error)
    }
    guard let microphone, place < blocks.count else {
      throw RunError(
        .usage, "\(path) has no sound at \(settings.from.settingText) or later; begin earlier")
    }
    var description = AudioDescription(
      name: microphone.name, format: microphone.format, isLive: settings.live,
      clock: settings.live ? .monotonic : .recorded,
      blockSamples: blocks.reduce(1) { max($0, $1.count) })
    let samples = blocks.reduce(0) { $0 + $1.count }
    description.usualSamples = max(1, samples / max(1, blocks.count))
    description.setup = "replay of \(path)"
    return description
  }

  private func noSound(_ count: Int) -> String {
    count == 0
      ? "\(path) has no sound to replay; record a dump with a microphone"
      : "\(path) has the sound of \(count) microphones, and none of number \(number); give 1 to \(count)"
  }

  /// Leaves out what is before the first picture that is played.
  private func begin(
    _ reader: inout MCAPReader, _ topics: ReplayTopics
  ) throws(MCAPError) {
    let pictures = try ReplayIndex(&reader, topics)
    let first: Int64?
    if pictures.frames.isEmpty {
      first = blocks.first?.time.clampedSum(settings.from.nanosecondCount)
    } else {
      first = pictures.place(at: settings.from).map { pictures.frames[$0].captured }
    }
    guard let first, let format = microphone?.format else {
      place = blocks.count
      return
    }
    place = blocks.firstIndex { $0.time + format.nanoseconds($0.count) > first } ?? blocks.count
  }

  public func read(
    into bytes: inout MutableSpan<UInt8>, timeout: Int64
  ) throws(RunError) -> AudioArrival {
    guard place < blocks.count, let microphone, !interruption.isSet else { return .end }
    let block = blocks[place]
    var due = block.read
    if settings.live {
      due = zero.monotonicTime(whenNowIs: block.read, isAnew: false) &+ block.read
      guard interruption.wait(until: due, timeout: timeout) else {
        return interruption.isSet ? .end : .nothing
      }
    }
    guard try load(block, microphone.format, into: &bytes) else {
      damagedBlocks += 1
      place += 1
      return .nothing
    }
    var sound = ArrivedSound(
      count: block.count, missing: lost(before: block), timing: timing(of: block, due: due))
    sound.isRestarted = last.map { $0.segment != block.segment } ?? false
    sound.read = due
    last = block
    place += 1
    return .block(sound)
  }

  /// The block that was read last.
  private var last: ReplayBlock?

  private func lost(before block: ReplayBlock) -> UInt64 {
    guard let last else { return settings.from > .zero ? 0 : block.missing }
    return block.sample - last.end
  }

  private func timing(of block: ReplayBlock, due: Int64) -> ArrivedSound.Timing {
    guard settings.live, let microphone else { return block.timing }
    let shift = due &- block.read
    switch block.timing {
    case .status(let ahead, let time) where microphone.isMonotonic:
      return .status(ahead: ahead, time: time &+ shift)
    case .exact(let time) where microphone.isMonotonic: return .exact(time &+ shift)
    case .unknown where microphone.isMonotonic: return .unknown
    default: return .exact(due &- microphone.format.nanoseconds(block.count))
    }
  }

  /// Copies the samples of a block; false where they are not there.
  private func load(
    _ block: ReplayBlock, _ format: AudioFormat, into bytes: inout MutableSpan<UInt8>
  ) throws(RunError) -> Bool {
    guard let place = block.place else { return false }
    do throws(MCAPError) {
      try reader?.load(Int(place.chunk))
    } catch {
      if error.code == .damaged { return false }
      throw RunError(error.code == .interrupted ? .interrupted : .failed, error.description)
    }
    let size = block.count * format.sampleBytes
    var room = bytes._mutatingExtracting(first: size)
    var isWhole = false
    _ = reader?.withMessage(at: place) { _, data in
      var fields = ProtobufFields()
      while let field = fields.next(data) {
        guard field.number == 2, case .bytes(let range) = field.value, range.count == size else {
          continue
        }
        copyRow(data.extracting(range), into: &room)
        isWhole = true
      }
    }
    return isWhole
  }

  public var notes: [String] {
    guard damagedBlocks > 0 else { return [] }
    return ["\(path): \(damagedBlocks) blocks of sound are damaged, and missing"]
  }

  public func interrupt() { interruption.set() }

  public func close() { reader = nil }
}
