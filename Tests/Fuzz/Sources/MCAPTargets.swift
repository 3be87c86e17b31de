internal import SprocketCore
internal import SprocketMCAP

@testable import SprocketSources

func feedMCAP(_ input: [UInt8]) {
  InputFile.shared.hold(input)
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

func feedReplay(_ input: [UInt8]) {
  InputFile.shared.hold(input)
  feed(ReplaySource(path: InputFile.shared.path))
  feed(ReplayAudioSource(path: InputFile.shared.path))
}

func feedJSON(_ input: [UInt8]) {
  let bytes = input.span
  _ = ReplayRecord.block(bytes)
  _ = ReplayRecord.microphone(bytes)
  var events = ReplayEvents()
  if let frame = ReplayRecord.frame(bytes, events: &events) {
    expect(
      Int(frame.events.upperBound) <= events.events.count, "a frame has events that are not there")
    expect(frame.bytes >= 0, "a frame has less than no bytes")
  }
  if let range = ReplayRecord.range(bytes, events: &events) {
    expect(
      Int(range.events.upperBound) <= events.events.count, "a range has events that are not there")
  }
  _ = ReplayRecord.lateNumber(bytes)
  _ = ReplayRecord.session(bytes)
  var scanner = JSONScanner()
  try? scanner.skip(bytes)
}
