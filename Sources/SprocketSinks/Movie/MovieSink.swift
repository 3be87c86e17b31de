internal import SprocketCodecs
public import SprocketCore
internal import SprocketFiles
internal import SprocketLibAV

/// `--movie`: MOV, MP4, MKV or WebM, by the ending of the file's name.
///
/// With a codec (`MovieCodec`) pictures are encoded by libavcodec, on the sink's thread and the encoder's
/// own; live so that no frame refers to a later one.
///
/// Without, frames of Motion-JPEG that no stage changes are recorded as the camera's own bytes; those without
/// Huffman tables get them. All others are encoded as JPEG, in parallel, with the planes and the
/// subsampling that they have; what has limited range becomes full range, as JPEG is (`JPEGPacker`). Grey
/// of more than 8 bits is reduced to 8.
///
/// With `hasReports` the file has one more track, of the lines that `--reports` writes: `docs/movies.md`.
///
/// Packets of a camera's own H.264 or HEVC that no stage changes are stored as they are. A file begins with a
/// key frame, and behind a frame that it lacks it goes on with the next one.
///
/// Times are the frames' own `captured`, the first at 0, in ticks of 1/90000 s (MKV: 1/1000). A frame
/// that is not later than the one before it comes one tick after it, and is counted in a note. When the
/// first was captured is written into the file: `captured_ns` and `captured_clock`, and for a clock that
/// can be told `creation_time`.
///
/// While it is recorded the file is fragments of a second at most, under a partial name; when it ends
/// it becomes a plain one: see `Muxer` and `PartialFile`. Frames count as safe when their fragment is
/// with the kernel. If the format changes, the movie goes on in `NAME-2.mov`.
///
/// On demand (`Recorder`) each recording has a file of its own. `{n}` in the path is replaced by the file's
/// number; without it the files are `movie.mov`, `movie-2.mov` and so on. Numbers of files that exist are
/// skipped.
public final class MovieSink: Recorder {
  public let name: String
  let pattern: OutputName
  /// As it is shown.
  var path: String { pattern.path }
  /// Recordings are asked for with paths of their own: this one has nothing but the ending.
  private let hasOwnPaths: Bool
  /// What has the orientation, in place of the format.
  let turn: OrientationSetting?
  let quality: Int
  /// What a movie on standard output is.
  let streamContainer: MovieContainer
  let codec: MovieCodec
  let shape: MovieShape
  /// Makes pictures the movie's; `nil` where they stay as they are.
  private(set) var resize: PictureResize?
  /// Format of the frames that are given.
  private(set) var given: FrameFormat?
  let constantRate: FrameRate?
  let overwrite: Bool
  public let isOnDemand: Bool
  public let limits: RecordingLimits
  /// What deletes the oldest files; `nil` if nothing does.
  let keptTotal: KeptTotal?
  /// A total was to be kept, and the name has no number.
  let lacksNumber: Bool
  public let preRoll: PreRoll?
  let sound: MovieSound
  let sync: Duration?
  /// Lines of frames; `nil` where the movie has none.
  var reports: MovieReports?
  /// Memory of a frame with its line.
  var keptText: TextBuffer?
  var format: FrameFormat?
  /// What the source's file says of itself.
  private var sourceTags: [String: String] = [:]
  private(set) var sourceHDR: HDRMetadata?
  /// What JPEGs are made with; `nil` where they are the camera's own bytes, or none.
  var needs: JPEGPacker.Requirements?
  /// What encodes pictures that are no JPEGs.
  private(set) var encoding: MovieEncoding?
  var recording: MovieRecording?
  /// The camera's packets are stored.
  var passesPackets = false
  /// Frames that were left out up to a key frame.
  var framesBeforeKey: UInt64 = 0
  /// Pictures of the file under way, and whether they are encoded here.
  private var fileFormat: (format: FrameFormat, isEncoded: Bool)?
  public internal(set) var fitsFile = true
  /// Frames in files that are closed, and how many of these there are.
  private var keptFrames: UInt64 = 0
  private(set) var fileCount = 0
  var movedFrames: UInt64 = 0
  var repeatedPictures: UInt64 = 0
  var leftOutFrames: UInt64 = 0
  /// Frames that were lost because this sink was too slow.
  var framesBehind: UInt64 = 0
  /// Where the movie ends, and what is behind that.
  package let ending = MovieEnding()
  private let metadata: MovieMetadata
  /// What the next recording has of its own; `nil` where none can. Set before the run.
  package var choice: MovieChoice?
  /// The error of the first file that could not be completed when the next one began.
  var failure: RunError?
  let names = MovieNames()
  public var notes: [String] { ownNotes + (keptTotal?.notes ?? []) }
  private var ownNotes: [String] = []

