internal import Glibc
internal import SprocketCore
internal import SprocketFiles
internal import SprocketMCAP
internal import SprocketRecords

/// What has been told of a dump, and what of it is not yet written.
struct DumpContents: ~Copyable {
  /// Most bytes of messages in a chunk, unless one alone has more, and most nanoseconds that it lasts.
  /// Larger: smaller files, more memory, and more is lost in a crash.
  static let chunkBytes = 8_000_000
  private var chunkDuration: Int64 = 1_000_000_000
  /// Whether each chunk is on the disk before the next is begun.
  private var isSynced = false
  /// Most bytes of records in a chunk that has no images. Larger: fewer chunks; a crash loses more of them.
  static let recordBytes = 1 << 20

  var reports: [ReportLayout] = []
  var changedSettings: SettingsLookup = { _ in nil }
  private let output: DumpOutput
  private let part: DumpPart
  private var images = MCAPChunk(capacity: chunkBytes)
  /// What sound came with the pictures.
  var sound = DumpedSound()
  private var records = MCAPChunk(capacity: recordBytes)
  private var text = TextBuffer()
  private var image: DumpImage?
  /// Told before the next record of a frame.
  private var session: SessionRecord?
  private var hasBegun = false
  private var toldImages: Set<UInt16> = []
  private var range: RangeRecord?
  /// Of the newest frame that arrived: when it was captured, and dequeued.
  private var logTime: UInt64 = 0
  private var newest: Int64 = 0
  /// The same of the first in the chunks; `nil` while there is none.
  private var chunkLogTime: UInt64?
  private var chunkDequeued: Int64?
  var failure: RunError?
  /// The file has its end and its name.
  private(set) var isClosed = false
  private(set) var durableFrames: UInt64 = 0
  private(set) var durableFates: UInt64 = 0
  private var pendingFrames: UInt64 = 0
  private var pendingFates: UInt64 = 0

  init(_ output: DumpOutput, _ part: DumpPart) { (self.output, self.part) = (output, part) }

  /// Nothing in the file is to be off the disk for longer: a chunk lasts half as long.
  mutating func sync(every time: Duration) {
    isSynced = true
    chunkDuration = min(chunkDuration, time.nanosecondCount / 2)
  }

  mutating func begin(_ session: SessionRecord, _ image: DumpImage) {
    self.session = session
    self.image = image
  }

  // MARK: The source's half

  /// A frame that `DumpPacker` compressed.
  mutating func add(_ frame: borrowing FrameView, packed bytes: Span<UInt8>) throws(RunError) {
    guard let image else { return }
    try add(frame, bytes: image.count(frame))
    if !bytes.isEmpty { images.add(image.message(frame.record), packed: bytes) }
  }

  /// A frame whose bytes are stored as they are.
  mutating func add(_ frame: borrowing FrameView, stored bytes: Span<UInt8>) throws(RunError) {
    guard let image else { return }
    try add(frame, bytes: bytes.count)
    if bytes.isEmpty { return }
    text.removeAll()
    try image.appendStart(frame.record.captured, count: bytes.count, to: &text)
    images.add(
      image.message(frame.record), storing: unsafe Span(_unsafeElements: text.elements), bytes)
  }

  /// The record of a frame that arrived, in the chunk beside the one that its bytes will be in.
  private mutating func add(_ frame: borrowing FrameView, bytes count: Int) throws(RunError) {
    try endRange()
    let record = frame.record
    logTime = record.captured.logTime
    newest = record.dequeued
    let size = MCAPMessage.overhead + DumpImage.longestStart + count
    if isOld || (!images.isEmpty && images.contentCount + size > Self.chunkBytes) { try flush() }
    chunkLogTime = chunkLogTime ?? logTime
    chunkDequeued = chunkDequeued ?? newest
    try tellSession()
    if count > 0 { try tellImage() }
    text.removeAll()
    try SourceRecord.write(frame, bytes: count, changedSettings, to: &text)
    add(on: DumpChannel.source, sequence: record.sequence)
    pendingFrames += 1
  }

  /// The first frame in the chunks is a second older than the newest, by either time.
  private var isOld: Bool {
    guard let chunkLogTime, let chunkDequeued else { return false }
    let span = max(logTime, chunkLogTime) - min(logTime, chunkLogTime)
    return span >= UInt64(chunkDuration) || newest - chunkDequeued >= chunkDuration
  }

  mutating func add(_ lost: LostFrame) throws(RunError) {
    // A jump of the sequence tells of what is missing.
    if lost.fate == .missing { return }
    if range?.extend(lost) == true { return }
    try endRange()
    range = RangeRecord(lost)
    // Written at once: the events are lent.
    if !lost.events.isEmpty { try endRange() }
  }

  private mutating func endRange() throws(RunError) {
    guard let ended = range.take() else { return }
    try tellSession()
    text.removeAll()
    try ended.write(changedSettings, to: &text)
    add(on: DumpChannel.range, sequence: ended.first.sequence)
  }

