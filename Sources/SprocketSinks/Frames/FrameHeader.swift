internal import SprocketCodecs
internal import SprocketCore

/// What precedes a frame in a pipe (`--pipe-header`) and in shared memory (`--share`): 384 bytes, little
/// endian, as docs/share.md has them.
struct FrameHeader {
  static let byteCount = FrameWire.byteCount
  typealias Flag = FrameWire.Flag

  var flags: UInt32 = 0
  /// Bytes that follow: the tensor.
  var payloadBytes = 0
  var record = FrameRecord()
  /// When it was handed on, nanoseconds on the monotonic clock.
  var handedOn: Int64 = 0
  var layout: FrameLayoutCode?
  /// What became of the frames between this and the one before in the stream, by `Fate`.
  var between = InlineArray<12, UInt32>(repeating: 0)
  var sensorMap = SensorMap()
  var pictureFromTensor = Projection.identity
  /// A bit for each report that the frame has, in the order of the layout.
  var reported: UInt64 = 0

  /// Counts a frame that is not in the stream.
  mutating func note(_ fate: Fate) { between[Int(fate.rawValue)] &+= 1 }

  /// Begins to count anew.
  mutating func forget() { between = InlineArray(repeating: 0) }

  func encode(into bytes: inout [UInt8]) {
    var bytes = bytes.mutableSpan
    encode(into: &bytes)
  }

  /// Fills the first 384 of `bytes`.
  func encode(into bytes: inout MutableSpan<UInt8>) {
    for index in 0..<Self.byteCount { bytes[index] = 0 }
    bytes.put(FrameWire.magic, at: 0)
    bytes.put(UInt32(Self.byteCount), at: 8)
    bytes.put(flags | (record.isDiscontinuity ? Flag.discontinuity : 0), at: FrameWire.At.flags)
    bytes.put(UInt64(payloadBytes), at: FrameWire.At.payloadBytes)
    bytes.put(record.number, at: FrameWire.At.number)
    bytes.put(record.sequence, at: 32)
    bytes.put(record.epoch, at: 40)
    bytes[FrameWire.At.clock] = record.captured.clock.rawValue
    bytes[45] = record.capturePoint.rawValue
    bytes.put(record.captured.nanoseconds, at: FrameWire.At.captured)
    bytes.put(record.dequeued, at: 56)
    bytes.put(record.processed, at: 64)
    bytes.put(handedOn, at: 72)
    if let layout {
      (bytes[FrameWire.At.element], bytes[FrameWire.At.channels]) = (
        layout.element, layout.channels
      )
      for axis in 0..<4 { bytes.put(layout.shape[axis], at: FrameWire.At.axes + 4 * axis) }
    }
    for fate in 0..<12 { bytes.put(between[fate], at: 96 + 4 * fate) }
    bytes.put(record.inForce.exposureMicroseconds.bitPattern, at: 144)
    bytes.put(record.inForce.gain.bitPattern, at: 148)
    bytes.put(record.inForce.lensPosition.bitPattern, at: 152)
    for index in 0..<9 {
      bytes.put(sensorMap.undistortedFromPicture.values[index].bitPattern, at: 160 + 8 * index)
      bytes.put(sensorMap.sensorFromDistorted.values[index].bitPattern, at: 232 + 8 * index)
    }
    for (index, place) in [0, 4, 2, 5].enumerated() {
      bytes.put(pictureFromTensor.values[place].bitPattern, at: 304 + 8 * index)
    }
    bytes.put(reported, at: 336)
  }
}

/// Shape and kind of the numbers, as headers have them.
struct FrameLayoutCode {
  /// 0 bytes, 1 half precision, 2 single precision, 3 bfloat16, 4 words.
  let element: UInt8
  /// 0 RGB, 1 BGR, 2 gray, 3 RGB and alpha.
  let channels: UInt8
  /// The four axes, in the order in which they lie.
  let shape: InlineArray<4, UInt32>

  init(_ plan: TensorPlan) {
    let settings = plan.settings
    element =
      switch settings.usedElement {
      case .u8: 0
      case .f16: 1
      case .f32: 2
      case .bf16: 3
      case .u16: 4
      }
    channels =
      switch settings.usedChannels {
      case .rgb: 0
      case .bgr: 1
      case .gray: 2
      case .rgba: 3
      }
    let (regions, channelCount) = (UInt32(plan.regionCount), UInt32(plan.channelCount))
    let (height, width) = (UInt32(plan.height), UInt32(plan.width))
    shape =
      settings.usedOrder == .nchw
      ? [regions, channelCount, height, width] : [regions, height, width, channelCount]
  }
}

extension MutableSpan where Element == UInt8 {
  /// Stores a number, little endian.
  mutating func put<Number: FixedWidthInteger>(_ number: Number, at offset: Int) {
    var rest = number
    for index in 0..<MemoryLayout<Number>.size {
      self[offset + index] = UInt8(truncatingIfNeeded: rest)
      rest >>= 8
    }
  }
}
