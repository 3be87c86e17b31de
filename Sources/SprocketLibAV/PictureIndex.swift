internal import CSprocketLibAV

/// The pictures of a film by number, in the order in which they are shown: for each the packet that has it,
/// and its time.
///
/// The order is that of the packets' times. Where these do not tell it (a file without presentation times,
/// pictures that refer to later ones and have times that only grow, fields in packets of their own), all
/// pictures are decoded once. ``MediaReader/makeIndex(asPackets:)`` makes an index.
public struct PictureIndex: Sendable {
  /// One packet of the file.
  struct Packet: Sendable {
    /// Position in bytes; -1 if the file does not say.
    let position: Int64
    /// Size in bytes.
    let size: Int32
    /// Times as the file has them, in ticks of the stream.
    let pts: Int64
    let dts: Int64
    /// Time at which its picture is shown, on the file's clock; `nil` if the file gives no time.
    let time: Int64?
    /// Decoding may begin here.
    var isKey: Bool
    /// It has a picture that is shown: an edit list may hide some.
    var isShown: Bool

    init(_ packet: UnsafeMutablePointer<AVPacket>, pts: Int64, dts: Int64, time: Int64?) {
      let found = unsafe packet.pointee
      (position, size) = unsafe (found.pos, found.size)
      (self.pts, self.dts, self.time) = (pts, dts, time)
      isKey = unsafe found.flags & AV_PKT_FLAG_KEY != 0
      isShown = unsafe found.flags & AV_PKT_FLAG_DISCARD == 0
    }

    /// Whether no other packet of the stream looks the same.
    var isKnownByItself: Bool {
      position >= 0 && (pts != SPROCKET_AV_NOPTS_VALUE || dts != SPROCKET_AV_NOPTS_VALUE)
    }

    func isSame(as other: Packet) -> Bool {
      (position, size, pts, dts) == (other.position, other.size, other.pts, other.dts)
    }
  }

  let packets: [Packet]
  /// Places of the packets, by number; -1 for a picture that cannot be decoded.
  private let places: [Int32]
  /// Numbers of the pictures, by the packet's place; -1 if none is shown.
  private let numbers: [Int32]
  /// Places of the packets from which decoding may begin.
  private let keys: [Int32]
  /// Times by number, in nanoseconds on the file's clock: what ``LentMedia/timeNanoseconds`` is when the file
  /// is read from its start.
  public let times: [Int64]
  /// All pictures were decoded to find their order.
  public let isDecoded: Bool
  /// Pictures are known by their count from the start of the file alone.
  let isCounted: Bool

  init(
    _ packets: [Packet], places: [Int32], times: [Int64], isDecoded: Bool, isCounted: Bool = false
  ) {
    var numbers = [Int32](repeating: -1, count: packets.count)
    for (number, place) in places.enumerated() where place >= 0 {
      numbers[Int(place)] = Int32(number)
    }
    self.packets = packets
    (self.places, self.numbers, self.times) = (places, numbers, times)
    keys = isCounted ? [] : packets.indices.filter { packets[$0].isKey }.map(Int32.init)
    (self.isDecoded, self.isCounted) = (isDecoded, isCounted)
  }

  /// Whether both give each number the same picture, as far as it can be decoded.
  public func hasOrder(of other: PictureIndex) -> Bool {
    count == other.count
      && zip(places, other.places).allSatisfy { $0 == $1 || $0 < 0 || $1 < 0 }
  }

  /// Number of pictures.
  public var count: Int { places.count }

  /// The packet of a picture; `nil` if it cannot be decoded.
  func place(of number: Int) -> Int? { places[number] < 0 ? nil : Int(places[number]) }

  /// The number of a packet's picture; `nil` if there is none, or none that is known.
  func number(at place: Int) -> Int? {
    guard numbers.indices.contains(place), numbers[place] >= 0 else { return nil }
    return Int(numbers[place])
  }

  /// Returns the packet at which decoding of a picture begins: the last key packet before it that is not
  /// shown later. A picture that is shown before its key refers to earlier pictures.
  func key(for number: Int, at place: Int) -> Int {
    var index = firstKey(after: place)
    while index > 0 {
      index -= 1
      if numbers[Int(keys[index])] <= number { return Int(keys[index]) }
    }
    return 0
  }

  /// The key that lies `count` keys before another.
  func key(_ count: Int, before place: Int) -> Int {
    let index = firstKey(after: place - 1) - count
    return index >= 0 ? Int(keys[index]) : 0
  }

  /// The first of `keys` behind a place.
  private func firstKey(after place: Int) -> Int {
    var (low, high) = (0, keys.count)
    while low < high {
      let middle = (low + high) / 2
      if Int(keys[middle]) <= place { low = middle + 1 } else { high = middle }
    }
    return low
  }
}

extension PictureIndex {
  /// The order by presentation times, if these tell it.
  init?(_ packets: [Packet], _ stream: UnsafeMutablePointer<AVStream>, clock: MediaClock) {
    let parameters = unsafe stream.pointee.codecpar.pointee
    let codec = unsafe parameters.codec_id
    let shown = packets.indices.filter { packets[$0].isShown }
    guard
      shown.allSatisfy({ packets[$0].pts != SPROCKET_AV_NOPTS_VALUE && packets[$0].time != nil })
    else { return nil }
    let sorted = shown.sorted { packets[$0].pts < packets[$1].pts }
    let isDistinct = zip(sorted, sorted.dropFirst()).allSatisfy {
      packets[$0].pts < packets[$1].pts && packets[$0].time! < packets[$1].time!
    }
    // A clock that begins anew.
    let decoded = packets.map(\.dts).filter { $0 != SPROCKET_AV_NOPTS_VALUE }
    let isForward = zip(decoded, decoded.dropFirst()).allSatisfy { $0 <= $1 }
    // Pictures that refer to later ones, and times that only grow: these are times of decoding.
    let isDecodeTime = unsafe sorted == shown && parameters.video_delay > 0
    // Decoders leave out pictures before the first key, as in a film that was cut out of another one.
    let isWhole = packets.first?.isKey == true && sorted.first == shown.first
    // VP8 has packets without a picture, and MPEG-4 some with two.
    let isPlain = codec != AV_CODEC_ID_VP8 && codec != AV_CODEC_ID_MPEG4
    guard isDistinct, isForward, !isDecodeTime, isWhole, isPlain, unsafe !hasFields(parameters)
    else { return nil }
    var clock = clock
    self.init(
      packets, places: sorted.map(Int32.init),
      times: sorted.map { clock.time(given: packets[$0].time).nanoseconds }, isDecoded: false)
  }
}

/// Whether fields may have packets of their own.
func hasFields(_ parameters: AVCodecParameters) -> Bool {
  unsafe parameters.field_order != AV_FIELD_PROGRESSIVE
    && parameters.field_order != AV_FIELD_UNKNOWN
    && [AV_CODEC_ID_H264, AV_CODEC_ID_HEVC].contains(parameters.codec_id)
}
