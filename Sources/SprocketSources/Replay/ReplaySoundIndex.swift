internal import SprocketCore
internal import SprocketMCAP

/// A block of sound of a dump, as its record has it, and where its samples are.
struct ReplayBlock: Sendable {
  var microphone = 0
  /// Number of the first sample, lost ones counted.
  var sample: UInt64 = 0
  var count = 0
  /// Samples that the source lost just before.
  var missing: UInt64 = 0
  var segment: UInt32 = 0
  /// Nanoseconds: when the first sample was heard, and when the block was read, on the monotonic clock of
  /// then.
  var time: Int64 = 0
  var read: Int64 = 0
  var timing = ArrivedSound.Timing.unknown
  var place: MCAPMessagePlace?

  var end: UInt64 { sample &+ UInt64(count) }
}

/// What a dump says of a source of sound.
struct ReplayMicrophone: Sendable {
  var microphone = 0
  var name = ""
  var format: AudioFormat
  /// Times are on the monotonic clock of the machine that recorded the dump.
  var isMonotonic = false
}

/// What a dump tells of the sound of one source, all of it read before the first block is played: some 100
/// bytes a block.
struct ReplaySoundIndex {
  private(set) var blocks: [ReplayBlock] = []
  private(set) var microphone: ReplayMicrophone?

  /// Largest jump of the times from one block to the next, nanoseconds: a day. A damaged file may have any
  /// time, and what is missing becomes silence.
  private static let longestJump: Int64 = 86_400_000_000_000

  /// Throws where the file tells of more blocks than one of its size can have.
  init(
    _ number: Int, _ reader: inout MCAPReader, _ topics: ReplayTopics
  ) throws(MCAPError) {
    let (records, audio) = Self.channels(reader, topics)
    guard let audio = audio.first(where: { $0.microphone == number })?.channel else { return }
    let most = 100_000 + Int(clamping: reader.size / 8)
    let wanted = Set(records.keys)
    for chunk in reader.chunks.indices where reader.chunks[chunk].mayHold(wanted) {
      guard try reader.loadOrCut(chunk) else { break }
      reader.forEachMessage(on: wanted) { message, data in
        if records[message.channel] == true {
          if let block = ReplayRecord.block(data), block.microphone == number {
            blocks.append(block)
          }
        } else if let found = ReplayRecord.microphone(data), found.microphone == number {
          microphone = microphone ?? found
        }
      }
      if blocks.count > most {
        throw MCAPError(
          .damaged,
          "\(reader.path) tells of more sound than a file of its size can have: it is damaged; record "
            + "it anew")
      }
    }
    guard let rate = microphone?.format.rate else {
      blocks = []
      return
    }
    blocks.removeAll { !(1...rate).contains($0.count) }
    blocks.sort { $0.sample < $1.sample }
    join(try Self.places(of: audio, &reader, most))
    dropJumps()
  }

  /// The channels of records, and whether they are of blocks; and those of samples.
  fileprivate static func channels(
    _ reader: borrowing MCAPReader, _ topics: ReplayTopics
  ) -> (records: [UInt16: Bool], audio: [(microphone: Int, channel: UInt16)]) {
    var records: [UInt16: Bool] = [:]
    var audio: [(Int, UInt16)] = []
    for (id, channel) in reader.channels {
      guard let topic = topics.name(of: channel.topic) else { continue }
      switch (reader.schemas[channel.schema]?.name, channel.encoding) {
      case ("sprocket.microphone", "json"): records[id] = false
      case ("sprocket.block", "json"): records[id] = true
      case ("foxglove.RawAudio", "protobuf"):
        if topic == "audio" { audio.append((0, id)) }
        if topic.hasPrefix("audio/"), let number = Int(topic.dropFirst(6)) {
          audio.append((number &- 1, id))
        }
      default: break
      }
    }
    return (records, audio)
  }

  private static func places(
    of channel: UInt16, _ reader: inout MCAPReader, _ most: Int
  ) throws(MCAPError) -> [MCAPMessagePlace] {
    var places: [MCAPMessagePlace] = []
    for chunk in reader.chunks.indices where reader.chunks[chunk].mayHold([channel]) {
      do throws(MCAPError) {
        try reader.places(of: [channel], in: chunk, to: &places)
      } catch {
        // The blocks of a damaged chunk are missing.
        guard error.code == .damaged else { throw error }
      }
      if places.count > most { return places }
    }
    return places.sorted {
      ($0.logTime, $0.chunk, $0.offset) < ($1.logTime, $1.chunk, $1.offset)
    }
  }

