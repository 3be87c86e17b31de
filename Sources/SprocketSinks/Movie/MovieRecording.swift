internal import Glibc
internal import SprocketCodecs
internal import SprocketCore
internal import SprocketFiles
internal import SprocketLibAV
internal import SprocketPixels

/// One movie file, from its first frame to its name.
final class MovieRecording: RecordingFile {
  private let given: MovieName
  let container: MovieContainer
  private var description: MovieDescription?
  let output: MovieOutput
  var muxer: Muxer?
  var clock: MovieClock
  private var completer = JPEGCompleter()
  var lastTick: Int64 = 0
  var lastGap: Int64 = 1
  var startsAnew = false
  /// In a pause, up to the next picture: when the movie's time stopped, nanoseconds.
  var pausedAt: Int64?
  private var hasFailed = false
  /// Frames in whole fragments that the kernel took, and where the last of these ends.
  private var takenFrames: UInt64 = 0
  private var takenEnd: Int64 = 0
  var imageBytes: UInt64 = 0
  /// What the file's sound is made of, and once the first picture is there, its tracks.
  let sound: MovieSound
  private(set) var tracks: [AudioTrack] = []
  /// Where pictures are encoded: of each track, what waits for them.
  var backlogs: [SoundBacklog] = []
  /// What encodes the pictures; `nil` where they are JPEG images.
  var encoding: MovieEncoding?
  var encoder: VideoEncoder?
  /// The tick at which it began.
  var firstTick: Int64 = 0
  /// Format of the pictures that it is sent, if that changed.
  var image: PixelFormat?
  /// A hole of pictures, from 10 s behind the picture before it, that not all tracks of sound have passed.
  var hole: Range<Int64>?
  /// Where the movie has a constant rate: its pictures, and the frame before, for JPEG.
  var constant: ConstantRate?
  private var lastImage: [UInt8] = []
  let hasReports: Bool
  /// What deletes older files when this one is complete; `nil` if nothing does.
  private let keptTotal: KeptTotal?
  private(set) var deletedFiles: [String] = []
  private(set) var deletionError: RunError?
  /// What the file says of itself.
  var tags: [String: String] = [:]
  /// What it has in place of its sink's own.
  var choice = MovieChoice.Value()
  var ownLimits: RecordingLimits? { choice.limits }
  /// Where pictures are encoded: lines of frames that wait for them, and how many bytes belong to which tick.
  var lines = SoundBacklog()
  var lineTicks: [(tick: Int64, count: Int)] = []
  var nextLineTick: Int64 = 0
  /// Where pictures and sound end (nanoseconds), if that is not a picture's usual length behind the last.
  var end: Int64?
  /// The last picture was written before the sound of its time.
  var isSoundLate = false
  /// When the last picture was captured, and written (nanoseconds).
  var lastTime: Int64 = 0
  var lastWritten: Int64 = 0

  init(
    _ given: MovieName, container: MovieContainer, overwrite: Bool,
    isMadeUp: Bool, sound: MovieSound, constantRate: FrameRate?, hasReports: Bool, sync: Duration?,
    keptTotal: KeptTotal? = nil
  ) throws(RunError) {
    self.keptTotal = keptTotal
    output = try MovieOutput(path: given.path, overwrite: overwrite, isMadeUp: isMadeUp, sync: sync)
    self.given = given
    self.sound = sound
    self.hasReports = hasReports
    self.container = container
    clock = MovieClock(rate: container.ticksPerSecond)
    constant = constantRate.map { ConstantRate($0, ticksPerSecond: container.ticksPerSecond) }
    given.keep()
  }

  /// Frames in whole fragments that the kernel has; 0 if the file was removed or the disk lost it.
  var durableCount: UInt64 { output.isGone || output.isLost ? 0 : takenFrames }
  private var name: String { given.path }
  var path: String { hasFailed ? output.partialPath ?? name : name }
  var byteCount: UInt64 { imageBytes }
  var freeByteCount: UInt64? { output.freeByteCount }
  var movedFrames: UInt64 { clock.movedFrames }
  /// Once it is finished: its pictures behind `end`, those that it does not show, and those that it does.
  private(set) var pastEnd: (leftOut: UInt64, shown: UInt64) = (0, 0)
  var isEmpty: Bool { muxer == nil && !hasFailed }

