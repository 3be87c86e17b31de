import Sprocket
import SprocketEngine
import TestExpectations
import TestSupport
import Testing

@Suite struct PushAudioTests {
  private static let mono = AudioFormat(number: .s16, rate: 8000, channels: 1)

  private func samples(_ range: Range<Int>) -> [UInt8] {
    range.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)] }
  }

  /// Blocks of a tap: number of the first sample, when it was heard, and the samples.
  private func blocks(_ source: PushAudioSource) throws -> [(UInt64, Int64, [Int])] {
    let engine = try AudioEngine(source)
    let tap = try engine.makeTap(for: "tap")
    try engine.start()
    var blocks: [(UInt64, Int64, [Int])] = []
    reading: while true {
      switch tap.next(timeout: longestWaitNanoseconds) {
      case .nothing: Issue.record("no block")
      case .end: break reading
      case .block:
        tap.withBlock { record, bytes in
          let values = stride(from: 0, to: bytes.count, by: 2).map {
            Int(bytes[$0]) | Int(bytes[$0 + 1]) << 8
          }
          blocks.append((record.first, record.line.time(of: record.first), values))
        }
        tap.release()
        continue reading
      }
      break
    }
    expectTrue(engine.wait(for: longestWait))
    return blocks
  }

  @Test func whatWasPushedIsReadInOrder() throws {
    let source = PushAudioSource(format: Self.mono)
    for start in stride(from: 0, to: 8000, by: 500) {
      expectEqual(source.push(samples(start..<start + 500).span), .taken)
    }
    source.finish()
    expectEqual(source.push(samples(0..<1).span), .over)
    let found = try blocks(source)
    expectEqual(found.flatMap(\.2), Array(0..<8000))
    expectEqual(found.count, 10)
    expectEqual(found.map(\.1), (0..<10).map { $0 * 100_000_000 })
  }

  /// Up to 5 ms are rounding; a later time is a gap, an earlier one a new segment.
  @Test func timesMakeGapsAndSegments() throws {
    let source = PushAudioSource(format: Self.mono)
    let block = samples(0..<80).span
    // Each block is 10 ms.
    for milliseconds in [0, 12, 20, 130, 50, 50 + 3_600_011] as [Int64] {
      expectEqual(source.push(block, heard: milliseconds * 1_000_000), .taken)
    }
    source.finish()
    let found = try blocks(source)
    expectEqual(found.map(\.0), [0, 1040, 1120, 1200])
    expectEqual(found.map(\.1), [0, 130_000_000, 50_000_000, 3_600_061_000_000])
    expectEqual(found.map(\.2.count), [240, 80, 80, 80])
  }

  @Test func whatFindsNoRoomIsMissingWhereTheSoundIsLive() throws {
    let source = PushAudioSource(
      format: Self.mono, isLive: true, room: .milliseconds(100))
    let block = samples(0..<400).span
    expectEqual((0..<4).map { _ in source.push(block) }, [.taken, .taken, .full, .full])
    let engine = try AudioEngine(source)
    let tap = try engine.makeTap(for: "tap")
    try engine.start()
    expectEqual(source.push(block, waiting: longestWait), .taken)
    source.finish()
    expectTrue(engine.wait(for: longestWait))
    _ = tap
    expectEqual(engine.summary.missing, 800)
    expectEqual(engine.summary.ledger.produced, 2000)
  }

  /// With pictures, from one thread, in turn.
  @Test func aMovieHasPicturesAndSoundOfAProgram() throws {
    let scratch = try Scratch()
    let format = FrameFormat(
      pixelFormat: .grey, width: 32, height: 16, color: .jpeg, rate: FrameRate(frames: 25))
    let pictures = PushSource(format: format)
    let source = PushAudioSource(format: Self.mono)
    let sound = try AudioEngine(source)
    let path = scratch.path("pushed.mov")
    let movie = MovieSink(path: path, sound: [try sound.makeTap(for: "movie")])
    let engine = try Engine(source: pictures, sinks: [movie], audio: [sound])
    try engine.start()
    let (picture, piece) = ([UInt8](repeating: 7, count: 512), samples(0..<320))
    for _ in 0..<250 {
      expectEqual(pictures.push(picture.span, waiting: longestWait), .taken)
      expectEqual(source.push(piece.span, waiting: longestWait), .taken)
    }
    pictures.finish()
    source.finish()
    expectTrue(engine.wait(for: longestWait))
    expectEmpty(engine.summary.errors)
    expectTrue(engine.summary.ledger.isBalanced)
    let probe = FileAudioSource(path: path)
    let description = try probe.open()
    expectEqual(description.format.rate, 8000)
    expectEqual(description.format.channels, 1)
    var bytes = [UInt8](repeating: 0, count: description.blockSamples * 2)
    var count = 0
    while true {
      var room = bytes.mutableSpan
      guard case .block(let block) = try probe.read(into: &room, timeout: 0) else { break }
      count += block.count
    }
    probe.close()
    expectEqual(count, 80_000)
  }
}
