internal import CSprocketLibAV

/// Whether decoding may begin at a packet that its file calls a key.
///
/// H.264 with intra refresh marks pictures from which a decoder recovers only many pictures later. These
/// have slices that refer to other pictures: types as in ITU-T H.264, tables 7-1 and 7-6.
func isWholeKey(_ packet: UnsafeMutablePointer<AVPacket>, of stream: UnsafeMutablePointer<AVStream>)
  -> Bool
{
  let parameters = unsafe stream.pointee.codecpar.pointee
  guard unsafe parameters.codec_id == AV_CODEC_ID_H264, let data = unsafe packet.pointee.data else {
    return true
  }
  let bytes = unsafe Span(
    _unsafeStart: UnsafePointer(data), count: Int(packet.pointee.size))
  let lengthBytes = unsafe bytesOfLength(parameters)
  var at = 0
  while let unit = nextUnit(in: bytes, from: &at, lengthBytes: lengthBytes) {
    switch bytes[unit] & 31 {
    case 5: return true
    case 1, 2: return sliceType(in: bytes, at: unit + 1).map { $0 % 5 == 2 || $0 % 5 == 4 } ?? true
    default: continue
    }
  }
  return true
}

/// Whether all pictures behind a packet in its file are shown after its picture, and need nothing before it:
/// a refresh of H.264 (ITU-T H.264, table 7-1), or one of H.265 without leading pictures (ITU-T H.265, table
/// 7-1). False for other codecs.
func beginsAnew(_ packet: UnsafeMutablePointer<AVPacket>, of stream: UnsafeMutablePointer<AVStream>)
  -> Bool
{
  guard let (kind, isH264) = unsafe firstSlice(packet, of: stream) else { return false }
  return kind == (isH264 ? 5 : 20)
}

/// The type of a packet's first unit that is a slice of a picture; `nil` if it has none, and for codecs other
/// than H.264 and H.265.
private func firstSlice(
  _ packet: UnsafeMutablePointer<AVPacket>, of stream: UnsafeMutablePointer<AVStream>
) -> (kind: UInt8, isH264: Bool)? {
  let parameters = unsafe stream.pointee.codecpar.pointee
  guard let data = unsafe packet.pointee.data else { return nil }
  let bytes = unsafe Span(
    _unsafeStart: UnsafePointer(data), count: Int(packet.pointee.size))
  let lengthBytes = unsafe bytesOfLength(parameters)
  let isH264 = unsafe parameters.codec_id == AV_CODEC_ID_H264
  guard unsafe isH264 || parameters.codec_id == AV_CODEC_ID_HEVC else { return nil }
  var at = 0
  while let unit = nextUnit(in: bytes, from: &at, lengthBytes: lengthBytes) {
    let kind = isH264 ? bytes[unit] & 31 : bytes[unit] >> 1 & 63
    if isH264 ? 1...5 ~= kind : kind < 32 { return (kind, isH264) }
  }
  return nil
}

/// Whether a packet can follow those of another film: a key of H.264 or H.265 at which decoders begin anew.
/// True for other codecs, whose keys all are.
func restartsDecoders(
  _ packet: UnsafeMutablePointer<AVPacket>, of stream: UnsafeMutablePointer<AVStream>
) -> Bool {
  guard let (kind, isH264) = unsafe firstSlice(packet, of: stream) else { return true }
  return isH264 ? kind == 5 : kind == 19 || kind == 20
}

/// Bytes of the length before each unit, as the configuration record of the codec has it (ISO/IEC 14496-15);
/// 0 where units have start codes.
private func bytesOfLength(_ parameters: AVCodecParameters) -> Int {
  let at = unsafe parameters.codec_id == AV_CODEC_ID_HEVC ? 21 : 4
  guard let extra = unsafe parameters.extradata, unsafe Int(parameters.extradata_size) > at,
    unsafe extra[0] == 1
  else { return 0 }
  return unsafe Int(extra[at] & 3) + 1
}

/// Returns where the next unit of H.264 or H.265 begins: behind its length, or behind a start code
/// (`lengthBytes` 0).
func nextUnit(in bytes: Span<UInt8>, from at: inout Int, lengthBytes: Int) -> Int? {
  guard lengthBytes > 0 else {
    while at + 3 < bytes.count {
      at += 1
      if bytes[at - 1] == 0, bytes[at] == 0, bytes[at + 1] == 1 {
        at += 2
        return at < bytes.count ? at : nil
      }
    }
    return nil
  }
  let start = at + lengthBytes
  guard start < bytes.count else { return nil }
  var length = 0
  for index in at..<start { length = length << 8 | Int(bytes[index]) }
  at = start + length
  return start
}

/// The second Exp-Golomb number of a slice's header.
func sliceType(in bytes: Span<UInt8>, at start: Int) -> Int? {
  var bit = start * 8
  func next() -> Int? {
    guard bit < bytes.count * 8 else { return nil }
    defer { bit += 1 }
    return Int(bytes[bit >> 3] >> UInt8(7 - bit & 7) & 1)
  }
  func number() -> Int? {
    var zeros = 0
    while let found = next(), found == 0 { zeros += 1 }
    guard zeros < 32 else { return nil }
    var value = 1
    for _ in 0..<zeros {
      guard let found = next() else { return nil }
      value = value << 1 | found
    }
    return value - 1
  }
  return number().flatMap { _ in number() }
}
