internal import SprocketCore
internal import SprocketMCAP
internal import SprocketRecords

@testable import SprocketSources

func feedMCAP(_ input: [UInt8]) {
  InputFile.shared.hold(input)
  feedRecords()
  guard var reader = try? MCAPReader.open(InputFile.shared.path) else { return }
  expect(reader.wholeSize <= reader.size, "more of the file is whole than there is")
  let channels = Set(reader.channels.keys)
  var places: [MCAPMessagePlace] = []
  var index = 0
  // Damage cuts chunks off.
  while index < reader.chunks.count {
    guard (try? reader.loadOrCut(index)) == true else { break }
    reader.forEachMessage(on: channels) { _, _ in }
    try? reader.places(of: channels, in: index, to: &places)
    index += 1
  }
  var sum = 0
  for place in places.prefix(1000) where Int(place.chunk) < reader.chunks.count {
    guard (try? reader.load(Int(place.chunk))) != nil else { continue }
    _ = reader.withMessage(at: place) { _, data in
      for index in data.indices { sum &+= Int(data[index]) }
    }
  }
}

/// What reads record by record, and by the summary.
private func feedRecords() {
  let path = InputFile.shared.path
  if let contents = try? MCAPContents.read(path, verify: true) {
    expect(contents.wholeSize <= contents.size, "more of the file is whole than there is")
  }
  guard var reader = try? MCAPRecordReader.open(path) else { return }
  while let record = try? reader.next() {
    expect(reader.position <= reader.size, "a record reaches beyond the file")
    // What was read is written, and read again.
    if case .attachment = record { _ = record.bytes }
    if case .channel = record { _ = record.bytes }
  }
  // Indexes may name any place.
  guard let summary = (try? reader.summary()) ?? nil else { return }
  for record in summary.prefix(100) {
    switch record {
    case .chunkIndex(let index):
      _ = try? reader.records(inChunkAt: index.offset)
      for offset in index.messageIndexOffsets.values.prefix(10) {
        _ = try? reader.record(at: offset)
      }
    case .attachmentIndex(let index): _ = try? reader.record(at: index.offset)
    case .metadataIndex(let index): _ = try? reader.record(at: index.offset)
    default: break
    }
  }
}

func feedReplay(_ input: [UInt8]) {
  InputFile.shared.hold(input)
  feed(ReplaySource(path: InputFile.shared.path))
  feed(ReplayAudioSource(path: InputFile.shared.path))
}

func feedJSON(_ input: [UInt8]) {
  let bytes = input.span
  _ = BlockRecord.read(bytes)
  _ = MicrophoneRecord.read(bytes)
  var events = ReplayEvents()
  if let frame = SourceRecord.read(bytes, events: &events) {
    expect(
      Int(frame.events.upperBound) <= events.events.count, "a frame has events that are not there")
    expect(frame.bytes >= 0, "a frame has less than no bytes")
  }
  if let range = RangeRecord.read(bytes, events: &events) {
    expect(
      Int(range.events.upperBound) <= events.events.count, "a range has events that are not there")
  }
  _ = FateRecord.lateNumber(bytes)
  _ = SessionRecord.read(bytes)
  var scanner = JSONScanner()
  try? scanner.skip(bytes)
}
