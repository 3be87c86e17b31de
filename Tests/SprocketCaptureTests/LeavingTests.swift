import Foundation
import Sprocket
import TestExpectations
import Testing

@testable import SprocketCapture

/// Outputs that leave their run while others ask them for files.
@Suite("Outputs that leave") struct LeavingTests {
  @Test("a recording that begins while its output is removed has a file if the result says so")
  func beginningAtRemoval() async throws {
    let folder = try TestFolder()
    let (movies, sounds) = (MovieFileOutput(), AudioFileOutput())
    let session = try CaptureSession()
    try await session.configure { c throws(CaptureError) in
      c.add(try DeviceInput(Cameras.back()))
      c.add(try DeviceInput(CaptureDevice(sceneMicrophone: SceneMicrophoneSettings())))
      c.preset = .size(Cameras.small)
      c.frameRate = FrameRate(frames: 60)
    }
    try await session.start()
    let isOver = Shared(false)
    let recordings = Shared<[Recording]>([])
    await withTaskGroup { group in
      for task in 0..<2 {
        group.addTask {
          var number = 0
          while !isOver.value {
            number += 1
            let name = "\(task)-\(number)"
            let begun =
              task == 0
              ? try? movies.startRecording(to: folder.file("\(name).mov"))
              : try? sounds.startRecording(to: folder.file("\(name).wav"))
            if let begun { recordings.change { $0.append(begun) } }
            try? await Task.sleep(for: .microseconds(50))
          }
        }
      }
      for _ in 0..<15 {
        try? await session.configure { c in
          c.add(movies)
          c.add(sounds)
        }
        let before = recordings.value.count
        await expectTrue(until { recordings.value.count > before + 4 })
        try? await session.configure { c in
          c.remove(movies)
          c.remove(sounds)
        }
      }
      isOver.change { $0 = true }
    }
    // Without its output no recording goes on.
    for recording in recordings.value { _ = await recording.finished() }
    await session.stop()
    let files = Set(folder.names.map { folder.file($0) })
    let results = recordings.value.compactMap(\.result)
    expectEqual(results.count, recordings.value.count)
    for result in results { expectEqual(files.contains(result.path), result.isUsable, "\(result)") }
  }

  @Test("an output leaves its run when what is asked of it is known, and asks nothing afterwards")
  func leaving() async throws {
    let photos = PhotoOutput()
    let run = SessionRun(
      device: nil, choice: nil, interruptions: Broadcast(), runtimeErrors: Broadcast())
    photos.core.state.withLock { ($0.run, $0.sinks) = (run, ["still"]) }
    let (isAsking, mayEnd, hasLeft) = (Shared(false), Shared(false), Shared(false))
    let asking = Thread {
      try? photos.core.ask("it") { _ in
        isAsking.change { $0 = true }
        _ = waitUntil { mayEnd.value }
        expectFalse(hasLeft.value)
      }
    }
    asking.start()
    await expectTrue(until { isAsking.value })
    let leaving = Thread {
      expectEqual(photos.core.leaveRun(), ["still"])
      hasLeft.change { $0 = true }
    }
    leaving.start()
    // One that is not held up leaves meanwhile.
    for _ in 0..<100 where !hasLeft.value { try await Task.sleep(for: .milliseconds(1)) }
    mayEnd.change { $0 = true }
    await expectTrue(until { hasLeft.value })
    expectEqual(photos.core.leaveRun(), [])
    #expect(throws: CaptureError.self) { try photos.core.ask("it") { _ in } }
  }
}
