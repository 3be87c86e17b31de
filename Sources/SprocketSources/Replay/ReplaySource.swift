internal import SprocketCodecs
public import SprocketCore
internal import SprocketMCAP
internal import SprocketPixels
internal import SprocketRecords

/// Plays a dump: the same bytes, sequence numbers, times, settings in force and events.
///
/// What the source found against a frame is found again: `missing` from jumps of the sequence,
/// `corrupt` from the driver's flags and the bytes, as if they came from a device; `startup` is as
/// recorded. Frames for which there was no room, in the engine or in the dump, are `overrun`. What a
/// stage dropped as late is dropped again where the chain has `latedrop` as it had then, so that results
/// are the same; another chain gets those frames. Controls cannot be written.
///
/// With `live=true` frames come at the times at which they came, `captured` is moved onto this
/// machine's monotonic clock with them, and what is late is decided anew.
///
/// A file that was cut off is played up to its last whole chunk, one with damaged records up to these.
/// Frames whose chunk of images is damaged are `corrupt` and have no bytes. Of other programs' files the
/// first topic of images that can be played is, or the one that `stream` names: JPEGs or pictures in
/// Foxglove's messages or in those of ROS 2. Their times are those at which messages were logged, or with
/// `stamped` those that they say.
///
/// Chunks are decompressed one at a time, and frames copied from there.
public final class ReplaySource: Source {
  let path: String
  let settings: ReplaySettings
  var reader: MCAPReader?
  var index: ReplayIndex?
  var session: ReplaySession?
  /// Those of the source that is played.
  private(set) var topics = ReplayTopics.all
  /// The frame to be told next, and, in a range, how many of it have been told.
  var place = 0
  private var told: UInt64 = 0
  /// Requests for frames by number; `nil` where the dump is played.
  var asked: AskedNumbers?
  /// Places of the frames that have numbers.
  private(set) var numbered: [Int] = []
  /// `place` is a frame that was asked for.
  var isChosen = false
  /// Frames that were sent because they were asked for.
  var sentCount: UInt64 = 0
  /// The image of the frame that was announced, as bytes of its message.
  var image: ReplayImage?
  private var isAnnounced = false
  private var isCorrupt = false
  /// Bytes that a slot has for an encoded frame.
  private var room = 0
  /// Chunks of images that turned out to be damaged, by where in the file they are. Asked for on
  /// another thread.
  let damaged = Locked<[UInt64]>([])
  /// On the monotonic clock, when the recording's time 0 was.
  private var start: Int64?
  let zero = FileZero()
  private var damage = EncodedDamage()
  let interruption = SourceInterrupt()

  /// Opens nothing yet.
  public init(path: String, _ settings: ReplaySettings = ReplaySettings()) {
    self.path = path
    self.settings = settings
  }

  /// Reads what the file tells of all frames, so that it takes a while with a long one.
  public func open() throws(RunError) -> SourceDescription {
    try settings.check(of: "the source replay")
    try checkAsked()
    do throws(MCAPError) {
      reader = try MCAPReader.open(path) { [interruption] in interruption.isSet }
    } catch {
      throw RunError(opening: error)
    }
    topics = try ReplayStreams(reader!).topics(settings.stream, path: path)
    do throws(MCAPError) {
      index = try ReplayIndex(&reader!, topics)
    } catch {
      throw RunError(opening: error)
    }
    let choice = index?.sessions.isEmpty == true ? try findForeign() : nil
    guard let index, !index.frames.isEmpty else { throw nothingToPlay() }
    guard let begin = index.place(at: settings.from) else {
      throw RunError(
        .usage, "\(path) has no frame at \(settings.from.settingText) or later; begin earlier")
    }
    place = begin
    let first = index.frames[place]
    session =
      session ?? index.sessions.first { $0.epoch == first.epoch } ?? index.sessions.first
    guard let session else { throw nothingToPlay() }
    numbered = asked == nil ? [] : index.frames.indices.filter { index.frames[$0].skipped == 0 }
    damaged.withLock { $0 += index.damaged }
    room = largestImage
    var description = describe(session)
    let last = index.frames[index.frames.count - 1]
    description.frameCount = Int(clamping: last.number - first.number &+ max(last.skipped, 1))
    description.note = note(index, choice)
    description.leadIn = index.leadIn(of: begin, after: settings.from)
    asked?.answer(.opened, 0, while: goesOn)
    return description
  }

