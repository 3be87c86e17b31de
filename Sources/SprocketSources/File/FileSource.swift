internal import SprocketCodecs
public import SprocketCore
internal import SprocketLibAV
internal import SprocketTimes

/// Plays a video file; of several films in one, that which is marked as default, or else the largest. A
/// folder of pictures, a pattern such as `shots/*.jpg` or `Z-%03d.png`, and a picture's file are a film,
/// too: see ``PictureSource``.
///
/// Motion-JPEG stays encoded, every frame's structure checked; all else is decoded by libavcodec. Both
/// are lent without a copy. Where size, layout or colour change, an epoch begins.
///
/// ## Time and number
///
/// A frame's sequence number is its place in the file, from 0. At fast pace `captured` is the file's
/// own time (ffprobe's `best_effort_timestamp_time`, which need not begin at 0) on the media clock;
/// frames without one are spaced by the frame rate, and so are those of streams without times, such as Motion
/// JPEG without a container. What the file's clock does besides going on is told in a note (`TimeGate`).
/// At real pace the source is live and frames appear when they are due: `captured` is then that moment on the
/// monotonic clock, so that a frame's age means something; the times between frames are still the file's.
///
/// With `from` the frames before that time are left out, and sequence numbers count from the first
/// frame that is kept. If the file can seek, reading begins at the key frame before that time,
/// otherwise at the start of the file.
///
/// At real pace a file whose times jump forth by more than an hour goes on at once: no recording pauses
/// so long, and a damaged time may lie centuries ahead.
///
/// ## Damage
///
/// `corrupt` is a packet whose JPEG is broken in structure, what libavformat or libavcodec mark as
/// damaged, and a packet that cannot be decoded; the last has no bytes. A packet of Motion-JPEG
/// without bytes, as recorders write for frames that they dropped, is a gap in the sequence: `missing`.
public final class FileSource: Source {
  /// The frame that `next` announced, but for its memory.
  struct Held {
    /// On the file's clock, in nanoseconds.
    var time: Int64
    var isCorrupt = false
    /// `nil` where the frame is too damaged to say.
    var format: FrameFormat?
  }

  /// What shows pictures in files of their own; `nil` for a film.
  private(set) var pictures: PictureSource?
  /// The film's path; `-` until it is told, if `asked` names it later.
  var path: String
  let settings: FileSettings
  /// At real pace: when the file's time 0 was.
  let zero = FileZero()
  /// A `FileAudioSource` plays the file's sound.
  var isSoundTaken = false
  var reader: MediaReader?
  /// Packets are lent as they are, not decoded.
  var staysEncoded = false
  var isMJPEG = false
  var format: FrameFormat?
  var rate = FrameRate.unknown
  var presentation = Presentation()
  var held: Held?
  // The held frame's memory: one of the two, or neither.
  var packet: EncodedPacket?
  var picture: DecodedFrame?
  /// Place of the held frame, or of the one to be read next.
  var place: UInt64 = 0
  var lastTime: Int64?
  /// At real pace: the time of the last frame that was due.
  private var lastDue: Int64?
  private var failure: RunError?
  var hasSound = false
  var hasOddAngle = false
  var hasTransparency = false
  var missingByteCount: Int64 = 0
  var streamNote: String?
  var tags: [String: String] = [:]
  /// The date of time 0, nanoseconds since 1970, where the film tells it.
  var date: Int64?
  var hdr: HDRMetadata?
  var leadIn = Duration.zero
  var timeNotes: [String] = []
  /// Notes of the reader about its clock, kept when it is closed.
  var clockNotes: [String] = []
  /// Frames have no times but those at which they come.
  private var timesArrivals = false
  var damage = EncodedDamage()
  private let interruption = SourceInterrupt()
  /// Requests for pictures by number; `nil` where the file is played.
  var asked: AskedNumbers?
  /// The first picture, which `open` has read, until it is asked for or left out.
  var opened: Held?
  var index: PictureIndex?
  /// Pictures that were read one after the other from the start; -1 where that is over.
  var readCount = 0
  /// Number of the picture that was asked for last.
  var lastNumber: Int?

