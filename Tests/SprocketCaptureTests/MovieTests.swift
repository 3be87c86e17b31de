import Foundation
import Sprocket
import SprocketCapture
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
    #expect(movies.isRecording)
    var events = recording.events.makeAsyncIterator()
    guard case .didStart(let path) = await events.next() else {
      Issue.record("it did not start")
      return
    }
    #expect(path == folder.file("a.mov"))
    #expect(await until { movies.recordedDuration > .milliseconds(200) })
    recording.stop()
    let result = await recording.finished()
    #expect(result.error == nil)
    #expect(result.isUsable)
    #expect(result.counts[.delivered] >= 5)
    #expect(!movies.isRecording)
    #expect(folder.names == ["a.mov"])
    guard case .didFinish = await events.next() else {
      Issue.record("the end was not told of")
      return
    }
    #expect(await events.next() == nil)
    await session.stop()
  }

  @Test("a recording is verified, and moved into a folder") func library() async throws {
    let (folder, shelf) = (try TestFolder(), try TestFolder())
    let movies = MovieFileOutput()
    let session = try await running(movies)
    #expect(movies.recordedDuration == .zero && movies.recordedFileSize == 0)
    let recording = try movies.startRecording(to: folder.file("a.mov"))
    #expect(
      await until {
        movies.recordedDuration > .milliseconds(200) && movies.recordedFileSize > 1000
      })
    recording.stop()
    let result = await recording.finished()
    await session.stop()
    #expect(movies.recordedDuration == .zero)
    try await result.verify()
    let bytes = try Data(contentsOf: URL(fileURLWithPath: result.path))
    try Data("kept".utf8).write(to: URL(fileURLWithPath: shelf.file("a.mov")))
    let taken = #expect(throws: CaptureError.self) { try result.move(toFolder: shelf.path) }
    #expect(taken?.description.contains("it exists") == true)
    #expect(folder.names == ["a.mov"])
    #expect(
      try result.move(toFolder: shelf.path, overwrite: true) == shelf.file("a.mov"))
    #expect(folder.names.isEmpty)
    #expect(try Data(contentsOf: URL(fileURLWithPath: shelf.file("a.mov"))) == bytes)
    let gone = #expect(throws: CaptureError.self) { try result.move(toFolder: shelf.path) }
    #expect(gone?.description.contains("no such file") == true)
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
    #expect(counter.results.map(\.error?.code) == [.fileRefused])
    #expect(counter.starts.isEmpty)
    #expect(FileManager.default.contents(atPath: folder.file("a.mov")) == Data("kept".utf8))
    // A recording that is stopped before its first frame.
    let recording = try movies.startRecording(to: folder.file("b.mov"))
    recording.stop()
    let result = await recording.finished()
    #expect(result.isUsable == (result.counts[.delivered] > 0))
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
      try await Task.sleep(for: .milliseconds(250))
    }
    movies.stopRecording()
    var results: [RecordingResult] = []
    for recording in recordings { results.append(await recording.finished()) }
    #expect(results.map(\.error?.description) == [nil, nil, nil])
    // Each frame from the first to the last is in one file, or lost and counted for one. Frames before the
    // first one and after the last one may be lost, too.
    let first = try #require(results.first?.firstFrame?.number)
    let last = try #require(results.last?.lastFrame?.number)
    let counted = results.map(\.counts.sum).reduce(0, +)
    let lost = counted - results.map { $0.counts[.delivered] }.reduce(0, +)
    #expect(last - first + 1...last - first + 1 + lost ~= counted)
    for (one, next) in zip(results, results.dropFirst()) {
      #expect(try #require(one.lastFrame?.number) < (try #require(next.firstFrame?.number)))
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
    #expect(counter.results.count == 1)
    #expect(result.error?.code == .limitReached)
    #expect(result.reason == .duration)
    #expect(result.isUsable)
    #expect(result.duration < .milliseconds(300))
    await session.stop()
  }

  @Test("the session's stop completes a recording; another size ends it") func endings()
    async throws
  {
    let folder = try TestFolder()
    let movies = MovieFileOutput()
    let session = try await running(movies)
    let first = try movies.startRecording(to: folder.file("a.mov"))
    try await Task.sleep(for: .milliseconds(200))
    try await session.configure { c in c.preset = .size(Cameras.small) }
    let ended = await first.finished()
    #expect(ended.reason == .discontinuity)
    #expect(ended.error?.code == .sessionChanged)
    #expect(ended.isUsable)
    let second = try movies.startRecording(to: folder.file("b.mov"))
    try await Task.sleep(for: .milliseconds(200))
    await session.stop()
    let last = await second.finished()
    #expect(last.error == nil)
    #expect(last.isUsable)
    #expect(folder.names == ["a.mov", "b.mov"])
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
      try await Task.sleep(for: .milliseconds(250))
      recording.stop()
      #expect(await recording.finished().isUsable)
    }
    await session.stop()
    #expect(try ffprobe(folder.file("a.mov"), "stream_side_data=rotation").isEmpty)
    // ffprobe counts against the clock.
    #expect(try ffprobe(folder.file("b.mov"), "stream_side_data=rotation") == ["-90"])
    let sizes = try ffprobe(folder.file("b.mov"), "stream=width,height")
    #expect(sizes.first?.hasPrefix("128,96") == true)
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
    #expect(finishes.value == Array(repeating: 1, count: 60))
    #expect(!folder.names.contains { $0.contains("partial") })
  }
}
