internal import SprocketCore
internal import SprocketMCAP
internal import SprocketRecords

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
          if let block = BlockRecord.read(data), block.microphone == number {
            blocks.append(block)
          }
        } else if let found = MicrophoneRecord.read(data), found.microphone == number {
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
      let schema = reader.schemas[channel.schema]?.name
      switch RecordKind(schema: schema, encoding: channel.encoding) {
      case .microphone: records[id] = false
      case .block: records[id] = true
      case nil where schema == "foxglove.RawAudio" && channel.encoding == "protobuf":
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
        let jump = block.time - last.time
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
