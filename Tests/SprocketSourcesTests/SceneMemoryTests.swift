import SprocketCore
import Testing

@testable import SprocketSources

@Suite struct SceneMemoryTests {
  @Test func drawsAheadNoMoreThanFitsInMemory() throws {
    let limit = 2_000_000_000
    // 8192x8192 grey pixels are 67,108,864 bytes.
    for (cached, changes, isPossible) in [
      (limit / 67_108_864, 0.0, true), (limit / 67_108_864 + 1, 0.0, false),
      (limit / (67_108_864 + 37_748_736), 0.1, true), (limit / 67_108_864, 0.1, false),
    ] {
      let settings = scene {
        $0.width = 8192
        $0.height = 8192
        $0.format = .grey
        $0.cached = cached
        $0.faults.formatChange = changes
      }
      var error: SourceError?
      do throws(SourceError) { try settings.check() } catch let thrown { error = thrown }
      #expect((error == nil) == isPossible)
      #expect(error == nil || error?.description.contains("or less") == true)
    }
  }
}
