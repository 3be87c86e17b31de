import SprocketCore
import SprocketMCAP
import TestSupport

@testable import SprocketSources

/// A dump that is written by hand: records as `docs/dump.md` has them, chunk by chunk.
struct TestDump: ~Copyable {
  struct Memory: MCAPOutput, ~Copyable {
    var bytes: [UInt8] = []

    mutating func write(_ new: Span<UInt8>) throws(Never) {
      for index in new.indices { bytes.append(new[index]) }
    }
  }

  private var writer = MCAPWriter(output: Memory())
  private var records = MCAPChunk(capacity: 4096)
  private var images = MCAPChunk(capacity: 4096)

  /// Of all numbers in records, the one that becomes another, and how many have been seen.
  private var changed: (place: Int, text: String)?
  private var seenNumbers = 0

  static let topics = ["session", "source", "fate", "range"]

  init(imageSchema: String = "foxglove.RawImage", hasSession: Bool = true) {
    writer.begin(library: "tests")
    for (index, topic) in Self.topics.enumerated() where hasSession {
      let id = UInt16(index + 1)
      writer.add(
        MCAPSchema(id: id, name: "sprocket.\(topic)", encoding: "jsonschema", data: []))
      writer.add(MCAPChannel(id: id, schema: id, topic: topic, encoding: "json"))
    }
    writer.add(MCAPSchema(id: 9, name: imageSchema, encoding: "protobuf", data: []))
    writer.add(MCAPChannel(id: 9, schema: 9, topic: "image", encoding: "protobuf"))
  }

  /// One whose `place`th number in records is `text` instead.
  init(changing place: Int, to text: String) {
    self.init()
    changed = (place, text)
  }

  /// There are that many numbers.
  var hasChanged: Bool { seenNumbers > changed?.place ?? 0 }

  private mutating func changing(_ text: String) -> String {
    guard let changed else { return text }
    var result = ""
    var rest = text[...]
    while let colon = rest.firstIndex(of: ":") {
      let start = rest.index(after: colon)
      let number = rest[start...].prefix { $0.isNumber || "+-.e".contains($0) }
      result += rest[..<start]
      result += !number.isEmpty && seenNumbers == changed.place ? changed.text[...] : number
      seenNumbers += number.isEmpty ? 0 : 1
      rest = rest[number.endIndex...]
    }
    return result + rest
  }

  /// One more channel of raw images.
  mutating func addImages(_ channel: UInt16) {
    writer.add(MCAPChannel(id: channel, schema: 9, topic: "\(channel)", encoding: "protobuf"))
  }

  mutating func add(_ topic: String, _ text: String, time: UInt64 = 0) {
    let text = changing(text)
    let id = UInt16(Self.topics.firstIndex(of: topic)! + 1)
    records.add(
      MCAPMessage(channel: id, sequence: 0, logTime: time), gathering: Array(text.utf8).span)
  }

  mutating func session(
    _ epoch: Int = 0, format: String = "GREY", image: String? = nil, width: Int = 4,
    height: Int = 2, rate: String? = nil, clock: String = "monotonic"
  ) {
    let image = image ?? #""\(format)""#
    let rate = rate.map { #"{"frames":\#($0),"seconds":1}"# }
    add(
      "session",
      """
      {"version":1,"epoch":\(epoch),"source":"x","format":"\(format)","image":\(image),
       "width":\(width),"height":\(height),       "rate":\(rate ?? #"{"frames":30000,"seconds":1001}"#),
       "color":{"range":"full","matrix":"bt709","transfer":"linear"},"live":true,
       "clock":"\(clock)","wall_offset_ns":5,"stages":[],"controls":[{"name":"a}\\"]"}]}
      """)
  }

  /// A record, and its image where there are bytes.
  mutating func frame(
    _ number: Int, sequence: Int? = nil, epoch: Int = 0, time: Int, bytes: [UInt8],
    more: String = "", claim: UInt64? = nil
  ) {
    record(
      number, sequence: sequence, epoch: epoch, time: time, more: more,
      claim: claim ?? UInt64(bytes.count))
    if !bytes.isEmpty { image(time: UInt64(max(time, 0)), Self.message(bytes)) }
  }

  mutating func record(
    _ number: Int, sequence: Int? = nil, epoch: Int = 0, time: Int, more: String = "",
    claim: UInt64
  ) {
    add(
      "source",
      """
      {"number":\(number),"sequence":\(sequence ?? number),"epoch":\(epoch),
      "captured_ns":\(time),"clock":"monotonic","point":"end_of_frame",
      "dequeued_ns":\(time + 1000),"bytes":\(claim),"driver_flags":0\(more)}
      """)
  }

  mutating func image(time: UInt64, _ message: [UInt8], on channel: UInt16 = 9) {
    images.add(MCAPMessage(channel: channel, sequence: 0, logTime: time), gathering: message.span)
  }

  /// A raw image with its bytes alone, or with more fields before them.
  static func message(_ bytes: [UInt8], field: UInt8 = 6, before: [UInt8] = []) -> [UInt8] {
    precondition(bytes.count < 128)
    return before + [field << 3 | 2, UInt8(bytes.count)] + bytes
  }

  /// The same, of up to 16,383 bytes.
  static func longMessage(_ bytes: [UInt8], field: UInt8) -> [UInt8] {
    precondition((128..<1 << 14).contains(bytes.count))
    return [field << 3 | 2, UInt8(bytes.count & 127 | 128), UInt8(bytes.count >> 7)] + bytes
  }

  mutating func endChunk() {
    writer.write(&records)
    writer.write(&images)
  }

  /// The file; `isWhole` is false for one whose writer was killed.
  consuming func file(isWhole: Bool = true) throws -> TestFile {
    endChunk()
    if isWhole { writer.end() }
    return try TestFile(writer.output.bytes, ending: "mcap")
  }
}

/// What a replay gives out: frames, and where epochs begin.
struct Replayed {
  struct Frame {
    var arrived: ArrivedFrame
    var bytes: [UInt8]
    var events: [Event]
  }

  var description: SourceDescription
  var frames: [Frame] = []
  /// What was said at the end.
  var notes: [String] = []
  var epochs: [(before: Int, format: FrameFormat, reason: EpochReason)] = []

  init(_ file: TestFile, _ settings: ReplaySettings = ReplaySettings()) throws {
    let source = ReplaySource(path: file.path, settings)
    description = try source.open()
    defer {
      source.close()
      notes = source.notes
    }
    var slot = SourceSlot(capacity: description.capacity)
    var format = description.format
    while true {
      switch try source.next(timeout: 1_000_000_000) {
      case .nothing: continue
      case .end: return
      case .epoch(let new, let reason):
        epochs.append((frames.count, new.format, reason))
        format = new.format
        slot = SourceSlot(capacity: new.capacity)
      case .frame(let arrived):
        if arrived.isOverrun {
          var events = EventQueue()
          source.takeEvents(into: &events)
          source.discard()
          frames.append(Frame(arrived: arrived, bytes: [], events: events.events))
        } else {
          slot.take(from: source, format)
          frames.append(Frame(arrived: arrived, bytes: slot.bytes, events: slot.events))
        }
      }
    }
  }
}
