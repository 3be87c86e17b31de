internal import SprocketCodecs
public import SprocketCore
internal import SprocketLibAV

/// Shows files of pictures one after the other: a folder, `shots/*.jpg`, `Z-%03d.png`, or a single one.
///
/// A JPEG stays encoded, its structure checked, and is lent as it was read; all else is decoded by
/// libavcodec. Orientation is what a JPEG's EXIF, a TIFF or a PNG's `eXIf` says. Where size, layout, colour
/// or orientation change, an epoch begins.
///
/// ## Time and number
///
/// A frame's sequence number is its place in the list, from 0. With a pattern of numbers it is the file's
/// number less the first one's, so that a number that is not there is a frame that is missing. Frames of a
/// GIF or an animated PNG and pages of a TIFF count one by one, and what follows moves on. `captured` is
/// that number times the chosen time per frame, 1/25 s by default; at real pace frames appear when they are
/// due. With `from` the frames before that time are left out.
///
/// ## Damage
///
/// A file that cannot be read, or not be decoded, is a frame that is `corrupt`, without bytes where that was
/// not a JPEG, and told in a note.
public final class PictureSource: Source {
  /// The frame that `next` announced.
  private struct Held {
    var isCorrupt = false
    /// `nil` where the file is too damaged to say.
    var format: FrameFormat?
  }

  /// What was given, for messages.
  private let name: String
  private let settings: FileSettings
  private let rate: FrameRate
  private var entries: [PictureNames.Entry]
  private let zero = FileZero()
  private let files = WholeFileReader()
  /// Of the next file.
  private var index = 0
  private var held: Held?
  // The held frame's memory: one of the two, or neither.
  private var packet: EncodedPacket?
  private var picture: DecodedFrame?
  private var format: FrameFormat?
  /// Of the file that is read.
  private var orientation = Orientation.upright
  /// The file that is read is of a kind that is not decoded.
  private var isRefused = false
  /// The file that was opened last, while it may have more frames, and pages of it that were not shown.
  private var reader: MediaReader?
  private var pages: ArraySlice<PictureFile.Page> = []
  /// Frames beyond one of each file.
  private var extra: UInt64 = 0
  private var damage = EncodedDamage()
  /// Sentences about the first damaged files.
  private var faults: [String] = []
  private var faultCount = 0
  private let interruption = SourceInterrupt()

  /// Frames per second where none are chosen, as FFmpeg has it.
  private static let usualRate = FrameRate(frames: 25)
  /// Codecs of pictures' files that may have several frames.
  private static let films: Set<String> = ["gif", "apng", "av1"]
  /// Faults that are told one by one. Larger: longer summaries.
  private static let toldFaults = 5

  init(_ names: PictureNames, name: String, _ settings: FileSettings) {
    (entries, self.name, self.settings) = (names.entries, name, settings)
    rate = settings.rate ?? Self.usualRate
  }

  private var isReal: Bool { settings.pace == .real }

  /// Reads files until one can be decoded. Its format is the format of the first frame.
  public func open() throws(RunError) -> SourceDescription {
    try settings.check(of: "the source file")
    guard rate.frames > 0, rate.seconds > 0 else {
      throw RunError(.usage, "pictures need a rate above 0 frames per second", change: .rate)
    }
    entries.removeAll { time(of: $0.place) < settings.from.nanosecondCount }
    guard let first = entries.first?.place else {
      throw RunError(
        .usage, "\(name) has no picture at \(settings.from.settingText) or later; begin earlier")
    }
    for index in entries.indices { entries[index].place -= first }
    while held?.format == nil, index < entries.count { try read() }
    guard let found = held?.format else {
      throw RunError(.usage, faults.first ?? damage.refusal(of: name))
    }
    format = found
    if index > 1 {
      // Reads again from the start: the damaged files before it are delivered as corrupt frames.
      release()
      leaveFile()
      (index, extra) = (0, 0)
      damage = EncodedDamage()
      (faults, faultCount) = ([], 0)
    }
    return description(found)
  }

  private func description(_ format: FrameFormat) -> SourceDescription {
    SourceDescription(
      name: name, format: format, isLive: isReal, clock: isReal ? .monotonic : .media,
      capacity: 0, frameCount: entries.count)
  }

  /// Nanoseconds from the first frame.
  private func time(of place: UInt64) -> Int64 {
    Int64(
      clamping: Int128(place) * Int128(rate.seconds) * 1_000_000_000 / Int128(max(1, rate.frames)))
  }

  public func next(timeout: Int64) throws(RunError) -> Arrival {
    if held == nil, !interruption.isSet { try read() }
    guard !interruption.isSet, let held else { return .end }
    if let found = held.format, found != format {
      format = found
      return .epoch(description(found), .formatChange)
    }
    let place = entries[index - 1].place + extra
    guard let captured = captureTime(time(of: place), timeout: timeout) else { return .nothing }
    return .frame(
      ArrivedFrame(
        sequence: place, captured: captured, isCorrupt: held.isCorrupt,
        isStartup: place < UInt64(settings.startup)))
  }

  /// At real pace waits until the frame is due; `nil` when `timeout` nanoseconds are over before.
  private func captureTime(_ time: Int64, timeout: Int64) -> Timestamp? {
    guard isReal else { return Timestamp(nanoseconds: time, clock: .media) }
    let due = zero.monotonicTime(whenNowIs: time, isAnew: false).clampedSum(time)
    guard interruption.wait(until: due, timeout: timeout) else { return nil }
    return Timestamp(nanoseconds: due, clock: .monotonic)
  }

