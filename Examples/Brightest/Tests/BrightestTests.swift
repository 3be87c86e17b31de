import Brightest
import Sprocket
import Synchronization
import Testing

/// What the stage reports on frames of 64x32, each dark but for a square of 4x4 at one of the places.
private func reports(
  squares: [(x: Int, y: Int)?], workers: Int = 1, least: Int = 8
) throws -> [Brightest.Report] {
  let format = FrameFormat(
    pixelFormat: .grey, width: 64, height: 32, color: .jpeg, rate: FrameRate(frames: 10))
  let source = PushSource(format: format)
  let found = Mutex<[Brightest.Report]>([])
  let sink = ClosureSink { frame in
    if let report = frame.report(Brightest.Report.self) { found.withLock { $0.append(report) } }
  }
  let stage = StageChoice(Brightest.plugin, of: Brightest.self) { $0.least = least }
  let engine = try Engine(
    source: source, stages: [stage], sinks: [sink], options: RunOptions(workers: workers))
  try engine.start()
  for square in squares {
    var frame = [UInt8](repeating: 10, count: 64 * 32)
    if let square {
      for y in square.y..<square.y + 4 {
        for x in square.x..<square.x + 4 { frame[y * 64 + x] = 200 }
      }
    }
    guard source.push(frame.span) == .taken else { break }
  }
  source.finish()
  while !engine.wait(for: .seconds(1)) {}
  return found.withLock { $0 }
}

@Test(arguments: [1, 4]) func findsWhereItBecameBrighter(workers: Int) throws {
  let found = try reports(squares: [nil, (12, 8), (12, 8), nil, (60, 28)], workers: workers)
  #expect(found.map(\.rise) == [0, 190, 0, 0, 190])
  // The middle of the square, in fractions.
  #expect(found[1].x == 14.0 / 64 && found[1].y == 10.0 / 32)
  #expect(found[4].x == 62.0 / 64 && found[4].y == 30.0 / 32)
}

@Test func aSmallRiseIsNone() throws {
  let found = try reports(squares: [nil, (0, 0)], least: 191)
  #expect(found.map(\.rise) == [0, 0])
}
