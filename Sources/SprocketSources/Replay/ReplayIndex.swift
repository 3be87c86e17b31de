internal import SprocketCore
internal import SprocketMCAP

/// What a dump tells of its frames, all of it read before the first is played: some 150 bytes a frame.
struct ReplayIndex {
  /// Frames, and ranges of frames without bytes, in the order of their numbers.
  private(set) var frames: [ReplayFrame] = []
  private(set) var events: [Event] = []
  /// The sessions of a dump; none in a file that is not one of ours.
  private(set) var sessions: [ReplaySession] = []
  /// Frames at the end of a file that was cut off, whose bytes are not in it.
  private(set) var cutFrames = 0
  /// Chunks of images that are damaged, by where in the file they are.
  private(set) var damaged: [UInt64] = []
  /// Whether images are compressed, by channel.
  private(set) var imageChannels: [UInt16: Bool] = [:]

  /// Frames' images are compressed, as far as the message goes.
  func isCompressed(_ channel: UInt16) -> Bool { imageChannels[channel] ?? false }

  private var sessionChannels: Set<UInt16> = []
  private var sourceChannels: Set<UInt16> = []
  private var fateChannels: Set<UInt16> = []
  private var rangeChannels: Set<UInt16> = []
  private var late: [UInt64] = []
  /// Records of frames' fates: each frame that was produced has one.
  private var fateCount: UInt64 = 0

  /// Of a file of some other program, which has no sessions, only finds out which channels have images:
  /// `takeForeign` reads one.
  init(_ reader: inout MCAPReader) throws(MCAPError) {
    for (id, channel) in reader.channels {
      let schema = reader.schemas[channel.schema]?.name
      switch (schema, channel.encoding) {
      case ("sprocket.session", "json"): sessionChannels.insert(id)
      case ("sprocket.source", "json"): sourceChannels.insert(id)
      case ("sprocket.fate", "json"): fateChannels.insert(id)
      case ("sprocket.range", "json"): rangeChannels.insert(id)
      case ("foxglove.CompressedImage", "protobuf"): imageChannels[id] = true
      case ("foxglove.RawImage", "protobuf"): imageChannels[id] = false
      default: break
      }
    }
    try readRecords(&reader)
    if sessions.isEmpty {
      frames = []
    } else {
      join(try imagePlaces(Set(imageChannels.keys), &reader), reader)
    }
  }

  /// The first frame that was captured at `from` or later, counted from the first of all. A range of
  /// frames without bytes has no time, and goes with the frame before.
  func place(at from: Duration) -> Int? {
    guard from > .zero, let first = frames.first(where: { $0.skipped == 0 }) else { return 0 }
    return frames.firstIndex { frame in
      let (time, overflow) = frame.captured.subtractingReportingOverflow(first.captured)
      return frame.skipped == 0 && !overflow && time >= from.nanosecondCount
    }
  }

  /// Frames that a stage dropped because they came too late.
  var lateCount: Int { frames.count { $0.wasLate } }

  /// The records of all chunks that hold any.
  private mutating func readRecords(_ reader: inout MCAPReader) throws(MCAPError) {
    let wanted = sessionChannels.union(sourceChannels).union(fateChannels).union(rangeChannels)
    if sessionChannels.isEmpty { return }
    for chunk in reader.chunks.indices where reader.chunks[chunk].mayHold(wanted) {
      guard try reader.loadOrCut(chunk) else { break }
      reader.forEachMessage(on: wanted) { message, data in read(message.channel, data) }
    }
    frames.sort { $0.number < $1.number }
    boundRanges()
    for number in late { markLate(number) }
    late = []
  }

  private mutating func read(_ channel: UInt16, _ data: Span<UInt8>) {
    if sourceChannels.contains(channel) {
      if let frame = ReplayRecord.frame(data, events: &events) { frames.append(frame) }
    } else if fateChannels.contains(channel) {
      fateCount += 1
      if let number = ReplayRecord.lateNumber(data) { late.append(number) }
    } else if rangeChannels.contains(channel) {
      if let range = ReplayRecord.range(data, events: &events) { frames.append(range) }
    } else if let session = ReplayRecord.session(data) {
      sessions.append(session)
    }
  }

  /// A range ends where the next frame begins, and no file tells of more frames than it has fates of,
  /// or, without them, than come in 100 s at the highest rate.
  private mutating func boundRanges() {
    let most = max(fateCount, 1_000_000)
    for index in frames.indices where frames[index].skipped > 0 {
      let isLast = index == frames.count - 1
      let room = isLast ? most : frames[index + 1].number - frames[index].number
      frames[index].skipped = min(frames[index].skipped, room, most)
      // Nothing of it is left; 0 would be a frame with bytes.
      if room == 0 { frames[index].isEmptyRange = true }
    }
    frames.removeAll { $0.isEmptyRange }
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
        frames[index].isCorrupt = true
      }
    }
  }

  // MARK: Files of other programs

  /// Channels that may have images, the first first.
  var foreignChannels: [UInt16] { imageChannels.keys.sorted() }

  /// Makes the messages of a channel the frames.
  mutating func takeForeign(
    _ channel: UInt16, _ reader: inout MCAPReader
  ) throws(MCAPError) {
    frames = []
    damaged = []
    let places = try imagePlaces([channel], &reader)
    for (index, place) in places.enumerated() {
      var frame = ReplayFrame()
      frame.number = UInt64(index)
      frame.sequence = frame.number
      frame.captured = Int64(clamping: place.logTime)
      frame.dequeued = frame.captured
      frame.place = place
      frames.append(frame)
    }
  }
}
