import Foundation
import Sprocket
import SprocketCapture
import TestExpectations
import Testing

/// A folder that is removed with it.
final class TestFolder: Sendable {
  let path: String

  init() throws {
    path = NSTemporaryDirectory() + "/capture-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  func file(_ name: String) -> String { "\(path)/\(name)" }

  /// Free bytes of its disk.
  func room() throws -> UInt64 {
    let values = try FileManager.default.attributesOfFileSystem(forPath: path)
    return try #require((values[.systemFreeSize] as? NSNumber)?.uint64Value)
  }

  var names: [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted()
  }
}

@Suite("MovieFileOutput", .serialized) struct MovieTests {
  @Test("a recording begins, ends and can be used") func records() async throws {
    let folder = try TestFolder()
    let movies = MovieFileOutput()
    let session = try await running(movies)
    let recording = try movies.startRecording(to: folder.file("a.mov"))
    expectTrue(movies.isRecording)
    var events = recording.events.makeAsyncIterator()
    guard case .didStart(let path) = await events.next() else {
      Issue.record("it did not start")
      return
    }
    expectEqual(path, folder.file("a.mov"))
    await expectTrue(until { movies.recordedDuration > .milliseconds(200) })
    recording.stop()
    let result = await recording.finished()
    expectNil(result.error)
    expectTrue(result.isUsable)
    expectAtLeast(result.counts[.delivered], 5)
    expectFalse(movies.isRecording)
    expectEqual(folder.names, ["a.mov"])
    guard case .didFinish = await events.next() else {
      Issue.record("the end was not told of")
      return
    }
    await expectNil(events.next())
    await session.stop()
  }

  @Test("a recording that is stopped before a frame came was given up") func stopsAtOnce()
    async throws
  {
    let folder = try TestFolder()
    let movies = MovieFileOutput()
    let session = try await running(movies)
    let recording = try movies.startRecording(to: folder.file("a.mov"))
    recording.stop()
    let result = await recording.finished()
    // A frame may have come by then.
    expectEqual(result.error?.code, result.isUsable ? nil : .cancelled)
    await session.stop()
  }

