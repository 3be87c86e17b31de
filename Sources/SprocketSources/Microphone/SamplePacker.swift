internal import SprocketALSA
internal import SprocketCore

/// Reads samples as they are recorded: the channels that were chosen, and of 24 bits in four bytes the three
/// that hold them. Where nothing of that is needed they are read to their place.
struct SamplePacker {
  private let wordBytes: Int
  private let keptBytes: Int
  private let channels: Int
  private let picked: [Int]
  /// What the device gives; empty where it needs no packing.
  private var raw: [UInt8]

  init(_ mode: MicrophoneMode, blockSamples: Int) {
    wordBytes = mode.format.bytes
    keptBytes = AudioFormat.Number(mode.format).bytes
    channels = mode.channels
    picked = mode.picked
    let isNeeded = wordBytes != keptBytes || picked != Array(0..<channels)
    raw = [UInt8](repeating: 0, count: isNeeded ? blockSamples * channels * wordBytes : 0)
  }

  /// Reads at most `count` samples, for which there is room; returns how many.
  mutating func read(
    _ count: Int, from device: inout ALSACapture, into bytes: inout MutableSpan<UInt8>
  ) throws(ALSAError) -> Int {
    guard !raw.isEmpty else { return try device.read(count, into: &bytes) }
    var words = raw.mutableSpan
    let found = try device.read(count, into: &words)
    pack(found, raw.span, into: &bytes)
    return found
  }

  /// Packs `count` samples of `words`.
  func pack(_ count: Int, _ words: Span<UInt8>, into bytes: inout MutableSpan<UInt8>) {
    var place = 0
    for sample in 0..<count {
      let start = sample &* channels
      for channel in picked {
        let word = (start &+ channel) &* wordBytes
        for byte in 0..<keptBytes { bytes[place &+ byte] = words[word &+ byte] }
        place &+= keptBytes
      }
    }
  }
}
