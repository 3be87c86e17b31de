import SprocketCore
import TestExpectations
import Testing

@testable import SprocketScene

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
      var error: RunError?
      do throws(RunError) { try settings.check() } catch let thrown { error = thrown }
      expectEqual((error == nil), isPossible)
      expectTrue(error == nil || error?.description.contains("or less") == true)
    }
  }

  @Test func noLessMemoryIsPlannedThanThePictureTakes() {
    for (width, height) in [(64, 48), (320, 240), (641, 483)] {
      let texture = SceneTexture(frameWidth: width, frameHeight: height, seed: 1)
      let canvas = texture.width * texture.height * MemoryLayout<SIMD4<UInt8>>.size
      let planes = texture.levels.reduce(0) { $0 + $1.luma.count + $1.u.count + $1.v.count }
      // The blur keeps light of 32 bits for a time.
      let light = texture.width * texture.height * MemoryLayout<Float>.size
      let planned = SceneTexture.drawingBytes(frameWidth: width, frameHeight: height)
      expectAtLeast(planned, canvas + light + planes)
      expectAtMost(planned, 2 * (canvas + light + planes))
    }
  }

  @Test func refusesWhatBeginsAfterTheCachedFrames() {
    // At 30 frames per second the last of 10 is at 0.3 s, and of 16 at 0.5 s.
    let changes: [(String, (inout SceneSettings) -> Void)] = [
      ("lightat", { ($0.lightStep, $0.lightAt) = (-4, 0.5) }),
      ("focusat", { ($0.focusStep, $0.focusAt) = (0.2, 0.5) }),
      ("panstart", { $0.panStart = 0.5 }),
    ]
    for (name, change) in changes {
      for (cached, isPossible) in [(0, true), (1, false), (10, false), (15, false), (16, true)] {
        var settings = SceneSettings()
        settings.cached = cached
        change(&settings)
        var error: RunError?
        do throws(RunError) { try settings.check() } catch let thrown { error = thrown }
        expectEqual((error == nil), isPossible, "\(name) \(cached)")
        expectTrue(error == nil || error?.description.contains("\(name)=0.5") == true)
      }
    }
    var unused = SceneSettings()
    (unused.cached, unused.lightAt, unused.panX) = (10, 5, 0)
    #expect(throws: Never.self) { try unused.check() }
  }
}