  // MARK: The chain's half

  mutating func add(
    _ fate: LostFrame, _ frame: borrowing FrameView, _ line: borrowing ReportLine
  ) throws(RunError) {
    let record = frame.record
    if logTime == 0 { logTime = record.captured.logTime }
    try tellSession()
    text.removeAll()
    try text.append(fate.sequence, fate.epoch, fate.fate, record, line)
    try text.append(frame, line)
    try end(fate, logTime: record.captured.logTime)
  }

  mutating func add(_ fate: LostFrame, _ line: borrowing ReportLine) throws(RunError) {
    try tellSession()
    text.removeAll()
    try text.append(fate.sequence, fate.epoch, fate.fate, nil, line)
    try text.appendEvents(of: fate, line)
    try end(fate, logTime: logTime)
  }

  private mutating func end(_ fate: LostFrame, logTime: UInt64) throws(RunError) {
    try text.endFate(number: fate.number)
    add(on: DumpChannel.fate, sequence: fate.sequence, logTime: logTime)
    if fate.fate == .delivered { pendingFates += 1 }
    if records.contentCount > Self.recordBytes { try flush() }
  }

  // MARK: Sound

  /// A block of sound.
  mutating func add(_ block: BlockRecord, _ bytes: Span<UInt8>) throws(RunError) {
    if let chunkDequeued, block.record.read - chunkDequeued >= chunkDuration { try flush() }
    if sound.blocks.contentCount + bytes.count > Self.chunkBytes { try flush() }
    chunkDequeued = chunkDequeued ?? block.record.read
    try tellSession()
    try tellMicrophones()
    text.removeAll()
    try block.write(to: &text)
    let time = UInt64(max(block.time, 0))
    let number = UInt64(truncatingIfNeeded: block.record.block)
    add(on: DumpChannel.block, sequence: number, logTime: time)
    text.removeAll()
    try sound.appendStart(block, count: bytes.count, to: &text)
    text.append(bytes)
    let message = MCAPMessage(
      channel: part.base + DumpChannel.rawAudio + UInt16(block.microphone),
      sequence: UInt32(truncatingIfNeeded: number), logTime: time)
    sound.blocks.add(message, gathering: unsafe Span(_unsafeElements: text.elements))
    sound.count(block)
  }

  private mutating func tellMicrophones() throws(RunError) {
    guard let told = sound.takeUntold() else { return }
    try output.define(DumpChannel.sound(told.count, part))
    for (index, description) in told.enumerated() {
      text.removeAll()
      text.append(MicrophoneRecord.text(description, index).span)
      add(on: DumpChannel.microphone, sequence: UInt64(index))
    }
  }

  // MARK: The file

  /// What the text holds becomes a message.
  private mutating func add(on channel: UInt16, sequence: UInt64, logTime: UInt64? = nil) {
    let message = MCAPMessage(
      channel: part.base + channel, sequence: UInt32(truncatingIfNeeded: sequence),
      logTime: logTime ?? self.logTime)
    records.add(message, gathering: unsafe Span(_unsafeElements: text.elements))
  }

  /// Begins the file, if that has not been done, and the epoch: no sooner than there is something to
  /// tell, for a run that does not begin leaves no file.
  private mutating func tellSession() throws(RunError) {
    guard let session = session.take() else { return }
    if !hasBegun {
      hasBegun = true
      try output.define(DumpChannel.records(reports, part))
    }
    text.removeAll()
    text.append(session.text.span)
    add(on: DumpChannel.session, sequence: 0)
  }

  private mutating func tellImage() throws(RunError) {
    guard let image, toldImages.insert(image.channel).inserted else { return }
    try output.define([DumpChannel.image(image.channel, part)])
  }

  /// Writes the chunks.
  mutating func flush() throws(RunError) {
    try endRange()
    try output.write(&records)
    durableFates += pendingFates
    pendingFates = 0
    try output.write(&sound.blocks)
    sound.noteDurable()
    try output.write(&images, hasFrames: pendingFrames > 0)
    durableFrames += pendingFrames
    pendingFrames = 0
    try output.sync(isAwaited: isSynced)
    chunkLogTime = nil
    chunkDequeued = nil
  }

  mutating func syncIfDue() throws(RunError) {
    guard isSynced, let chunkDequeued, monotonicNow() - chunkDequeued >= chunkDuration else {
      return
    }
    try flush()
  }

  /// Ends the file where it broke. Returns the error that all its sinks report.
  mutating func fail(_ error: RunError) -> RunError {
    let told = output.fail(error)
    failure = told
    return told
  }

  mutating func complete(_ ledger: Ledger) throws(RunError) {
    try tellSession()
    text.removeAll()
    try LedgerRecord.write(ledger, to: &text)
    add(on: DumpChannel.ledger, sequence: 0)
    try flush()
    try output.endPart()
    isClosed = true
  }
}