  /// Opens nothing yet.
  ///
  /// The path `-` is standard input, which may be a pipe: for streams that are read from start to end.
  public init(path: String, _ settings: FileSettings = FileSettings()) {
    self.path = path
    self.settings = settings
  }

  /// Begins with the first frame from a time of the file's clock on (nanoseconds), not counted from its
  /// first.
  var beginning: Int64?

  var isReal: Bool { settings.pace == .real }
  var isPipe: Bool { reader?.isStream ?? false }

  /// Reads as far as the first frame, whose format is the file's.
  public func open() throws(RunError) -> SourceDescription {
    if path != "-", let names = try PictureNames(path) {
      guard settings.asked < 0 else { throw Self.noFilm(path) }
      let found = PictureSource(names, name: path, settings, interruption)
      let description = try found.open()
      pictures = found
      return description
    }
    try settings.check(of: "the source file")
    try checkAsked()
    let info: MediaInfo
    do throws(MediaError) {
      info = try openReader(readsAhead: asked == nil)
      isMJPEG = info.isMJPEG
      staysEncoded = isMJPEG
      rate = info.hasTimes ? FrameRate(info.frameRate) : settings.rate ?? FrameRate(info.frameRate)
      presentation = Presentation(info.display)
      hasOddAngle = info.display.orientation == nil
      if let turn = PictureNames.orientationOfFilm(path) { presentation.orientation = turn }
      if let asked { try readFirst(asked) } else { try read() }
      if staysEncoded, let held, !held.isCorrupt, !isUnpackable {
        // A JPEG in order, of a kind that libavcodec alone unpacks: RGB, CMYK, rare subsamplings.
        staysEncoded = false
        packet = nil
        damage = EncodedDamage()
        if isPipe, let error = reader?.needsSeeking { throw error }
        _ = try openReader()
        place = 0
        try read()
      }
      let first = held?.time
      if let time = beginning ?? held?.time.clampedSum(settings.from.nanosecondCount),
        beginning != nil || settings.from > .zero
      {
        try begin(at: time)
      }
      tags = info.tags
      noteDate(ofTime: first ?? 0)
      hdr = HDRMetadata(info.hdr, picture?.hdr)
      moveDate(by: (held?.time ?? 0) - (first ?? held?.time ?? 0))
    } catch {
      throw RunError(opening: error)
    }
    if settings.rate != nil, info.hasTimes {
      throw RunError(
        .usage, "\(path) is a movie, which has times of its own: leave out rate", change: .rate)
    }
    if held == nil, settings.from > .zero {
      throw RunError(
        .usage, "\(path) has no frame at \(settings.from.settingText) or later; begin earlier")
    }
    if held == nil, asked?.isGone == true { throw nobodyAsks }
    guard held != nil, let format = held?.format ?? described(reader?.info ?? info) else {
      throw RunError(.usage, damage.refusal(of: path))
    }
    self.format = format
    if asked?.isNew == true { opened = held.take() }
    return description(format, count: settings.from > .zero ? nil : info.frameCount)
  }

  /// Whether the packet that is held has planes for `FrameUnpacker`.
  private var isUnpackable: Bool {
    guard let bytes = unsafe packet?.bytes else { return true }
    return EncodedFrame.isUnpackable(unsafe Span(_unsafeElements: bytes))
  }

  func openReader(readsAhead: Bool = true) throws(MediaError) -> MediaInfo {
    let opened = try MediaReader(
      path: path, stream: settings.stream < 0 ? nil : settings.stream,
      rate: settings.rate.map { MediaRational(Int($0.frames), Int($0.seconds)) },
      readsAhead: readsAhead
    ) { [interruption] in interruption.isSet }
    let info = opened.info
    hasSound = info.hasSound
    missingByteCount = info.missingByteCount
    note(info)
    timesArrivals = isReal && opened.isStream && !info.hasTimes && settings.rate == nil
    reader = consume opened
    if asked != nil { reader?.recordPackets() }
    return info
  }

