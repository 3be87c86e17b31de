internal import SprocketCore
internal import SprocketMCAP
internal import SprocketRecords
internal import SprocketTimes

/// What a dump tells of its frames, all of it read before the first is played: some 150 bytes a frame.
struct ReplayIndex {
  /// Frames, and ranges of frames without bytes, in the order of their numbers.
  private(set) var frames: [ReplayFrame] = []
  private(set) var events = ReplayEvents()
  /// The sessions of a dump; none in a file that is not one of ours.
  private(set) var sessions: [ReplaySession] = []
  /// Frames at the end of a file that was cut off, whose bytes are not in it.
  private(set) var cutFrames = 0
  /// Chunks of images that are damaged, by where in the file they are.
  private(set) var damaged: [UInt64] = []
  /// Frames without bytes that ranges tell of and that are left out: more than the file can know of.
  private(set) var excessFrames: UInt64 = 0
  /// What messages are pictures, by channel.
  private(set) var imageChannels: [UInt16: ReplayImageKind] = [:]
  /// Topics with pictures in another program's file, the first `ReplayStreams.mostTopics`.
  private(set) var foreignTopics: [ForeignTopic] = []

  struct ForeignTopic {
    let name: String
    /// Programs that merge files give one topic several channels.
    var channels: Set<UInt16>
  }

  /// What the clock of another program's file did.
  private(set) var gate = TimeGate()

  private var sessionChannels: Set<UInt16> = []
  private var sourceChannels: Set<UInt16> = []
  private var fateChannels: Set<UInt16> = []
  private var rangeChannels: Set<UInt16> = []
  private var late: [UInt64] = []
  /// Records of frames' fates: each frame that was produced has one.
  private var fateCount: UInt64 = 0
  /// Limit for the number of frames, and of records of each kind: one for each 8 bytes of the file,
  /// plus 100,000, since records may compress to almost nothing. Real files are below it: a record
  /// in a chunk has an entry of 16 bytes in the index after the chunk, and a frame that never
  /// arrived has a record of its fate. Without the limit, a file of 200 kB could make reports of
  /// gigabytes.
  private let most: Int

  /// Only finds the topics with images in another program's file, which has no sessions:
  /// `takeForeign` reads one.
  init(_ reader: inout MCAPReader, _ topics: ReplayTopics) throws(MCAPError) {
    most = 100_000 + Int(clamping: reader.size / 8)
    for (id, channel) in reader.channels where topics.name(of: channel.topic) != nil {
      let schema = reader.schemas[channel.schema]?.name
      switch RecordKind(schema: schema, encoding: channel.encoding) {
      case .session: sessionChannels.insert(id)
      case .source: sourceChannels.insert(id)
      case .fate: fateChannels.insert(id)
      case .range: rangeChannels.insert(id)
      default: imageChannels[id] = ReplayImageKind(schema: schema, encoding: channel.encoding)
      }
    }
    try readRecords(&reader)
    if sessions.isEmpty {
      frames = []
      findForeignTopics(reader)
    } else {
      join(try imagePlaces(Set(imageChannels.keys), &reader), reader)
      try checkGaps(reader)
    }
  }

  /// The first frame that was captured at `from` or later, counted from the first of all. A range of
  /// frames without bytes has no time, and goes with the frame before.
  func place(at from: Duration) -> Int? {
    guard from > .zero, let first = frames.first(where: { $0.skipped == 0 }) else { return 0 }
    return frames.firstIndex { frame in
      frame.skipped == 0 && frame.captured - first.captured >= from.nanosecondCount
    }
  }

  /// Time from `from` to the frame that `place(at:)` has found.
  func leadIn(of place: Int, after from: Duration) -> Duration {
    guard from > .zero, let first = frames.first(where: { $0.skipped == 0 }) else { return .zero }
    let time = frames[place].captured.clampedDifference(first.captured)
    return .nanoseconds(time.clampedDifference(from.nanosecondCount))
  }

