import Foundation
import Sprocket
import SprocketCapture
import SprocketTestMemory
import TestExpectations
import Testing

/// Calls from many tasks at once. Every promise is kept, every account is exact, and nothing hangs.
@Suite("Storms of calls", .serialized) struct StormTests {
  /// `SPROCKET_CAPTURE_STORMS` runs more.
  private static let count =
    ProcessInfo.processInfo.environment["SPROCKET_CAPTURE_STORMS"].flatMap { Int($0) } ?? 12
  /// Number of storms that run at the same time. Larger: more load, less time.
  private static let atOnce = 3

  @Test("all is told of once, and ends", .timeLimit(.minutes(60))) func storms() async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for seed in 0..<Self.count {
        if seed >= Self.atOnce { try await group.next() }
        group.addTask { try await Storm(seed: UInt64(seed)).run() }
      }
      try await group.waitForAll()
    }
  }
}

private final class Storm: Sendable {
  private let seed: UInt64
  private let session: CaptureSession
  private let photos = PhotoOutput(
    formats: [.jpeg, .tiff],
    liveMovies: .init(before: .milliseconds(50), after: .milliseconds(100)))
  private let movies = MovieFileOutput()
  private let sounds = AudioFileOutput()
  private let blocks = AudioDataOutput { _, _ in }
  private let microphones: [CaptureDevice]
  private let seen = Seen()
  private let data: VideoDataOutput
  private let cameras: [CaptureDevice]
  private let folder: TestFolder
  /// What was promised, and what came of it.
  private let promised = Shared(0)
  private let kept = Shared(0)
  private let unbalanced = Shared<[String]>([])
  private let results = Shared<[RecordingResult]>([])