  /// How long a frame lasts at the nominal rate, in ticks.
  var nominalTicks: Int64? {
    description?.rate.map { rate in
      let ticks = Double(container.ticksPerSecond) * Double(rate.denominator)
      return max(1, Int64((ticks / Double(rate.numerator)).rounded()))
    }
  }

  /// The same in nanoseconds, which a file's ticks may only come near to.
  var nominalLength: Int64? {
    description?.rate.map { Int64((1e9 * Double($0.denominator) / Double($0.numerator)).rounded()) }
  }

  /// Sets the pictures' format; called before the first picture.
  func describe(_ description: MovieDescription, _ encoding: MovieEncoding?) {
    (self.description, self.encoding) = (description, encoding)
  }

  /// The next frame may be timed by a clock that began anew.
  func beginEpoch() { startsAnew = true }

  /// Adds the camera's own bytes, with Huffman tables.
  func write(
    complete image: Span<UInt8>, hasFieldImages: Bool, _ record: FrameRecord
  ) throws(RunError) {
    try completer.complete(image, hasFieldImages: hasFieldImages) { image throws(RunError) in
      try write(image, record)
    }
  }

  func write(_ image: Span<UInt8>, _ record: FrameRecord) throws(RunError) {
    let tick = try advance(record)
    if let place = try place(tick) {
      if !place.repeats.isEmpty {
        let last = lastImage
        for picture in place.repeats { try add(last.span, picture) }
      }
      if let picture = place.picture { try add(image, picture) }
      lastImage.removeAll(keepingCapacity: true)
      for index in image.indices { lastImage.append(image[index]) }
    } else {
      try add(image, tick: tick, isKey: record.isKey)
    }
    try noteWritten()
  }

  private func add(_ image: Span<UInt8>, _ picture: Int64) throws(RunError) {
    try add(image, tick: constant?.tick(of: picture) ?? picture)
  }

  private func add(_ image: Span<UInt8>, tick: Int64, isKey: Bool = true) throws(RunError) {
    do throws(MuxerError) {
      try muxer?.write(image, tick: tick, gap: nominalTicks ?? lastGap, isKey: isKey)
    } catch {
      throw fail(error)
    }
  }

  /// The frame's tick. Begins the file with the first, and writes the sound up to the picture before it; what
  /// has not been heard yet comes with a later one.
  func advance(_ record: FrameRecord) throws(RunError) -> Int64 {
    let time = record.captured.nanoseconds
    if pausedAt != nil {
      goOn(at: time)
    } else if startsAnew {
      startsAnew = false
      clock.resume(at: time, gap: nanoseconds(nominalTicks ?? lastGap))
    }
    let tick = clock.tick(at: time)
    if muxer != nil, constant == nil, nanoseconds(tick - lastTick) > Self.longestPause {
      try pauseEncoder()
      let begin = lastTime.clampedSum(Self.longestPause)
      hole = begin..<max(begin, time)
    }
    // The last picture does not last as long as a hole before it.
    if tick > lastTick { lastGap = min(tick - lastTick, Int64(container.ticksPerSecond)) }
    lastTick = tick
    if muxer == nil { try begin(record.captured) }
    try takeSound(upTo: time)
    if let end = hole?.upperBound, tracks.allSatisfy({ $0.hasReached(end) }) { hole = nil }
    lastTime = time
    return tick
  }

  func noteWritten() throws(RunError) {
    lastWritten = monotonicNow()
    imageBytes = muxer?.byteCount ?? imageBytes
    try noteDurable()
  }

