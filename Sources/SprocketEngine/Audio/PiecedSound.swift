internal import SprocketCore

/// A source whose blocks are larger than an engine's memory for one: hands each on in pieces.
final class PiecedSound: AudioSource {
  private let source: any AudioSource
  private let format: AudioFormat
  /// Most samples of a piece.
  private let most: Int
  private var bytes: [UInt8]
  /// What is left of the latest block.
  private var rest = ArrivedSound(count: 0, timing: .unknown)
  private var passed = 0

  /// `source` is open.
  init(_ source: any AudioSource, _ description: AudioDescription, most: Int) {
    (self.source, format, self.most) = (source, description.format, most)
    bytes = [UInt8](repeating: 0, count: description.blockSamples * format.sampleBytes)
  }

  func open() throws(RunError) -> AudioDescription {
    throw RunError(.usage, "this source of sound is open; read it")
  }

  func read(
    into target: inout MutableSpan<UInt8>, timeout: Int64
  ) throws(RunError) -> AudioArrival {
    if rest.count == 0 {
      var all: [UInt8] = []
      swap(&all, &bytes)
      defer { swap(&all, &bytes) }
      var span = all.mutableSpan
      let arrival = try source.read(into: &span, timeout: timeout)
      guard case .block(let block) = arrival else { return arrival }
      (rest, passed) = (block, 0)
    }
    var piece = rest
    piece.count = min(rest.count, most)
    let size = format.sampleBytes
    for index in 0..<piece.count * size { target[index] = bytes[passed * size + index] }
    passed += piece.count
    rest.count -= piece.count
    (rest.missing, rest.isRestarted) = (0, false)
    switch rest.timing {
    case .exact(let time):
      rest.timing = .exact(time.clampedSum(format.nanoseconds(piece.count)))
    case .status(let ahead, let time): rest.timing = .status(ahead: ahead - piece.count, time: time)
    case .unknown: break
    }
    return .block(piece)
  }

  func interrupt() { source.interrupt() }
  func close() throws(RunError) { try source.close() }
  var notes: [String] { source.notes }
}