  /// The file is made when the run is set up; on demand, when a recording is asked for. `quality` is 1 to
  /// 100, for frames that are encoded. `limits` and `preRoll` are for recordings on demand. Each tap of
  /// `sound` becomes a track; `lateSound` has those that come later. With `constantRate` the movie has that
  /// rate: pictures are repeated or left out (`ConstantRate`), and a note tells how many. Cost: one copy of
  /// each picture. `metadata`: what each file says of itself. With `sync` nothing that
  /// was recorded is off the disk for longer. With `turn` each file has the orientation that it has when the
  /// file begins. `hasOwnPaths`: each recording is asked for with a path, so that none is made of `path`.
  public init(
    _ name: String = "movie", path: String, container: MovieSettings.Container? = nil,
    hasOwnPaths: Bool = false,
    turn: OrientationSetting? = nil, quality: Int = 90, codec: MovieCodec = MovieCodec(),
    shape: MovieShape = MovieShape(), constantRate: FrameRate? = nil, overwrite: Bool = false,
    isOnDemand: Bool = false,
    limits: RecordingLimits = RecordingLimits(), preRoll: PreRoll? = nil,
    sound: [any AudioTap] = [], lateSound: LateSound? = nil,
    soundSettings: RecordedSound = RecordedSound(),
    hasReports: Bool = false, sync: Duration? = nil,
    keepTotal: ByteCount? = nil, metadata: MovieMetadata = MovieMetadata()
  ) {
    (self.name, self.metadata) = (name, metadata)
    (self.hasOwnPaths, self.turn, self.sync) = (hasOwnPaths, turn, sync)
    reports = hasReports ? MovieReports() : nil
    self.sound = MovieSound(sound, soundSettings, lateSound)
    contract(1...100 ~= quality, "asks for a JPEG quality of \(quality); it is 1 to 100")
    pattern = OutputName(path)
    streamContainer = container.flatMap { MovieContainer(rawValue: $0.rawValue) } ?? .mp4
    self.quality = quality
    (self.codec, self.shape) = (codec, shape)
    self.constantRate = constantRate
    self.overwrite = overwrite
    self.isOnDemand = isOnDemand
    self.limits = limits
    keptTotal = keepTotal.flatMap {
      KeptTotal($0, of: OutputName(path), fileBytes: limits.fileBytes)
    }
    lacksNumber = keepTotal != nil && keptTotal == nil
    self.preRoll = preRoll
  }

  public func configure(_ setup: inout SinkSetup) throws(RunError) {
    let container = try ownContainer
    // Loaded before the first frame, since it takes 50 ms, and before memory is planned.
    try RunError.checkLibAV(for: path)
    given = setup.format
    resize = shape.resize(setup.format)
    let pictures = resize?.format ?? setup.format
    let (new, newEncoding) = try declare(&setup, container)
    noteShape(setup)
    // An encoder takes longer for a picture than threads to wake up.
    setup.backlog =
      newEncoding != nil && !setup.isLive ? 1 : setup.diskBacklog(of: pictures)
    for loss in try sound.check(container, path) { note("\(name): \(loss)") }
    if setup.format.presentation.orientation != .upright, !container.keepsOrientation {
      note(
        "\(name): .\(container.rawValue) files do not say that pictures are turned, so they are shown as "
          + "they lie; record a .mov or .mp4")
    }
    reports?.describe(setup)
    let isFirst = format == nil
    (format, needs, encoding) = (pictures, new, newEncoding)
    (sourceTags, sourceHDR) = (setup.source.tags, setup.source.hdr)
    if let recording {
      // An encoder is told the format once.
      fitsFile =
        fileFormat.map {
          $0.isEncoded == (new != nil)
            && $0.format.hasPictures(like: pictures, isEncoded: newEncoding != nil)
        } ?? true
      if fitsFile, let image = pictures.image { try recording.take(pictures: image) }
      // The next file begins with its first frame: the run may go back to the format from before.
      recording.beginEpoch()
    } else if !isOnDemand {
      try begin(container)
    } else if isFirst, !hasOwnPaths {
      // A name that cannot be used is an error before the run.
      try checkName(container)
    }
  }

