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
  /// Whether images are compressed, by channel.
  private(set) var imageChannels: [UInt16: Bool] = [:]

  /// Frames' images are compressed, as far as the message goes.
  func isCompressed(_ channel: UInt16) -> Bool { imageChannels[channel] ?? false }

  private var sessionChannels: Set<UInt16> = []
  private var sourceChannels: Set<UInt16> = []
  private var fateChannels: Set<UInt16> = []
  private var rangeChannels: Set<UInt16> = []
  private var late: [UInt64] = []

  /// Throws where there is nothing in the file that could be played.
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
      // Some other program's: its first channel of images.
      frames = []
      guard let first = imageChannels.keys.min() else { return }
      imageChannels = imageChannels.filter { $0.key == first }
    }
    let places = try imagePlaces(&reader)
    if sessions.isEmpty { takeForeign(places) } else { join(places, reader.isComplete) }
  }

  /// The records of all chunks that hold any.
  private mutating func readRecords(_ reader: inout MCAPReader) throws(MCAPError) {
    let wanted = sessionChannels.union(sourceChannels).union(fateChannels).union(rangeChannels)
    if sessionChannels.isEmpty { return }
    for chunk in reader.chunks.indices where reader.chunks[chunk].mayHold(wanted) {
      guard try reader.loadOrCut(chunk) else { break }
      reader.forEachMessage(on: wanted) { message, data in read(message.channel, data) }
    }
    frames.sort { $0.number < $1.number }
    for number in late { markLate(number) }
    late = []
  }

  private mutating func read(_ channel: UInt16, _ data: Span<UInt8>) {
    if sourceChannels.contains(channel) {
      if let frame = ReplayRecord.frame(data, events: &events) { frames.append(frame) }
    } else if fateChannels.contains(channel) {
      if let number = ReplayRecord.lateNumber(data) { late.append(number) }
    } else if rangeChannels.contains(channel) {
      if let range = ReplayRecord.range(data) { frames.append(range) }
    } else if let session = ReplayRecord.session(data) {
      sessions.append(session)
    }
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
  private func imagePlaces(_ reader: inout MCAPReader) throws(MCAPError) -> [MCAPMessagePlace] {
    let wanted = Set(imageChannels.keys)
    var places: [MCAPMessagePlace] = []
    for chunk in reader.chunks.indices where reader.chunks[chunk].mayHold(wanted) {
      try reader.places(of: wanted, in: chunk, to: &places)
    }
    return places.sorted {
      ($0.logTime, $0.chunk, $0.offset) < ($1.logTime, $1.chunk, $1.offset)
    }
  }

  /// Finds the bytes of each frame: the image of the same time. A program that copied the file may
  /// have put messages into another order.
  private mutating func join(_ places: [MCAPMessagePlace], _ isComplete: Bool) {
    let order = frames.indices.filter { frames[$0].bytes > 0 }.sorted {
      (frames[$0].captured, frames[$0].number) < (frames[$1].captured, frames[$1].number)
    }
    var next = 0
    var last = -1
    for index in order {
      // As the dump writes it: what lies before 0 becomes 0.
      let time = UInt64(max(frames[index].captured, 0))
      while next < places.count, places[next].logTime < time { next += 1 }
      guard next < places.count, places[next].logTime == time else { continue }
      frames[index].place = places[next]
      next += 1
      last = max(last, index)
    }
    if !isComplete {
      cutFrames = frames.count - last - 1
      frames.removeSubrange((last + 1)...)
    }
    // Bytes that somebody took out of the file: there was no room for them.
    for index in frames.indices
    where frames[index].bytes > 0 && frames[index].place == nil { frames[index].skipped = 1 }
  }

  private mutating func takeForeign(_ places: [MCAPMessagePlace]) {
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