  /// Finds the samples of each block: those of the same time. Blocks without samples are left out.
  private mutating func join(_ places: [MCAPMessagePlace]) {
    let order = blocks.indices.sorted {
      (blocks[$0].logTime, blocks[$0].sample) < (blocks[$1].logTime, blocks[$1].sample)
    }
    var next = 0
    for index in order {
      let time = blocks[index].logTime
      while next < places.count, places[next].logTime < time { next += 1 }
      guard next < places.count, places[next].logTime == time else { continue }
      blocks[index].place = places[next]
      next += 1
    }
    blocks.removeAll { $0.place == nil }
  }

  /// Leaves out blocks that overlap the block before them, and blocks with implausible times.
  private mutating func dropJumps() {
    var kept: [ReplayBlock] = []
    for block in blocks {
      if let last = kept.last {
        let jump = block.time.clampedSum(-max(last.time, -.max))
        guard block.sample >= last.end, jump.magnitude <= Self.longestJump.magnitude else {
          continue
        }
      }
      kept.append(block)
    }
    blocks = kept
  }
}

extension MCAPReader {
  /// How many sources of sound these topics have.
  func microphoneCount(_ topics: ReplayTopics) -> Int {
    let (records, audio) = ReplaySoundIndex.channels(self, topics)
    return records.isEmpty ? 0 : audio.count
  }
}

extension ReplayBlock {
  /// The log time of its messages: a negative time becomes 0.
  fileprivate var logTime: UInt64 { UInt64(max(time, 0)) }
}

// The records of sound.
extension ReplayRecord {
  static func block(_ bytes: Span<UInt8>) -> ReplayBlock? {
    var block = ReplayBlock()
    var known = 0
    var (ahead, status): (Int?, Int64?) = (nil, nil)
    do throws(JSONScanner.Failure) {
      var json = JSONScanner()
      try json.begin("{", bytes)
      while let key = try json.nextKey(bytes) {
        switch true {
        case bytes.equals("microphone", key):
          block.microphone = try json.integer(Int.self, bytes) ?? 0
        case bytes.equals("sample", key):
          block.sample = try json.integer(UInt64.self, bytes) ?? 0
          known += 1
        case bytes.equals("count", key):
          block.count = try json.integer(Int.self, bytes) ?? 0
          known += 1
        case bytes.equals("missing", key):
          block.missing = try json.integer(UInt64.self, bytes) ?? 0
        case bytes.equals("segment", key):
          block.segment = try json.integer(UInt32.self, bytes) ?? 0
        case bytes.equals("time_ns", key):
          block.time = try json.integer(Int64.self, bytes) ?? 0
          known += 1
        case bytes.equals("read_ns", key): block.read = try json.integer(Int64.self, bytes) ?? 0
        case bytes.equals("status_ahead", key): ahead = try json.integer(Int.self, bytes)
        case bytes.equals("status_ns", key): status = try json.integer(Int64.self, bytes)
        case bytes.equals("exact_ns", key):
          block.timing = .exact(try json.integer(Int64.self, bytes) ?? 0)
        default: try json.skip(bytes)
        }
      }
    } catch {
      return nil
    }
    if let ahead, let status { block.timing = .status(ahead: ahead, time: status) }
    // More samples than any run makes in a year would become as much silence.
    return known == 3 && block.sample < 1 << 44 && block.missing < 1 << 40 ? block : nil
  }

  static func microphone(_ bytes: Span<UInt8>) -> ReplayMicrophone? {
    var (index, rate, channels) = (0, 0, 0)
    var (name, number, clock): (String?, String?, String?) = (nil, nil, nil)
    do throws(JSONScanner.Failure) {
      var json = JSONScanner()
      try json.begin("{", bytes)
      while let key = try json.nextKey(bytes) {
        switch true {
        case bytes.equals("microphone", key): index = try json.integer(Int.self, bytes) ?? 0
        case bytes.equals("name", key): name = try json.string(bytes)
        case bytes.equals("number", key): number = try json.string(bytes)
        case bytes.equals("rate", key): rate = try json.integer(Int.self, bytes) ?? 0
        case bytes.equals("channels", key): channels = try json.integer(Int.self, bytes) ?? 0
        case bytes.equals("clock", key): clock = try json.string(bytes)
        default: try json.skip(bytes)
        }
      }
    } catch {
      return nil
    }
    guard let kind = AudioFormat.Number(rawValue: number ?? ""), AudioFormat.rates.contains(rate),
      1...AudioFormat.mostChannels ~= channels
    else { return nil }
    return ReplayMicrophone(
      microphone: index, name: name ?? "",
      format: AudioFormat(number: kind, rate: rate, channels: channels),
      isMonotonic: clock == "monotonic")
  }
}