  public func write(_ frame: borrowing PackedFrame) throws(RunError) {
    guard !ending.leavesOut(frame.view.record) else { return }
    do throws(RunError) {
      try reports?.add(frame)
      if !isOnDemand, !fitsFile { try goOn() }
      if encoding != nil, needs == nil {
        if let image = resize?.format {
          try recording?.write(planes: frame.packed, of: image, frame.record)
        } else {
          try recording?.write(picture: frame.view.image, frame.record)
        }
      } else if needs == nil {
        try write(image: passesPackets ? frame.view.packet : frame.view.encoded, frame.record)
      } else {
        try write(image: frame.packed, frame.record)
      }
      try writeReports()
    } catch {
      // Nothing more is written; the sound does not wait for this sink any longer.
      if !isOnDemand { sound.close() }
      throw error
    }
  }

  /// Of the whole run. On demand the engine asks each file instead.
  public var durableCount: UInt64 {
    isOnDemand ? .max : keptFrames + (recording?.durableCount ?? 0)
  }

  /// Hands the lines of frames to the file.
  func writeReports() throws(RunError) {
    guard reports?.isEmpty == false, let recording else { return }
    try reports?.take { (lines) throws(RunError) in try recording.write(lines: lines) }
  }

  public func idle() throws(RunError) { try recording?.idle(ending) }
  public var idlesOffline: Bool { recording?.hasWaitingSound ?? false }

  public func account(_ lost: LostFrame) throws(RunError) {
    count(lost)
    if isReported(lost) { try reports?.add(lost) }
  }

  public func account(_ lost: LostFrame, frame: borrowing FrameView) throws(RunError) {
    count(lost)
    if isReported(lost) { try reports?.add(lost, frame) }
  }

  /// On demand, what is lost between recordings belongs to none.
  private func isReported(_ lost: LostFrame) -> Bool {
    lost.fate != .unselected && (!isOnDemand || recording != nil)
  }

  public func finish() throws(RunError) {
    defer { sound.close() }
    noteSlowness()
    try close()
    if let failure { throw failure }
    if !isOnDemand { noteLaterFiles() }
    notePackets()
    if movedFrames > 0 {
      note(
        "\(name): \(movedFrames) frames were not later than the one before; each is a tick after it"
      )
    }
    if let constantRate {
      note(
        "\(name): at \(constantRate.settingText) frames/s \(repeatedPictures) frames are doubled and "
          + "\(leftOutFrames) left out")
    }
  }

  /// Tells a file that is empty of the present format.
  func describe(_ file: MovieRecording) {
    guard let format else { return }
    file.describe(description(format, isEncoded: encoding != nil), encoding)
    file.tags = (file.choice.metadata ?? metadata).tags(over: sourceTags, in: file.container)
    fileFormat = (format, needs != nil)
    fitsFile = true
  }

  func begin(_ container: MovieContainer) throws(RunError) {
    fileCount += 1
    let name = try takeName(pattern, fileCount)
    fileCount = name.number
    if fileCount > 1 { note("\(self.name): goes on in \(name.path), where the format changed") }
    let file = try make(name, container, isMadeUp: fileCount > 1, sound: sound)
    describe(file)
    recording = file
  }

  /// What is in the file at its end counts; what is not is lost, and said.
  func close() throws(RunError) {
    guard let recording else { return }
    if recording.isEmpty {
      note("\(name): no frame came, so there is no \(isStream ? "movie" : recording.path)")
    }
    defer {
      keptFrames += recording.durableCount
      count(recording)
      self.recording = nil
    }
    guard !ending.isGivenUp else { return recording.abandon() }
    try writeReports()
    try recording.endSound(
      before: nil, at: ending.time ?? (ending.keepsToPictures ? recording.usualEnd : nil))
    try recording.finish()
    noteEnd(of: recording)
  }

  /// Adds what a file tells of its times.
  func count(_ recording: MovieRecording) {
    if let kept = recording.output.keptPath { note(PartialFile.note(kept: kept, name)) }
    movedFrames += recording.movedFrames
    repeatedPictures += recording.constant?.repeated ?? 0
    leftOutFrames += recording.constant?.leftOut ?? 0
  }

  /// Once, however many epochs there are.
  func note(_ text: String) { if !ownNotes.contains(text) { ownNotes.append(text) } }
}
