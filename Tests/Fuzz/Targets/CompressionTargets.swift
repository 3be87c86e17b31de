internal import SprocketLZ4
internal import SprocketZstd

/// What is decompressed at most: less than some inputs hold.
private let room = 1 << 16

func feedLZ4(_ input: [UInt8]) {
  _ = unframed(input)
  guard !input.isEmpty else { return }
  expect(unframed(framed(input)) == input, "what was compressed is not what comes back")
}

private func unframed(_ frame: [UInt8]) -> [UInt8]? {
  var decoder = LZ4FrameDecoder()
  var output = [UInt8](repeating: 0, count: room)
  var span = output.mutableSpan
  guard let count = try? decoder.decode(frame.span, into: &span) else { return nil }
  return Array(output.prefix(count))
}

/// In blocks of odd sizes.
private func framed(_ content: [UInt8]) -> [UInt8] {
  var compressor = LZ4BlockCompressor()
  var header = LZ4FrameHeader()
  let piece = 1 + Int(content[0]) * 16
  let blocks = (content.count + piece - 1) / piece
  var frame = [UInt8](
    repeating: 0xEE,
    count: LZ4FrameHeader.size + content.count + (blocks + 1) * LZ4BlockCompressor.headerSize)
  var end = LZ4FrameHeader.size
  var output = frame.mutableSpan
  header.write(contentSize: content.count, into: &output)
  for start in stride(from: 0, to: content.count, by: piece) {
    let part = content.span.extracting(start..<min(start + piece, content.count))
    end = compressor.compress(part, into: &output, at: end)
  }
  for index in 0..<4 { output[end + index] = 0 }
  return Array(frame.prefix(end + 4))
}

func feedZstd(_ input: [UInt8]) {
  var decoder = ZstdDecoder()
  var output = [UInt8](repeating: 0, count: room)
  var span = output.mutableSpan
  guard let count = decoder.decode(input.span, into: &span) else { return }
  expect(count <= room, "more was decompressed than there is room for")
}
