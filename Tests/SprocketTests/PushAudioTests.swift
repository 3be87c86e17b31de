import Sprocket
import SprocketEngine
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
      switch tap.next(timeout: 20_000_000_000) {
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
    #expect(engine.wait(for: .seconds(20)))
    return blocks
  }

  @Test func whatWasPushedIsReadInOrder() throws {
    let source = PushAudioSource(format: Self.mono)
    for start in stride(from: 0, to: 8000, by: 500) {
      #expect(source.push(samples(start..<start + 500).span) == .taken)
    }
    source.finish()
    #expect(source.push(samples(0..<1).span) == .over)
    let found = try blocks(source)
    #expect(found.flatMap(\.2) == Array(0..<8000) && found.count == 10)
    #expect(found.map(\.1) == (0..<10).map { $0 * 100_000_000 })
  }

  /// Up to 5 ms are rounding; a later time is a gap, an earlier one a new segment.
  @Test func timesMakeGapsAndSegments() throws {
    let source = PushAudioSource(format: Self.mono)
    let block = samples(0..<80).span
    // Each block is 10 ms.
    for milliseconds in [0, 12, 20, 130, 50, 50 + 3_600_011] as [Int64] {
      #expect(source.push(block, heard: milliseconds * 1_000_000) == .taken)
    }
    source.finish()
    let found = try blocks(source)
    #expect(found.map(\.0) == [0, 1040, 1120, 1200])
    #expect(found.map(\.1) == [0, 130_000_000, 50_000_000, 3_600_061_000_000])
    #expect(found.map(\.2.count) == [240, 80, 80, 80])
  }

  @Test func whatFindsNoRoomIsMissingWhereTheSoundIsLive() throws {
    let source = PushAudioSource(
      format: Self.mono, isLive: true, room: .milliseconds(100))
    let block = samples(0..<400).span
    #expect((0..<4).map { _ in source.push(block) } == [.taken, .taken, .full, .full])
    let engine = try AudioEngine(source)
    let tap = try engine.makeTap(for: "tap")
    try engine.start()
    #expect(source.push(block, waiting: .seconds(20)) == .taken)
    source.finish()
    #expect(engine.wait(for: .seconds(20)))
    _ = tap
    #expect(engine.summary.missing == 800 && engine.summary.ledger.produced == 2000)
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
      #expect(pictures.push(picture.span, waiting: .seconds(20)) == .taken)
      #expect(source.push(piece.span, waiting: .seconds(20)) == .taken)
    }
    pictures.finish()
    source.finish()
    #expect(engine.wait(for: .seconds(60)))
    #expect(engine.summary.errors.isEmpty && engine.summary.ledger.isBalanced)
    let probe = FileAudioSource(path: path)
    let description = try probe.open()
    #expect(description.format.rate == 8000 && description.format.channels == 1)
    var bytes = [UInt8](repeating: 0, count: description.blockSamples * 2)
    var count = 0
    while true {
      var room = bytes.mutableSpan
      guard case .block(let block) = try probe.read(into: &room, timeout: 0) else { break }
      count += block.count
    }
    probe.close()
    #expect(count == 80_000)
  }
}
