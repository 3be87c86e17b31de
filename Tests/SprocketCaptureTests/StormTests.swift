import Foundation
import Sprocket
import SprocketCapture
import SprocketTestMemory
import Testing

/// Calls from many tasks at once. Every promise is kept, every account is exact, and nothing hangs.
@Suite("Storms of calls", .serialized) struct StormTests {
  /// `SPROCKET_CAPTURE_STORMS` runs more.
  private static let count =
    ProcessInfo.processInfo.environment["SPROCKET_CAPTURE_STORMS"].flatMap { Int($0) } ?? 12

  @Test("all is told of once, and ends", .timeLimit(.minutes(60))) func storms() async throws {
    for seed in 0..<Self.count { try await Storm(seed: UInt64(seed)).run() }
  }
}

private final class Storm: Sendable {
  private let seed: UInt64
  private let session: CaptureSession
  private let photos = PhotoOutput(formats: [.jpeg, .tiff])
  private let movies = MovieFileOutput()
  private let seen = Seen()
  private let data: VideoDataOutput
  private let cameras: [CaptureDevice]
  private let folder: TestFolder
  /// What was promised, and what came of it.
  private let promised = Shared(0)
  private let kept = Shared(0)
  private let unbalanced = Shared<[String]>([])

  init(seed: UInt64) throws {
    self.seed = seed
    session = try CaptureSession()
    folder = try TestFolder()
    data = watching(seen)
    cameras = [
      Cameras.back { $0.faults.drop = 0.05 },
      Cameras.front { settings in
        settings.faults.corrupt = 0.05
        settings.faults.unplug = seed % 3 == 0 ? 0.1 : 0
        settings.faults.unplugDuration = .milliseconds(30)
      },
    ]
  }

  func run() async throws {
    let (session, camera) = (session, cameras[0])
    try await session.configure { c throws(CaptureError) in
      c.add(try DeviceInput(camera))
      c.preset = .size(Cameras.small)
      c.frameRate = FrameRate(frames: 60)
    }
    await withTaskGroup { group in
      for task in 0..<6 {
        group.addTask {
          var random = TestRandom(
            seed: (self.seed &* 100 &+ UInt64(task) &+ 1) &* 0x9E37_79B9_7F4A_7C15)
          let end = monotonicNow() + 300_000_000
          var step = 0
          while monotonicNow() < end {
            step += 1
            await self.act(Int.random(in: 0..<12, using: &random), "\(task)-\(step)")
            try? await Task.sleep(for: .milliseconds(Int.random(in: 0..<20, using: &random)))
          }
        }
      }
    }
    await stop()
    #expect(!session.isRunning)
    let isKept = await until { self.promised.value == self.kept.value }
    #expect(isKept, "seed \(seed): \(kept.value) of \(promised.value)")
    #expect(unbalanced.value.isEmpty, "seed \(seed)")
    #expect(!folder.names.contains { $0.contains("partial") }, "seed \(seed): \(folder.names)")
  }

  private func stop() async {
    await session.stop()
    guard let summary = await session.summary, summary.isOver, !summary.ledger.isBalanced else {
      return
    }
    unbalanced.change { $0.append("\(summary.ledger.unbalanced)") }
  }

  private func act(_ action: Int, _ name: String) async {
    let (session, photos, movies, data) = (session, photos, movies, data)
    switch action {
    case 0, 1, 2: try? await session.start()
    case 3: await stop()
    case 4: _ = try? await session.configure { c in c.add(photos) }
    case 5: _ = try? await session.configure { c in c.add(movies) }
    case 6:
      try? await session.configure { c in
        if c.canAdd(data).isYes { c.add(data) } else { c.remove(data) }
      }
    case 7:
      if name.hasSuffix("3") {
        try? await session.configure { c in c.remove(photos) }
      } else {
        await take()
      }
    case 8: await take()
    case 9:
      promised.change { $0 += 1 }
      guard let recording = try? movies.startRecording(to: folder.file("\(name).mov")) else {
        kept.change { $0 += 1 }
        return
      }
      Task {
        _ = await recording.finished()
        kept.change { $0 += 1 }
      }
    case 10: movies.stopRecording()
    default: _ = try? await session.switchCamera(to: cameras[Int(name.utf8.last ?? 0) & 1])
    }
  }

  private func take() async {
    guard let capture = try? photos.capture(PhotoSettings(.jpeg, .tiff)) else { return }
    promised.change { $0 += 1 }
    Task {
      var (count, isWhole, last) = (0, true, false)
      for await event in capture {
        isWhole = isWhole && !last
        if case .photo = event { count += 1 }
        if case .didFinish = event { last = true }
      }
      if isWhole, last, count == 2 { kept.change { $0 += 1 } }
    }
  }
}