  private func describe(_ session: ReplaySession) -> SourceDescription {
    let format = session.format
    let size = format.pixelFormat.byteCount(width: format.width, height: format.height)
    var description = SourceDescription(
      name: path, format: format, isLive: settings.live,
      clock: settings.live ? .monotonic : .recorded,
      capacity: format.pixelFormat.isEncoded ? room : size)
    description.isAskedByNumber = asked != nil
    // The path is no camera.
    description.ownOrigin = .unknown
    return description
  }

  private func isDamaged(_ chunk: UInt64) -> Bool {
    damaged.withLock { $0.contains(chunk) }
  }

  /// The most that an encoded frame can have, as frames' records say: less than its chunk.
  private var largestImage: Int {
    let told = index?.frames.reduce(0) { max($0, $1.bytes) } ?? 0
    return told > 0 ? told : reader?.chunks.reduce(1) { max($0, $1.largestSize) } ?? 1
  }

  // MARK: Playing

  public func next(timeout: Int64) throws(RunError) -> Arrival {
    guard let index, place < index.frames.count, !interruption.isSet else { return .end }
    if let asked, !choose(asked, timeout: timeout) {
      return asked.isGone || interruption.isSet ? .end : .nothing
    }
    let frame = index.frames[place]
    if let session, frame.epoch != session.epoch, !index.sessions.isEmpty,
      let next = index.sessions.first(where: { $0.epoch == frame.epoch })
    {
      self.session = next
      let isBack = frame.events.contains { index.events.events[Int($0)].kind == .replugged }
      return .epoch(describe(next), isBack ? .replug : .formatChange)
    }
    if frame.skipped > 0 { return .frame(announceSkipped(frame)) }
    guard waits(until: frame, timeout) else { return .nothing }
    if !isAnnounced, let place = frame.place {
      do throws(RunError) {
        image = try load(place)
      } catch {
        if error.code == .interrupted { return .end }
        throw error
      }
      isAnnounced = true
      if index.sessions.isEmpty, let format = foreignFormat(place), format != session?.format {
        let next = ReplaySession(format: format)
        session = next
        return .epoch(describe(next), .formatChange)
      }
    }
    return .frame(announce(frame))
  }

  /// Brings the chunk of an image into memory.
  func load(_ place: MCAPMessagePlace) throws(RunError) -> ReplayImage? {
    var found: ReplayImage?
    let chunk = Int(place.chunk)
    guard let offset = reader?.chunks[chunk].offset else { return nil }
    if isDamaged(offset) { return nil }
    do throws(MCAPError) {
      try reader?.load(chunk)
    } catch {
      guard error.code == .damaged else {
        let code: RunError.Code = error.code == .interrupted ? .interrupted : .failed
        throw RunError(code, error.description)
      }
      damaged.withLock { $0.append(offset) }
      return nil
    }
    _ = reader?.withMessage(at: place) { message, data in
      found = index?.imageChannels[message.channel].flatMap { ReplayImage(data, $0) }
    }
    return found
  }

  private func announce(_ frame: ReplayFrame) -> ArrivedFrame {
    isCorrupt = frame.isCorrupt || isDamaged(frame)
    var arrived = ArrivedFrame(
      sequence: asked == nil ? frame.sequence : sentCount, captured: time(of: frame),
      capturePoint: frame.capturePoint, isCorrupt: isCorrupt,
      isStartup: frame.isStartup && asked == nil, inForce: frame.inForce)
    arrived.driverFlags = frame.driverFlags
    arrived.wasLate = frame.wasLate && !settings.live && asked == nil
    return arrived
  }

