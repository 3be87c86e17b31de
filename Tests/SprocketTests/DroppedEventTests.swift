import Sprocket
import Testing

@Suite struct DroppedEventTests {
  @Test func eventsThatAFrameCannotCarryAreInTheSummary() throws {
    var settings = SceneSettings()
    settings.width = 64
    settings.height = 48
    settings.pace = .fast
    let engine = try Engine(
      source: try SceneSource(settings), stages: [], sinks: [NullSink()],
      options: RunOptions(workers: 1, wait: .park, frameLimit: 10)
    ) { FrameUnpacker() }
    let port = try #require(engine.description.controls)
    let gain = try #require(port.control("gain"))
    // All take effect at the first frame, which carries 16 events.
    for _ in 0..<20 { _ = port.write(gain, 2) }
    engine.start()
    #expect(engine.wait(for: .seconds(60)))
    #expect(engine.summary.droppedEvents == 4)
  }
}