  // MARK: Reading

  /// Reads the next file, so that its frame is held; at the end, none is.
  private func read() throws(RunError) {
    release()
    var frame = Held(isCorrupt: true)
    do throws(MediaError) {
      if index > 0, let more = try readMore(entries[index - 1].path) {
        held = more
        extra += 1
        return
      }
      guard index < entries.count else { return }
      let path = entries[index].path
      index += 1
      frame.format = try readWhole(path)
      if frame.format == nil, packet == nil, !isRefused { frame.format = try decode(path) }
      frame.isCorrupt = frame.format == nil
    } catch {
      leaveFile()
      switch error.code {
      case .interrupted: return
      case .outOfMemory, .library: throw RunError(.failed, error.description)
      default: note(error.description)
      }
    }
    held = frame
  }

  /// Keeps a JPEG as it is in `packet`, and returns its format; `nil` for a damaged one. For a file that has
  /// to be decoded here it returns `nil` and sets no `packet`.
  private func readWhole(_ path: String) throws(MediaError) -> FrameFormat? {
    let interruption = interruption
    orientation = .upright
    isRefused = false
    guard let file = try files.read(path: path, isInterrupted: { interruption.isSet }) else {
      return nil
    }
    let bytes = unsafe Span(_unsafeElements: file.bytes)
    let start = PictureFile.jpegStart(in: bytes, isNamedJPEG: PictureNames.namesJPEG(path))
    orientation = PictureFile.orientation(of: bytes.extracting((start ?? 0)..<bytes.count))
    pages = PictureFile.pages(bytes)[...]
    if let first = pages.popFirst() { isRefused = refuses(first, of: path) }
    guard start != nil else { return nil }
    let before = damage.impossibleSizes + damage.unsupported
    guard let header = damage.check(bytes), !file.isCorrupt else {
      note(
        damage.impossibleSizes + damage.unsupported > before
          ? damage.refusal(of: path) : "\(path) is damaged: its JPEG is not whole; copy it anew.")
      packet = consume file
      return nil
    }
    guard let image = header.image, EncodedFrame.isUnpackable(bytes) else { return nil }
    packet = consume file
    return header.described(
      FrameFormat(
        pixelFormat: .mjpeg, image: image, width: header.width, height: header.height,
        color: .jpeg, rate: rate, presentation: Presentation(orientation: orientation)))
  }

  /// Whether a page is of a kind that is not decoded, which is then told.
  private func refuses(_ page: PictureFile.Page, of path: String) -> Bool {
    guard let kind = page.unread else { return false }
    note("\(path) is \(kind), which is not read; save it in strips, or as PNG.")
    return true
  }

  private func decode(_ path: String) throws(MediaError) -> FrameFormat? {
    let interruption = interruption
    reader = try MediaReader(path: path, threadCount: 1) { interruption.isSet }
    let isMJPEG = reader?.info.isMJPEG ?? false
    let found = try reader!.nextFrame(
      unless: { isMJPEG && !damage.isDecodable($0) }, keepsPacket: !pages.isEmpty)
    guard case .frame(let frame) = consume found else {
      leaveFile()
      note("\(path) has no picture that can be decoded; save it anew.")
      return nil
    }
    return hold(frame)
  }

  /// The next frame or page of a file that was begun; `nil` where it has no more.
  private func readMore(_ path: String) throws(MediaError) -> Held? {
    guard reader != nil else { return nil }
    if let page = pages.popFirst() {
      guard !refuses(page, of: path) else { return Held(isCorrupt: true) }
      let found = try reader!.decodeAgain { PictureFile.show(page, in: &$0) }
      guard case .frame(let frame) = consume found else {
        note("a page of \(path) cannot be decoded; save it anew.")
        return Held(isCorrupt: true)
      }
      return Held(format: hold(frame))
    }
    guard Self.films.contains(reader?.info.codecName ?? "") else {
      leaveFile()
      return nil
    }
    switch try reader!.nextFrame() {
    case .frame(let frame): return Held(format: hold(frame))
    case .corrupt: return Held(isCorrupt: true)
    case .end:
      leaveFile()
      return nil
    }
  }

  private func leaveFile() {
    reader = nil
    pages = []
  }

  /// Keeps a frame as the one that is held; returns its format.
  private func hold(_ frame: consuming DecodedFrame) -> FrameFormat {
    var presentation = Presentation(orientation: orientation)
    presentation.pixelAspect = PixelAspect(reader?.info.display.pixelAspect)
    let format = FrameFormat(
      pixelFormat: frame.format, width: frame.width, height: frame.height,
      color: Color(frame.color, frame.format), rate: rate, presentation: presentation)
    picture = consume frame
    return format
  }

  private func note(_ fault: String) {
    faultCount += 1
    if faults.count < Self.toldFaults { faults.append(fault) }
  }

  // MARK: Lending

  public func take(into slot: inout CaptureSlot) {
    slot.lend(&packet, &picture)
    held = nil
  }

  public func discard() { release() }

  private func release() {
    packet = nil
    picture = nil
    held = nil
  }

  public func reclaim(_ lent: UnsafeMutableRawPointer) {
    unsafe releaseLent(lent)
  }

  public var notes: [String] {
    faults + (faultCount > faults.count ? ["\(faultCount) files of \(name) are damaged"] : [])
  }

  public func interrupt() { interruption.set() }

  public var counts: [(name: String, value: UInt64)] { damage.counts }

  public func close() { release() }
}