  /// Makes the file a plain one and gives it its name. After a failure, which was already reported, it
  /// keeps its partial name. Without a frame there is no movie, and no file.
  func finish() throws(RunError) {
    guard !hasFailed else { return }
    guard muxer != nil else { return abandon() }
    try drainEncoder(gap: lastLength)
    do throws(MuxerError) {
      try muxer?.finish(nominalTicks: nominalTicks, end: end.flatMap(clock.tick(of:)))
    } catch {
      throw fail(error)
    }
    pastEnd = muxer?.pastEnd ?? pastEnd
    takenFrames = durableFrames ?? takenFrames
    do throws(RunError) {
      try output.complete()
    } catch {
      settleSound(as: isKept ? .delivered : .failed)
      throw error
    }
    settleSound(as: .delivered)
    for track in tracks { track.note(path: name) }
    note(keptTotal?.trim(after: name, bytes: byteCount))
  }

  /// Notes what was deleted for this file: before it, or when it was complete.
  func note(_ trimming: KeptTotal.Trimming?) {
    deletedFiles += trimming?.deleted ?? []
    deletionError = deletionError ?? trimming?.error
  }

  func abandon() {
    output.abandonEmpty()
    given.free()
  }

  private func begin(_ captured: Timestamp) throws(RunError) {
    guard let description else { preconditionFailure("a movie is written before `describe`") }
    let made = try sound.tracks(from: captured.nanoseconds, in: container)
    tracks = made.map(\.track)
    backlogs = made.map { _ in SoundBacklog() }
    encoder = try encoding.map { (encoding) throws(RunError) in try encoding.take(container) }
    let sources = tracks.map(\.reader.tap.description)
    do throws(MuxerError) {
      muxer = try Muxer(
        container, description, encoder: encoder,
        sound: zip(made, sources).map {
          SoundTrack(
            // A file's name is no title of its sound.
            format: PCMFormat($0.track.format), name: $1.clock == .media ? "" : $1.name,
            language: $1.tags["language"],
            encoder: $0.encoder)
        },
        hasText: hasReports, tags: captured.movieTags(tags), fragment: output.fragment,
        output: output)
      takenEnd = muxer?.durableEnd ?? 0
    } catch {
      throw fail(error)
    }
  }

  /// Frames in whole fragments; `nil` if there is no file by now.
  private var durableFrames: UInt64? {
    guard let pictures = muxer?.durableFrames else { return nil }
    return constant?.frames(in: pictures) ?? pictures
  }

  /// Whether the written part of the file is still there.
  private var isKept: Bool { !output.isGone && !output.isLost }

  /// Accounts for all sound that the file was given.
  private func settleSound(as fate: Fate) {
    for track in tracks {
      if fate == .failed, !isKept || takenFrames == 0 { track.revoke() }
      track.settle(as: fate)
    }
  }

  /// Accounts for the sound in whole fragments.
  private func settleTakenSound() {
    for index in tracks.indices {
      tracks[index].settle(upTo: muxer?.durableSamples(ofTrack: index) ?? 0)
    }
  }

  func nanoseconds(_ ticks: Int64) -> Int64 {
    Int64(exactly: (Double(ticks) * 1e9 / Double(container.ticksPerSecond)).rounded()) ?? .max
  }

  /// Once per fragment: is it still of use to write here?
  func noteDurable() throws(RunError) {
    guard let end = muxer?.durableEnd, end > takenEnd else { return }
    takenEnd = end
    takenFrames = durableFrames ?? takenFrames
    settleTakenSound()
    if !output.noteFragment(at: end) { throw fail(.output) }
    if output.isGone {
      hasFailed = true
      muxer = nil
      settleSound(as: .failed)
      throw output.failGone()
    }
  }

  func fail(_ error: MuxerError) -> RunError { fail(output.reason(error)) }

  func fail(_ reason: RunError) -> RunError {
    hasFailed = true
    takenFrames = durableFrames ?? 0
    settleTakenSound()
    let end = muxer?.durableEnd ?? 0
    muxer = nil
    let failure = output.fail(reason, end: end, isOfUse: takenFrames > 0)
    // Nothing of it is kept.
    if takenFrames == 0 { given.free() }
    settleSound(as: .failed)
    return failure
  }
}
