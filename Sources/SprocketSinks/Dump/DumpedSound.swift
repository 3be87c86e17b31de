internal import SprocketCore
internal import SprocketFiles
internal import SprocketMCAP
internal import SprocketRecords

/// The sound in a dump, which is `foxglove.RawAudio`, and how much of it is in the file.
struct DumpedSound: ~Copyable {
  /// Bytes that are planned for a chunk: a second of stereo. More is allowed.
  private static let plannedBytes = 1 << 18

  var blocks = MCAPChunk(capacity: plannedBytes)
  /// The fields behind the bytes, per microphone.
  private var fields: [[UInt8]] = []
  private var untold: [AudioDescription]?
  /// Samples in the chunk, and in the file.
  private var pendingSamples: [UInt64] = []
  private var durableSamples: [UInt64] = []

  init(_ sources: [AudioDescription] = []) {
    untold = sources.isEmpty ? nil : sources
    pendingSamples = sources.map { _ in 0 }
    durableSamples = pendingSamples
    fields = sources.map { source in
      var message = ProtobufMessage()
      message.add(3, source.format.number.foxgloveFormat)
      message.add(4, fixed: UInt32(source.format.rate))
      message.add(5, fixed: UInt32(source.format.channels))
      return message.bytes
    }
  }

  /// The sources of sound, once.
  mutating func takeUntold() -> [AudioDescription]? { untold.take() }

  /// Everything before the samples, of which there are `count` bytes.
  func appendStart(_ block: BlockRecord, count: Int, to text: inout TextBuffer) throws(RunError) {
    try text.append(protobufTime: block.time)
    try text.append(fields[block.microphone])
    try text.append(ProtobufMessage.tagByte(2, .bytes))
    try text.append(varint: UInt64(count))
  }

  mutating func count(_ block: BlockRecord) {
    pendingSamples[block.microphone] += UInt64(block.record.count)
  }

  /// The chunk is in the file.
  mutating func noteDurable() {
    for index in pendingSamples.indices {
      durableSamples[index] += pendingSamples[index]
      pendingSamples[index] = 0
    }
  }

  func durable(_ microphone: Int) -> UInt64 { durableSamples[microphone] }
}

extension AudioFormat.Number {
  /// As `foxglove.RawAudio` names 16 bits, and the others after it: `pcm-s24` has three bytes each.
  var foxgloveFormat: String { "pcm-\(rawValue)" }
}