  @Test("a recording pauses, and goes on in its file") func pauses() async throws {
    let folder = try TestFolder()
    let movies = MovieFileOutput()
    try movies.pauseRecording()
    expectFalse(movies.isRecordingPaused)
    let session = try await running(movies)
    let recording = try movies.startRecording(to: folder.file("a.mov"))
    await expectTrue(until { movies.recordedDuration > .milliseconds(200) })
    try movies.pauseRecording()
    try movies.pauseRecording()
    expectTrue(movies.isRecordingPaused)
    expectTrue(movies.isRecording)
    var events = recording.events.makeAsyncIterator()
    guard case .didStart = await events.next(), case .didPause(let path) = await events.next()
    else {
      Issue.record("it did not start and pause")
      return
    }
    expectEqual(path, folder.file("a.mov"))
    let written = movies.recordedDuration
    try await Task.sleep(for: .milliseconds(300))
    expectEqual(movies.recordedDuration, written)
    try movies.resumeRecording()
    guard case .didResume = await events.next() else {
      Issue.record("it did not go on")
      return
    }
    await expectTrue(until { movies.recordedDuration > written + .milliseconds(100) })
    try movies.pauseRecording()
    // Another file goes on at once.
    let next = try movies.startRecording(to: folder.file("b.mov"))
    expectFalse(movies.isRecordingPaused)
    await expectTrue(filled(next, of: movies))
    recording.stop()
    next.stop()
    let result = await recording.finished()
    expectNil(result.error)
    try await result.verify()
    let asset = try Asset(path: result.path)
    // The file has the time that was recorded, and no pause.
    let last = try #require(asset.times.last)
    expectAtMost(max(last - result.duration, result.duration - last), .milliseconds(1))
    let (first, end) = (try #require(result.firstFrame), try #require(result.lastFrame))
    let whole = try #require(end.captured.nanoseconds(since: first.captured))
    expectAtLeast(.nanoseconds(whole) - result.duration, .milliseconds(250))
    expectGreater(result.counts[.unselected], 0)
    await expectTrue(next.finished().isUsable)
    try movies.resumeRecording()
    await session.stop()
  }

  @Test("a recording is verified, and moved into a folder") func library() async throws {
    let (folder, shelf) = (try TestFolder(), try TestFolder())
    let movies = MovieFileOutput()
    let session = try await running(movies)
    expectEqual(movies.recordedDuration, .zero)
    expectEqual(movies.recordedFileSize, 0)
    let recording = try movies.startRecording(to: folder.file("a.mov"))
    await expectTrue(
      until {
        movies.recordedDuration > .milliseconds(200) && movies.recordedFileSize > 1000
      })
    recording.stop()
    let result = await recording.finished()
    await session.stop()
    expectEqual(movies.recordedDuration, .zero)
    try await result.verify()
    let bytes = try Data(contentsOf: URL(fileURLWithPath: result.path))
    try Data("kept".utf8).write(to: URL(fileURLWithPath: shelf.file("a.mov")))
    let taken = #expect(throws: CaptureError.self) { try result.move(toFolder: shelf.path) }
    expectEqual(taken?.description.contains("it exists"), true)
    expectEqual(folder.names, ["a.mov"])
    try expectEqual(result.move(toFolder: shelf.path, overwrite: true), shelf.file("a.mov"))
    expectEmpty(folder.names)
    try expectEqual(Data(contentsOf: URL(fileURLWithPath: shelf.file("a.mov"))), bytes)
    let gone = #expect(throws: CaptureError.self) { try result.move(toFolder: shelf.path) }
    expectEqual(gone?.description.contains("no such file"), true)
    // Some frames are missing in a file that was cut.
    try bytes.prefix(bytes.count / 2).write(to: URL(fileURLWithPath: result.path))
    await #expect(throws: CaptureError.self) { try await result.verify() }
  }

  @Test("a recording that cannot begin is told of once, and nothing is written") func refused()
    async throws
  {
    let folder = try TestFolder()
    let movies = MovieFileOutput()
    let session = try await running(movies)
    try Data("kept".utf8).write(to: URL(fileURLWithPath: folder.file("a.mov")))
    let counter = Counter()
    await movies.record(to: folder.file("a.mov"), delegate: counter)
    expectEqual(counter.results.map(\.error?.code), [.fileRefused])
    expectEmpty(counter.starts)
    expectEqual(FileManager.default.contents(atPath: folder.file("a.mov")), Data("kept".utf8))
    // A recording that is stopped before its first frame.
    let recording = try movies.startRecording(to: folder.file("b.mov"))
    recording.stop()
    let result = await recording.finished()
    expectEqual(result.isUsable, (result.counts[.delivered] > 0))
    await session.stop()
  }

  /// For one task at a time.
  final class Counter: RecordingDelegate {
    var starts: [String] = []
    var results: [RecordingResult] = []

    func fileOutput(_ output: MovieFileOutput, didStartRecordingTo path: String) {
      starts.append(path)
    }

    func fileOutput(_ output: MovieFileOutput, didFinishRecording result: RecordingResult) {
      results.append(result)
    }
  }

  @Test("starting while one is under way switches files, and no frame is lost or in both")
  func switches() async throws {
    let folder = try TestFolder()
    let movies = MovieFileOutput()
    let session = try await running(movies)
    var recordings: [Recording] = []
    for name in ["a.mov", "b.mov", "c.mov"] {
      recordings.append(try movies.startRecording(to: folder.file(name)))
      await expectTrue(filled(recordings.last, of: movies))
    }
    movies.stopRecording()
    var results: [RecordingResult] = []
    for recording in recordings { results.append(await recording.finished()) }
    expectEqual(results.map(\.error?.description), [nil, nil, nil])
    // Each frame from the first to the last is in one file, or lost and counted for one. Frames before the
    // first one and after the last one may be lost, too.
    let first = try #require(results.first?.firstFrame?.number)
    let last = try #require(results.last?.lastFrame?.number)
    let counted = results.map(\.counts.sum).reduce(0, +)
    let lost = counted - results.map { $0.counts[.delivered] }.reduce(0, +)
    expectTrue(last - first + 1...last - first + 1 + lost ~= counted)
    for (one, next) in zip(results, results.dropFirst()) {
      try expectLess(#require(one.lastFrame?.number), (try #require(next.firstFrame?.number)))
    }
    await session.stop()
  }

  @Test("a limit ends a recording with an error, and the file can be used") func limits()
    async throws
  {
    let folder = try TestFolder()
    var limits = RecordingLimits()
    limits.duration = .milliseconds(300)
    let movies = MovieFileOutput(limits: limits)
    let session = try await running(movies)
    let counter = Counter()
    await movies.record(to: folder.file("a.mp4"), delegate: counter)
    let result = try #require(counter.results.first)
    expectEqual(counter.results.count, 1)
    expectEqual(result.error?.code, .limitReached)
    expectEqual(result.reason, .duration)
    expectTrue(result.isUsable)
    expectLess(result.duration, .milliseconds(300))
    await session.stop()
  }

  @Test("the session's stop completes a recording; another size ends it") func endings()
    async throws
  {
    let folder = try TestFolder()
    let movies = MovieFileOutput()
    let session = try await running(movies)
    let first = try movies.startRecording(to: folder.file("a.mov"))
    await expectTrue(filled(first, of: movies))
    try await session.configure { c in c.preset = .size(Cameras.small) }
    let ended = await first.finished()
    expectEqual(ended.reason, .discontinuity)
    expectEqual(ended.error?.code, .sessionChanged)
    expectTrue(ended.isUsable)
    let second = try movies.startRecording(to: folder.file("b.mov"))
    await expectTrue(filled(second, of: movies))
    await session.stop()
    let last = await second.finished()
    expectNil(last.error)
    expectTrue(last.isUsable)
    expectEqual(folder.names, ["a.mov", "b.mov"])
    #expect(throws: CaptureError.self) { try movies.startRecording(to: folder.file("c.mov")) }
  }

  @Test("a link's orientation is the display matrix of the recordings that begin after it was set")
  func orientation() async throws {
    let folder = try TestFolder()
    let movies = MovieFileOutput()
    let session = try CaptureSession()
    let added = try await session.configure { c throws(CaptureError) in
      c.add(try DeviceInput(Cameras.back()))
      return c.add(movies)
    }
    try await session.start()
    for (name, orientation) in [("a.mov", Orientation.upright), ("b.mov", .quarterTurn)] {
      try added.link(for: .video).setOrientation(orientation)
      let recording = try movies.startRecording(to: folder.file(name))
      await expectTrue(filled(recording, of: movies))
      recording.stop()
      await expectTrue(recording.finished().isUsable)
    }
    await session.stop()
    try expectEmpty(ffprobe(folder.file("a.mov"), "stream_side_data=rotation"))
    // ffprobe counts against the clock.
    try expectEqual(ffprobe(folder.file("b.mov"), "stream_side_data=rotation"), ["-90"])
    let sizes = try ffprobe(folder.file("b.mov"), "stream=width,height")
    expectEqual(sizes.first?.hasPrefix("128,96"), true)
  }

  @Test("each of many requests is told of exactly once") func storm() async throws {
    let folder = try TestFolder()
    let movies = MovieFileOutput()
    let session = try await running(movies, preset: .size(Cameras.small))
    let finishes = Shared<[Int]>([])
    await withTaskGroup { group in
      for number in 0..<60 {
        group.addTask {
          try? await Task.sleep(for: .milliseconds(number * 12))
          let counter = Counter()
          await movies.record(to: folder.file("\(number).mov"), delegate: counter)
          let count = counter.results.count
          finishes.change { $0.append(count) }
        }
        group.addTask {
          try? await Task.sleep(for: .milliseconds(number * 17))
          if number % 3 == 0 { movies.stopRecording() }
          if number % 20 == 10 {
            await session.stop()
            try? await session.start()
          }
        }
      }
      group.addTask {
        for _ in 0..<40 {
          try? await Task.sleep(for: .milliseconds(50))
          movies.stopRecording()
        }
      }
    }
    await session.stop()
    expectEqual(finishes.value, Array(repeating: 1, count: 60))
    expectFalse(folder.names.contains { $0.contains("partial") })
  }
}
