import Sprocket

/// Sound with a mistake: of its source, or of the one who reads it.
func makeOfSound(_ mistake: Mistake) throws {
  if mistake == .emptyReclaim {
    return unsafe EmptySource().reclaim(
      UnsafeMutableRawPointer.allocate(byteCount: 8, alignment: 8))
  }
  let engine = try AudioEngine(ProbeSound(count: mistake == .audioBlock ? 9 : 8))
  let tap = try engine.makeTap(for: "probe")
  try engine.start()
  if mistake == .audioRead { tap.withBlock { _, _ in } }
  for _ in 0..<2 { _ = tap.next(timeout: 10_000_000_000) }
}

/// Blocks of a few samples; there is room for 8.
private final class ProbeSound: AudioSource {
  private let count: Int

  init(count: Int) { self.count = count }

  func open() throws(RunError) -> AudioDescription {
    AudioDescription(
      name: "probe", format: AudioFormat(number: .s16, rate: 8000, channels: 1), isLive: false,
      clock: .media, blockSamples: 8)
  }

  func read(into bytes: inout MutableSpan<UInt8>, timeout: Int64) throws(RunError) -> AudioArrival {
    .block(ArrivedSound(count: count, timing: .exact(0)))
  }

  func close() throws(RunError) {}
}
