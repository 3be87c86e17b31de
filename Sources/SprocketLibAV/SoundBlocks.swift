/// One track's sound: what of it the file has, and the blocks into which PCM is cut.
///
/// Blocks are 1/50 s, and begin at multiples of that, to the nearest sample: those are whole milliseconds, so
/// that the times of an MKV, which has no finer ones, say exactly what they are.
struct SoundBlocks {
  private static let blocksPerSecond: UInt64 = 50

  let format: PCMFormat
  /// What makes packets of the samples; `nil` for PCM.
  let encoder: SoundEncoder?
  /// Samples of the last packet.
  var lastLength: Int64 = 0
  /// Of the samples that the library was handed.
  var table: SampleTable
  /// A chunk of silence in the file, where it has one.
  var zeros: (offset: UInt64, count: UInt32)?
  /// How many of the first samples the output took.
  var durable: UInt64 = 0
  /// The beginning of the next block.
  private var held: [UInt8] = []

  init(_ track: SoundTrack) {
    (format, encoder) = (track.format, track.encoder)
    table = SampleTable(
      ticksPerSecond: Int32(format.rate),
      sampleBytes: encoder == nil ? UInt32(format.sampleBytes) : 0)
    if encoder == nil {
      held.reserveCapacity((format.rate / Int(Self.blocksPerSecond) + 1) * format.sampleBytes)
    }
  }

  /// Samples that the library was handed.
  var samples: UInt64 { encoder?.encoded ?? table.count }

  /// Bytes until the next block is whole.
  var missingBytes: Int {
    let rate = UInt64(format.rate)
    var number = table.count * Self.blocksPerSecond / rate
    var end = table.count
    while end <= table.count {
      end = (number * rate + Self.blocksPerSecond / 2) / Self.blocksPerSecond
      number += 1
    }
    return Int(end - table.count) * format.sampleBytes - held.count
  }

  var holdsNothing: Bool { held.isEmpty }

  mutating func hold(_ bytes: Span<UInt8>) {
    unsafe bytes.withUnsafeBufferPointer { unsafe held.append(contentsOf: $0) }
  }

  /// Swaps what is held into `block`, which is empty; `giveBack` returns the memory. A value that is returned
  /// has a second reference for a while, and its memory would be allocated anew each time.
  mutating func takeHeld(_ block: inout [UInt8]) { swap(&block, &held) }

  mutating func giveBack(_ block: inout [UInt8]) {
    block.removeAll(keepingCapacity: true)
    swap(&block, &held)
  }

  /// The sample that is nearest to a tick of a clock.
  func sample(at tick: Int64, per second: Int32) -> Int64 {
    Int64((Double(tick) * Double(format.rate) / Double(second)).rounded())
  }

  /// When a sample was heard, in ticks of a clock, to the nearest.
  func tick(of sample: UInt64, per second: Int32) -> Int64 {
    let rate = UInt64(format.rate)
    return Int64((sample * UInt64(second) + rate / 2) / rate)
  }
}