  private func tooMany(_ what: String, _ reader: borrowing MCAPReader) -> MCAPError {
    MCAPError(
      .damaged,
      "\(reader.path) tells of more \(what) than a file of its size can know of: it is damaged; record "
        + "it anew")
  }

  /// Frames that a stage dropped because they came too late.
  var lateCount: Int { frames.count { $0.wasLate } }

  /// The records of all chunks that hold any.
  private mutating func readRecords(_ reader: inout MCAPReader) throws(MCAPError) {
    let wanted = sessionChannels.union(sourceChannels).union(fateChannels).union(rangeChannels)
    if sessionChannels.isEmpty { return }
    for chunk in reader.chunks.indices where reader.chunks[chunk].mayHold(wanted) {
      guard try reader.loadOrCut(chunk) else { break }
      try reader.forEachMessage(on: wanted) { (message, data) throws(MCAPError) in
        read(message.channel, data)
        let count = max(frames.count, sessions.count, late.count, Int(clamping: fateCount))
        if count > most { throw tooMany("frames", reader) }
      }
    }
    frames.sort { $0.number < $1.number }
    boundRanges()
    for number in late { markLate(number) }
    late = []
  }

  private mutating func read(_ channel: UInt16, _ data: Span<UInt8>) {
    if sourceChannels.contains(channel) {
      if let frame = SourceRecord.read(data, events: &events) { frames.append(frame) }
    } else if fateChannels.contains(channel) {
      fateCount += 1
      if let number = FateRecord.lateNumber(data) { late.append(number) }
    } else if rangeChannels.contains(channel) {
      if let range = RangeRecord.read(data, events: &events) { frames.append(range) }
    } else if let session = SessionRecord.read(data) {
      sessions.append(session)
    }
  }

  /// A range ends where the next frame begins, and all ranges together have no more frames than the file
  /// has fates of, or, without them, than it can know of.
  private mutating func boundRanges() {
    var left = max(fateCount, UInt64(most))
    for index in frames.indices where frames[index].skipped > 0 {
      let isLast = index == frames.count - 1
      let room = isLast ? .max : frames[index + 1].number - frames[index].number
      let wanted = min(frames[index].skipped, room)
      frames[index].skipped = min(wanted, left)
      excessFrames += wanted - frames[index].skipped
      left -= frames[index].skipped
      // Nothing of it is left; 0 would be a frame with bytes.
      if frames[index].skipped == 0 { frames[index].isEmptyRange = true }
    }
    frames.removeAll { $0.isEmptyRange }
  }

  /// Jumps of the sequence are frames that never came, each with a line of its own in reports.
  private func checkGaps(_ reader: borrowing MCAPReader) throws(MCAPError) {
    var lost: UInt64 = 0
    for index in frames.indices.dropFirst() {
      let (before, frame) = (frames[index - 1], frames[index])
      let end = before.sequence &+ max(before.skipped, 1)
      // A jump that is longer begins an epoch, and nothing is lost.
      guard frame.epoch == before.epoch, frame.sequence > end, frame.sequence - end <= 32_768
      else { continue }
      lost += frame.sequence - end
    }
    if lost > excessFrames + max(fateCount, UInt64(most)) { throw tooMany("lost frames", reader) }
  }

  private mutating func markLate(_ number: UInt64) {
    var low = 0
    var high = frames.count
    while low < high {
      let middle = (low + high) / 2
      if frames[middle].number < number { low = middle + 1 } else { high = middle }
    }
    if low < frames.count, frames[low].number == number { frames[low].wasLate = true }
  }

