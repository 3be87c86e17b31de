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

  @Test("an output stays until its files are complete, however often it came and went meanwhile")
  func completing() throws {
    let mayEnd = Shared(false)
    let output = HeldOutput()
    let recorder = HeldRecorder(output.core.name) { _ = waitUntil { mayEnd.value } }
    let engine = try Engine(source: SceneSource(SceneSettings()), sinks: [recorder])
    let run = SessionRun(
      device: nil, choice: nil, interruptions: Broadcast(), runtimeErrors: Broadcast())
    run.begin(engine) { _ in }
    run.attach(output, [recorder])
    try engine.start()
    let id = try engine.ask([.record(sink: recorder.name, frames: 2)])[0]
    expectTrue(waitUntil { !engine.isUnderWay(id) })
    run.detach(output)
    // In a run without a camera it has no sinks.
    run.attach(output, [])
    run.detach(output)
    run.deliverNews()
    expectEqual(output.told.value, [])
    mayEnd.change { $0 = true }
    expectTrue(
      waitUntil {
        run.deliverNews()
        return output.told.value.count == 2
      })
    expectEqual(output.told.value, ["ended", "left"])
    engine.stop()
    expectTrue(engine.wait(for: .seconds(10)))
    run.close()
  }

  @Test("an output leaves its run when what is asked of it is known, and asks nothing afterwards")
  func leaving() async throws {
    let photos = PhotoOutput()
    let run = SessionRun(
      device: nil, choice: nil, interruptions: Broadcast(), runtimeErrors: Broadcast())
    photos.core.state.withLock { $0.run = run }
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
      photos.core.leaveRun()
      hasLeft.change { $0 = true }
    }
    leaving.start()
    // One that is not held up leaves meanwhile.
    for _ in 0..<100 where !hasLeft.value { try await Task.sleep(for: .milliseconds(1)) }
    mayEnd.change { $0 = true }
    await expectTrue(until { hasLeft.value })
    #expect(throws: CaptureError.self) { try photos.core.ask("it") { _ in } }
  }
}

/// Notes that its file has ended, and that it belongs to no run any more.
private final class HeldOutput: SessionOutput {
  let core = OutputCore("held")
  let takes: Set<CaptureDevice.MediaType> = [.video]
  let told = Shared<[String]>([])

  func makeSinks(_ setup: OutputSetup) throws(CaptureError) -> [any Sink] { [] }
  func take(_ news: RunNews) {
    if case .ended(let record) = news, record.sink == core.name {
      told.change { $0.append("ended") }
    }
  }
  func didLeave() { told.change { $0.append("left") } }
}

/// Completes each file when `finish` returns.
private final class HeldRecorder: Recorder {
  private final class File: RecordingFile {
    let path = "held"
    let byteCount: UInt64 = 0
    let durableCount = UInt64.max
    let freeByteCount: UInt64? = nil
    private let onFinish: @Sendable () -> Void

    init(_ onFinish: @escaping @Sendable () -> Void) { self.onFinish = onFinish }

    func finish() throws(RunError) { onFinish() }
    func abandon() {}
  }

  let name: String
  let isOnDemand = true
  let fitsFile = true
  private let onFinish: @Sendable () -> Void

  init(_ name: String, onFinish: @escaping @Sendable () -> Void) {
    (self.name, self.onFinish) = (name, onFinish)
  }

  func configure(_ setup: inout SinkSetup) throws(RunError) {}
  func prepare(_ order: RecordingOrder) throws(RunError) -> any RecordingFile { File(onFinish) }
  func begin(_ file: any RecordingFile) throws(RunError) {}
  func write(_ frame: borrowing PackedFrame) throws(RunError) {}
  func end(before next: Timestamp?) {}
}
