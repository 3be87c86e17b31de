internal import SprocketCodecs
public import SprocketCore
internal import SprocketLibAV

/// Shows files of pictures one after the other: a folder, `shots/*.jpg`, `Z-%03d.png`, or a single one.
///
/// A JPEG stays encoded, its structure checked, and is lent as it was read; all else is decoded by
/// libavcodec. Orientation is what a JPEG's or a WebP's EXIF, a TIFF, a PNG's `eXIf` or an AVIF says. Where
/// size, layout, colour or orientation change, an epoch begins.
///
/// ## Time and number
///
/// A frame's sequence number is its place in the list, from 0. With a pattern of numbers it is the file's
/// number less the first one's, so that a number that is not there is a frame that is missing. Frames of a
/// GIF or an animated PNG and pages of a TIFF count one by one, and what follows moves on. `captured` is
/// that number times the chosen time per frame, 1/25 s by default; at real pace frames appear when they are
/// due. With `from` the files before that time are left out, as if each had one frame.
///
/// ## Damage
///
/// A file that cannot be read, or not be decoded, is a frame that is `corrupt`, without bytes where that was
/// not a JPEG, and told in a note.
public final class PictureSource: Source {
  /// The frame that `next` announced.
  struct Held {
    var isCorrupt = false
    /// `nil` where the file is too damaged to say.
    var format: FrameFormat?
  }

  /// What was given, for messages.
  private let name: String
  private let leftOut: Int
  private let settings: FileSettings
  let rate: FrameRate
  private var entries: [PictureNames.Entry]
  private let zero = FileZero()
  private let files = WholeFileReader()
  /// Of the next file.
  private var index = 0
  private var held: Held?
  private var leadIn = Duration.zero
  // The held frame's memory: one of the two, or neither.
  private var packet: EncodedPacket?
  var picture: DecodedFrame?
  private var format: FrameFormat?
  /// Of the file that is read.
  var orientation = Orientation.upright
  private var isJPEG = false
  /// YUV of the file is of full range, though nothing but the file's kind says so.
  var isFullRange = false
  /// A picture that is not opaque was shown.
  var hasTransparency = false
  /// The file that was opened last, while it may have more frames, and pages of it that were not shown.
  var reader: MediaReader?
  var pages: ArraySlice<PictureFile.Page> = []
  /// Frames beyond one of each file.
  private var extra: UInt64 = 0
  private var damage = EncodedDamage()
  /// Sentences about the first damaged files.
  private var faults: [String] = []
  private var faultCount = 0
  private let interruption: SourceInterrupt

  /// Frames per second where none are chosen, as FFmpeg has it.
  private static let usualRate = FrameRate(frames: 25)
  /// Codecs of pictures' files that may have several frames.
  static let films: Set<String> = ["gif", "apng", "av1"]
  /// Faults that are told one by one. Larger: longer summaries.
  private static let toldFaults = 5

  /// `interruption` may be that of a source which this one stands for.
  init(
    _ names: PictureNames, name: String, _ settings: FileSettings,
    _ interruption: SourceInterrupt = SourceInterrupt()
  ) {
    self.interruption = interruption
    (entries, leftOut, self.name, self.settings) = (names.entries, names.leftOut, name, settings)
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
    leadIn = .nanoseconds(max(0, time(of: first) - settings.from.nanosecondCount))
    for index in entries.indices { entries[index].place -= first }
    while held?.format == nil, index < entries.count || reader != nil { try read() }
    guard let found = held?.format else {
      throw RunError(.usage, faults.first ?? damage.refusal(of: name))
    }
    format = found
    if index > 1 || extra > 0 {
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
    var description = SourceDescription(
      name: name, format: format, isLive: isReal, clock: isReal ? .monotonic : .media,
      capacity: 0, frameCount: entries.count)
    description.leadIn = leadIn
    // Names of files are no cameras.
    description.ownOrigin = .unknown
    return description
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

  /// Reads the next frame, so that it is held; at the end, none is.
  private func read() throws(RunError) {
    release()
    var isMore = false
    do throws(MediaError) {
      if reader != nil {
        isMore = true
        if let more = try readMore() {
          extra += 1
          held = more
          return
        }
        isMore = false
      }
      guard index < entries.count else { return }
      leaveFile()
      index += 1
      held = try readFirst()
    } catch {
      leaveFile()
      switch error.code {
      case .interrupted: return
      case .outOfMemory, .library: throw RunError(.failed, error.description)
      default: note(error.description)
      }
      if isMore { extra += 1 }
      held = Held(isCorrupt: true)
    }
  }

  /// The file that is read.
  var path: String { entries[index - 1].path }

  /// The only frame of a file, or the first of several.
  private func readFirst() throws(MediaError) -> Held {
    if let format = try readWhole() { return Held(format: format) }
    if packet != nil { return Held(isCorrupt: true) }
    if pages.count == 1, let only = pages.first {
      if refuses(only) { return Held(isCorrupt: true) }
      if only.isFirst { pages = [] }
    }
    let interruption = interruption
    reader = try MediaReader(path: path, threadCount: 1) { interruption.isSet }
    // A JPEG has been checked.
    let isUnchecked = !isJPEG && reader?.info.isMJPEG ?? false
    let found = try reader!.nextFrame(
      unless: { isUnchecked && !damage.isDecodable($0) }, keepsPacket: !pages.isEmpty)
    if let first = pages.popFirst(), !first.isFirst || first.unread != nil {
      return try show(first)
    }
    guard case .frame(let frame) = consume found else {
      note("\(path) has no picture that can be decoded; save it anew.")
      if pages.isEmpty { leaveFile() }
      return Held(isCorrupt: true)
    }
    return hold(frame)
  }

  /// Keeps a JPEG as it is in `packet`, and returns its format; `nil` for a damaged one. For a file that has
  /// to be decoded here it returns `nil` and sets no `packet`.
  private func readWhole() throws(MediaError) -> FrameFormat? {
    let interruption = interruption
    (orientation, isJPEG, isFullRange) = (.upright, false, false)
    guard let file = try files.read(path: path, isInterrupted: { interruption.isSet }) else {
      if PictureNames.namesTIFF(path) {
        note("\(path) is larger than 256 MB: of its pages the first alone is taken.")
      }
      return nil
    }
    let bytes = unsafe Span(_unsafeElements: file.bytes)
    let start = PictureFile.jpegStart(in: bytes, isNamedJPEG: PictureNames.namesJPEG(path))
    isJPEG = start != nil
    orientation = PictureFile.orientation(of: bytes.extracting((start ?? 0)..<bytes.count))
    isFullRange = PictureFile.isFullRange(bytes)
    hasTransparency = hasTransparency || PictureFile.hasAlphaItem(bytes)
    let found = PictureFile.pages(bytes)
    pages = found.pages[...]
    if found.isCut { note("\(path) is cut off: pages may be missing at its end; copy it anew.") }
    guard isJPEG else { return nil }
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

  func note(_ fault: String) {
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
    let files = leftOut == 1 ? "1 file" : "\(leftOut) files"
    let others = "left out of \(name), by the names no pictures: \(files)"
    let damaged = "\(faultCount) files of \(name) are damaged"
    return (leftOut > 0 ? [others] : []) + (hasTransparency ? [FileSource.transparency(name)] : [])
      + faults + (faultCount > faults.count ? [damaged] : [])
  }

  public func interrupt() { interruption.set() }

  public var counts: [(name: String, value: UInt64)] { damage.counts }

  public func close() {
    release()
    leaveFile()
  }
}