  init(seed: UInt64) throws {
    self.seed = seed
    session = try CaptureSession()
    folder = try TestFolder()
    data = watching(seen)
    microphones = (0..<2).map { number in
      CaptureDevice(sceneMicrophone: SceneMicrophoneSettings(), name: "storm \(seed) \(number)")
    }
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
      // Some begin with sound alone.
      if seed % 4 == 1 {
        c.add(try DeviceInput(microphones[0]))
      } else {
        c.add(try DeviceInput(camera))
      }
      c.add(sounds)
      c.add(movies)
      if seed % 4 == 1 { return }
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
            await self.act(Int.random(in: 0..<27, using: &random), "\(task)-\(step)")
            try? await Task.sleep(for: .milliseconds(Int.random(in: 0..<20, using: &random)))
          }
        }
      }
    }
    await stop()
    expectFalse(session.isRunning)
    let isKept = await until { self.promised.value == self.kept.value }
    expectTrue(isKept, "seed \(seed): \(kept.value) of \(promised.value)")
    expectEmpty(unbalanced.value, "seed \(seed)")
    expectFalse(folder.names.contains { $0.contains("partial") }, "seed \(seed): \(folder.names)")
    let files = Set(folder.names.map { folder.file($0) })
    for result in results.value {
      expectEqual(files.contains(result.path), result.isUsable, "seed \(seed): \(result)")
    }
    if let whole = results.value.last(where: { $0.isUsable }) { try await whole.verify() }
  }

  private func stop() async {
    await session.stop()
    guard let summary = await session.summary, summary.isOver else { return }
    for ledger in [summary.ledger] + summary.audio.map(\.ledger) where !ledger.isBalanced {
      unbalanced.change { $0.append("\(ledger.unbalanced)") }
    }
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
        take()
      }
    case 8: take()
    case 9: follow { try movies.startRecording(to: folder.file("\(name).mov")) }
    case 10, 11: movies.stopRecording()
    case 24: try? movies.pauseRecording()
    case 25: try? movies.resumeRecording()
    case 26: join(name)
    case 12: _ = try? await session.switchCamera(to: cameras[Int(name.utf8.last ?? 0) & 1])
    case 13: try? await session.configure { c in c.remove(movies) }
    case 14: take { $0.bracket = [.bias(-1), .exposure(.milliseconds(4))] }
    case 15: take { $0.livePhotoMoviePath = self.folder.file("live-\(name).mov") }
    case 16:
      let camera = cameras[Int(name.utf8.last ?? 0) & 1]
      _ = try? await camera.withConfiguration { c in
        c.set("gain", 1 + Double(name.utf8.count) / 10)
      }
    default: await actOnSound(action, name)
    }
  }

  private func actOnSound(_ action: Int, _ name: String) async {
    let (session, cameras, microphones, blocks) = (session, cameras, microphones, blocks)
    let number = Int(name.utf8.last ?? 0) & 1
    switch action {
    case 18, 19:
      _ = try? await session.configure { c throws(CaptureError) in
        for old in c.inputs where old.device.mediaType == .audio { c.remove(old) }
        if action == 18 { c.add(try DeviceInput(microphones[number])) }
      }
    case 20:
      // Without its camera, or with one again.
      _ = try? await session.configure { c throws(CaptureError) in
        let old = c.inputs.filter { $0.device.mediaType == .video }
        for input in old { c.remove(input) }
        if old.isEmpty { c.add(try DeviceInput(cameras[number])) }
      }
    case 21: follow { try sounds.startRecording(to: folder.file("\(name).wav")) }
    case 22: sounds.stopRecording()
    case 23:
      try? await session.configure { c in
        if c.canAdd(blocks).isYes { c.add(blocks) } else { c.remove(blocks) }
      }
    default:
      try? await session.configure { c in c.stages = c.stages.isEmpty ? [.meter()] : [] }
    }
  }

  /// Makes a film of the recordings so far that can be used: those that are alike are joined, others refused.
  /// Those of sound alone are no clips.
  private func join(_ name: String) {
    let usable = results.value.filter(\.isUsable).map(\.path)
    let clips = usable.filter { $0.hasSuffix(".mov") }.suffix(3)
    guard !clips.isEmpty else { return }
    promised.change { $0 += 1 }
    Task {
      let path = folder.file("film-\(name).mov")
      do throws(RunError) {
        var film = Composition()
        for clip in clips { try film.append(clip) }
        let made = try await film.export(to: path)
        let asset = try Asset(path: path)
        let frame = try await asset.frame(at: asset.duration, .luma(.full))
        expectEqual(asset.times.count, Int(made.pictures), "seed \(seed): \(clips)")
        if !frame.bytes.isEmpty { kept.change { $0 += 1 } }
      } catch {
        // Cameras have several sizes, and a movie without a camera has sound alone.
        let isUnlike =
          error.code == .usage
          && ["alike", "has sound alone"].contains { error.description.contains($0) }
        expectTrue(isUnlike, "seed \(seed): \(error)")
        if isUnlike { kept.change { $0 += 1 } }
      }
    }
  }

  /// Each recording that begins ends once.
  private func follow(_ start: () throws -> Recording) {
    promised.change { $0 += 1 }
    guard let recording = try? start() else { return kept.change { $0 += 1 } }
    Task {
      let result = await recording.finished()
      results.change { $0.append(result) }
      kept.change { $0 += 1 }
    }
  }

  private func take(_ change: (inout PhotoSettings) -> Void = { _ in }) {
    var settings = PhotoSettings(.jpeg, .tiff)
    change(&settings)
    guard let capture = try? photos.capture(settings) else { return }
    promised.change { $0 += 1 }
    let resolved = capture.resolved
    Task {
      var (photos, movies, ends, isFirst, isWhole) = (0, 0, 0, true, true)
      for await event in capture {
        isWhole = isWhole && ends == 0
        switch event {
        case .willBegin: isWhole = isWhole && isFirst
        case .photo: photos += 1
        case .liveMovie: movies += 1
        case .didFinish: ends += 1
        default: break
        }
        isFirst = false
      }
      if isWhole, ends == 1, photos == resolved.expectedPhotoCount,
        movies == (resolved.livePhotoMoviePath == nil ? 0 : 1)
      {
        kept.change { $0 += 1 }
      }
    }
  }
}