  /// In the order of their times; those of one time as they lie in the file.
  private mutating func imagePlaces(
    _ wanted: Set<UInt16>, _ reader: inout MCAPReader
  ) throws(MCAPError) -> [MCAPMessagePlace] {
    var places: [MCAPMessagePlace] = []
    for chunk in reader.chunks.indices where reader.chunks[chunk].mayHold(wanted) {
      do throws(MCAPError) {
        try reader.places(of: wanted, in: chunk, to: &places)
      } catch {
        guard error.code == .damaged else { throw error }
        damaged.append(reader.chunks[chunk].offset)
      }
      if places.count > most { throw tooMany("images", reader) }
    }
    return places.sorted {
      ($0.logTime, $0.chunk, $0.offset) < ($1.logTime, $1.chunk, $1.offset)
    }
  }

  /// Finds the bytes of each frame: the image of the same time. A program that copied the file may
  /// have put messages into another order.
  private mutating func join(_ places: [MCAPMessagePlace], _ reader: borrowing MCAPReader) {
    let order = frames.indices.filter { frames[$0].bytes > 0 }.sorted {
      (frames[$0].logTime, frames[$0].number) < (frames[$1].logTime, frames[$1].number)
    }
    var next = 0
    var last = -1
    for index in order {
      let time = frames[index].logTime
      while next < places.count, places[next].logTime < time { next += 1 }
      guard next < places.count, places[next].logTime == time else { continue }
      let place = places[next]
      frames[index].place = place
      // No more than there can be, whatever the record says.
      frames[index].bytes = min(frames[index].bytes, reader.chunks[Int(place.chunk)].largestSize)
      next += 1
      last = max(last, index)
    }
    if !reader.isComplete {
      cutFrames = frames.count - last - 1
      frames.removeSubrange((last + 1)...)
    }
    for index in frames.indices where frames[index].bytes > 0 && frames[index].place == nil {
      frames[index].bytes = 0
      if damaged.isEmpty {
        // Bytes that somebody took out of the file: there was no room for them.
        frames[index].skipped = 1
      } else {
        frames[index].verdict = .corrupt
      }
    }
  }

  // MARK: Files of other programs

  private mutating func findForeignTopics(_ reader: borrowing MCAPReader) {
    var topics: [ForeignTopic] = []
    for (id, channel) in reader.channels.sorted(by: { $0.key < $1.key })
    where imageChannels[id] != nil {
      if let place = topics.firstIndex(where: { $0.name == channel.topic }) {
        topics[place].channels.insert(id)
      } else if topics.count < ReplayStreams.mostTopics {
        topics.append(ForeignTopic(name: channel.topic, channels: [id]))
      }
    }
    foreignTopics = topics.filter { topic in
      reader.chunks.contains { $0.mayHold(topic.channels) }
    }
  }

  /// Makes the messages of a topic the frames, at their log times or, with `stamped`, at the times that
  /// they say themselves, for which all are read.
  mutating func takeForeign(
    _ topic: ForeignTopic, stamped: Bool, _ reader: inout MCAPReader
  ) throws(MCAPError) {
    frames = []
    damaged = []
    gate = TimeGate()
    let places = try imagePlaces(topic.channels, &reader)
    for (index, place) in places.enumerated() {
      var frame = ReplayFrame()
      frame.number = UInt64(index)
      frame.sequence = frame.number
      var time = Int128(place.logTime)
      if stamped, case let own? = try stamp(place, &reader) {
        time = Int128(own)
      }
      frame.captured = gate.pass(time, stream: 0).time
      frame.dequeued = frame.captured
      frame.place = place
      frames.append(frame)
    }
  }

  /// The time that a message says itself; `nil` where it says none, or is damaged.
  private func stamp(
    _ place: MCAPMessagePlace, _ reader: inout MCAPReader
  ) throws(MCAPError) -> Int64? {
    do throws(MCAPError) {
      try reader.load(Int(place.chunk))
    } catch {
      guard error.code == .damaged else { throw error }
      return nil
    }
    var stamp: Int64?
    _ = reader.withMessage(at: place) { message, data in
      stamp = imageChannels[message.channel].flatMap { ReplayImage(data, $0) }?.stamp
    }
    return stamp
  }
}