  /// The format as the file's header has it, for a file whose first frame is damaged.
  private func described(_ info: MediaInfo) -> FrameFormat? {
    guard info.width > 0, info.height > 0, let decoded = info.pixelFormat else { return nil }
    if staysEncoded {
      return encodedFormat(width: info.width, height: info.height, image: decoded)
    }
    return FrameFormat(
      pixelFormat: decoded, width: info.width, height: info.height,
      color: Color(info.color, decoded), rate: rate, presentation: presentation)
  }

  func encodedFormat(width: Int, height: Int, image: PixelFormat) -> FrameFormat {
    FrameFormat(
      pixelFormat: .mjpeg, image: image, width: width, height: height, color: .jpeg, rate: rate,
      presentation: presentation)
  }

  public func next(timeout: Int64) throws(RunError) -> Arrival {
    if let pictures { return try pictures.next(timeout: timeout) }
    if let failure { throw failure }
    if held == nil, !interruption.isSet {
      do throws(MediaError) {
        if let asked { try readAsked(asked, timeout: timeout) } else { try read() }
      } catch {
        if error.code == .interrupted { return .end }
        let failed = RunError(.failed, error.description)
        failure = failed
        throw failed
      }
    }
    guard !interruption.isSet, let held else {
      return asked.map { $0.isGone || interruption.isSet ? .end : .nothing } ?? .end
    }
    if let found = held.format, found != format {
      format = found
      return .epoch(description(found), .formatChange)
    }
    guard let captured = captureTime(held, timeout: timeout) else { return .nothing }
    return .frame(
      ArrivedFrame(
        sequence: place, captured: captured, isCorrupt: held.isCorrupt,
        isStartup: place < UInt64(settings.startup)))
  }

  /// Longest pause between two frames, in nanoseconds, an hour: a longer one is taken for a damaged time.
  /// Larger: a run waits longer at a damaged time.
  private static let longestPause: Int64 = 3_600_000_000_000

  /// At real pace waits until the frame is due; `nil` when `timeout` nanoseconds are over before.
  private func captureTime(_ frame: Held, timeout: Int64) -> Timestamp? {
    guard isReal else { return Timestamp(nanoseconds: frame.time, clock: .media) }
    if timesArrivals { return Timestamp(nanoseconds: monotonicNow(), clock: .monotonic) }
    let isTooLong = frame.time - Self.longestPause > lastDue ?? frame.time
    let due = zero.monotonicTime(whenNowIs: frame.time, isAnew: isTooLong) &+ frame.time
    guard interruption.wait(until: due, timeout: timeout) else { return nil }
    lastDue = frame.time
    return Timestamp(nanoseconds: due, clock: .monotonic)
  }

  public func take(into slot: inout CaptureSlot) {
    if let pictures { return pictures.take(into: &slot) }
    slot.lend(&packet, &picture)
    advance()
  }

  public func discard() {
    if let pictures { return pictures.discard() }
    packet = nil
    picture = nil
    advance()
  }

  private func advance() {
    held = nil
    place += 1
  }

  /// From the source's thread, but libavcodec does not mind which.
  public func reclaim(_ lent: UnsafeMutableRawPointer) {
    unsafe releaseLent(lent)
  }

  public func interrupt() { interruption.set() }
  var isInterrupted: Bool { interruption.isSet }

  public var counts: [(name: String, value: UInt64)] { pictures?.counts ?? damage.counts }

  public func close() {
    if let pictures { return pictures.close() }
    discard()
    clockNotes = reader?.timeNotes ?? clockNotes
    reader = nil
  }
}