  private func announceSkipped(_ range: ReplayFrame) -> ArrivedFrame {
    var arrived = ArrivedFrame(
      sequence: range.sequence &+ told,
      captured: Timestamp(nanoseconds: 0, clock: settings.live ? .monotonic : .recorded))
    arrived.isOverrun = true
    arrived.isCorrupt = range.isCorrupt
    arrived.isStartup = range.isStartup
    return arrived
  }

  /// Flagged by the driver, or broken in structure, or not all there.
  private func isDamaged(_ frame: ReplayFrame) -> Bool {
    guard frame.driverFlags & Self.errorFlag == 0, let session, let image, let place = frame.place
    else { return true }
    let format = session.format
    guard format.pixelFormat.isEncoded else {
      let size = format.pixelFormat.byteCount(width: format.width, height: format.height)
      return image.count(row: rowBytes(format), rows: format.height) != size
    }
    // Its record said that there is less: there is no room for the rest of it.
    if image.data.count > room { return true }
    var isWhole = false
    _ = reader?.withMessage(at: place) { _, data in
      let header = damage.check(data.extracting(image.data), fullHeight: format.height)
      isWhole = header.map { $0.isFieldPair || !format.hasFieldImages } ?? false
    }
    return !isWhole
  }

  /// `V4L2_BUF_FLAG_ERROR` (linux/videodev2.h): the buffer's contents may be damaged.
  private static let errorFlag: UInt32 = 0x0040

  // MARK: Time

  private func time(of frame: ReplayFrame) -> Timestamp {
    guard settings.live, let start else {
      return Timestamp(nanoseconds: frame.captured, clock: .recorded)
    }
    let recorded = session?.isMonotonic == true ? frame.captured : dueTime(of: frame)
    return Timestamp(nanoseconds: start &+ recorded, clock: .monotonic)
  }

  /// When the frame came; of a film, which came as fast as it could, when it is shown. Sound has the same.
  private func dueTime(of frame: ReplayFrame) -> Int64 {
    session?.isMedia == true ? frame.captured : frame.dequeued
  }

  /// Live, waits until the frame is due; false when `timeout` nanoseconds are over before.
  private func waits(until frame: ReplayFrame, _ timeout: Int64) -> Bool {
    guard settings.live else { return true }
    // A file may say anything: no arithmetic traps.
    let time = dueTime(of: frame)
    let start = zero.monotonicTime(whenNowIs: time, isAnew: false)
    self.start = start
    let due = start &+ time
    return interruption.wait(until: due, timeout: timeout)
  }

  // MARK: Handing over

  /// Of frames without bytes, the first has what is recorded of them.
  public func takeEvents(into events: inout EventQueue) {
    guard let index, told == 0, asked == nil else { return }
    for event in index.frames[place].events { events.add(index.events.events[Int(event)]) }
  }

  public func changedSettings(_ ticket: UInt64) -> ChangedSettings? {
    guard let settings = index?.events.settings, ticket < settings.count else { return nil }
    return settings[Int(ticket)]
  }

  public func take(into slot: inout CaptureSlot) {
    guard let index else { return }
    let frame = index.frames[place]
    var count = 0
    if let image, let place = frame.place {
      var target = slot.bytes
      _ = reader?.withMessage(at: place) { _, data in count = copy(image, of: data, to: &target) }
    }
    slot.filled(count)
    advance()
  }

  public func discard() { advance() }

  private func advance() {
    guard let index, place < index.frames.count else { return }
    image = nil
    isAnnounced = false
    if let asked { return answerChosen(asked, isCorrupt: isCorrupt) }
    told += 1
    if told >= index.frames[place].skipped {
      told = 0
      place += 1
    }
  }

  public func reclaim(_ lent: UnsafeMutableRawPointer) {
    contractBroken("gives memory back to a replay, which lends none; give it to its owner")
  }

  public func interrupt() { interruption.set() }

  public var counts: [(name: String, value: UInt64)] { damage.counts }

  public func close() { reader = nil }
}
