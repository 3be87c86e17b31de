import Foundation
import Sprocket
import TestExpectations
import TestSupport
import Testing

/// A folder with movies of grey pictures, each as bright as its number times four, 25 a second.
private final class Films: Sendable {
  let folder = NSTemporaryDirectory() + "/films-\(UUID().uuidString)"

  init() throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  func path(_ name: String) -> String { "\(folder)/\(name)" }

  var names: [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).sorted()
  }

  /// `times` in frames of 40 ms.
  func make(
    _ name: String, _ times: [Int] = Array(0..<50), codec: String = "mjpeg", width: Int = 64,
    orientation: Orientation = .upright, metadata: MovieMetadata = MovieMetadata()
  ) throws -> String {
    var format = FrameFormat(
      pixelFormat: .i420, width: width, height: 48, color: .jpeg, rate: FrameRate(frames: 25))
    format.presentation.orientation = orientation
    let source = PushSource(format: format)
    var settings = MovieCodec()
    settings.name = codec
    let engine = try Engine(
      source: source, sinks: [MovieSink(path: path(name), codec: settings, metadata: metadata)])
    try engine.start()
    for (number, time) in times.enumerated() {
      var picture = [UInt8](repeating: 128, count: width * 72)
      for index in 0..<width * 48 { picture[index] = UInt8(4 * number) }
      _ = source.push(picture.span, captured: Int64(time) * 40_000_000)
    }
    source.finish()
    while !engine.wait(for: .seconds(1)) {}
    expectEmpty(engine.summary.errors)
    return path(name)
  }
}

/// Runs a program. Returns what it writes.
@discardableResult
private func run(_ arguments: [String]) throws -> String {
  let process = Process()
  process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
  process.arguments = arguments
  // Not a pipe: a signal that interrupts Foundation's reading of one stops the program.
  let output = NSTemporaryDirectory() + "/output-\(UUID().uuidString)"
  expectTrue(FileManager.default.createFile(atPath: output, contents: nil))
  defer { try? FileManager.default.removeItem(atPath: output) }
  process.standardOutput = FileHandle(forWritingAtPath: output)
  try process.run()
  process.waitUntilExit()
  expectEqual(process.terminationStatus, 0)
  return try String(contentsOfFile: output, encoding: .utf8)
}

/// What ffprobe says that a file says of itself: lines such as `TAG:title=First`.
private func tags(_ path: String) throws -> Set<String> {
  let text = try run(["ffprobe", "-v", "error", "-show_entries", "format_tags", path])
  return Set(text.split(separator: "\n").map(String.init))
}

private func notes(_ file: [UInt8]) -> PictureNotes? { PictureNotes(file: file.span) }

/// The number of a picture of `Films`, by its brightness.
private func number(_ frame: FrameCopy) -> Int { (Int(frame.bytes[64 * 20]) + 2) / 4 }

struct AssetTests {
  @Test("a picture is the one that is shown at its time", arguments: ["mjpeg", "h264"])
  func frames(_ codec: String) async throws {
    let films = try Films()
    // The fourth picture lasts five times as long.
    let asset = try Asset(
      path: films.make("a.mov", [0, 1, 2, 3] + Array(8..<50), codec: codec))
    expectEqual(asset.times.count, 46)
    expectEqual(asset.duration, .seconds(2))
    expectEqual(asset.frameRate, 23)
    expectEqual(asset.size?.width, 64)
    expectFalse(asset.hasSound)
    expectEqual(asset.tracks.map(\.codec), [codec])
    let wanted: [(Duration, Int)] = [
      (.zero, 0), (.milliseconds(39), 0), (.milliseconds(40), 1), (.milliseconds(200), 3),
      (.milliseconds(319), 3), (.milliseconds(320), 4), (.seconds(1), 21), (.seconds(9), 45),
      (.seconds(-1), 0),
    ]
    for (time, picture) in wanted {
      let frame = try await asset.frame(at: time, .luma(.full))
      expectEqual(number(frame), picture, "\(time)")
    }
  }

  @Test("a photograph has the picture's size, and a thumbnail is small") func stills() async throws
  {
    let films = try Films()
    let asset = try Asset(path: films.make("a.mov", width: 640, orientation: .quarterTurn))
    expectEqual(asset.orientation, .quarterTurn)
    let photograph = try await asset.photograph(at: .seconds(1))
    let notes = PictureNotes(file: photograph.span)
    expectEqual(notes?.orientation, .quarterTurn)
    let thumbnail = try await asset.thumbnail(at: .seconds(1))
    expectLess(thumbnail.count, photograph.count)
    expectEqual(Array(thumbnail.prefix(2)), [0xFF, 0xD8])
  }

  @Test("a photograph of a film has the film's camera and date, and no path")
  func facts() async throws {
    let films = try Films()
    var metadata = MovieMetadata()
    metadata.model = "Type 5"
    let bare = try films.make("bare.mov")
    let made = try films.make("made.mov", metadata: metadata)
    let dated = films.path("dated.mov")
    try run([
      "ffmpeg", "-v", "error", "-i", made, "-c", "copy", "-movflags", "use_metadata_tags",
      "-metadata", "creation_time=2024-05-06T07:08:09Z", dated,
    ])
    let unknown = try await Asset(path: bare).photograph(at: .seconds(1))
    let bareNotes = notes(unknown)
    expectNotNil(bareNotes)
    expectNil(bareNotes?.model)
    expectNil(bareNotes?.taken)
    let photograph = try await Asset(path: dated).photograph(at: .milliseconds(1500))
    let found = notes(photograph)
    expectEqual(found?.model, "Type 5")
    // The picture that is shown began at 1.48 s.
    let text = DateFormatter()
    text.locale = Locale(identifier: "en_US_POSIX")
    text.dateFormat = "yyyy:MM:dd HH:mm:ss"
    let begin = try #require(ISO8601DateFormatter().date(from: "2024-05-06T07:08:09Z"))
    let wanted = "\(text.string(from: begin + 1)).480000"
    expectEqual(found?.taken?.hasPrefix(wanted), true)
    for file in [unknown, photograph] {
      expectFalse(String(decoding: file, as: UTF8.self).contains(films.folder))
    }
    let copy = try await Asset(path: dated).frame(at: .milliseconds(1500), .rgb)
    let drawn = notes(try copy.file(.png))
    expectEqual(drawn?.taken, found?.taken)
  }

  @Test("what is no movie is refused in one sentence") func refusals() async throws {
    let films = try Films()
    expectTrue(#expect(throws: RunError.self) { try Asset(path: films.path("no.mov")) } != nil)
    try Data("text".utf8).write(to: URL(fileURLWithPath: films.path("a.mov")))
    let error = #expect(throws: RunError.self) { try Asset(path: films.path("a.mov")) }
    expectEqual(error?.description.contains("a.mov"), true)
    let photograph = try await Asset(path: films.make("b.mov")).photograph(at: .zero)
    try Data(photograph).write(to: URL(fileURLWithPath: films.path("a.jpg")))
    let still = #expect(throws: RunError.self) { try Asset(path: films.path("a.jpg")) }
    expectEqual(still?.description.contains("has no video"), true)
  }
}

struct CompositionTests {
  /// The numbers of a film's pictures.
  private func numbers(_ path: String) async throws -> [Int] {
    let copies = FrameCopies(of: .luma(.full), keeping: .every(4))
    let engine = try Engine(source: FileSource(path: path), sinks: [copies])
    try engine.start()
    var found: [Int] = []
    for await frame in copies { found.append(number(frame)) }
    _ = engine.wait(for: .seconds(20))
    return found
  }

  @Test("clips are played in order, and a range is cut out") func order() async throws {
    let films = try Films()
    let path = try films.make("a.mov")
    var film = Composition()
    try film.append(path, from: .seconds(1), to: .milliseconds(1400))
    try film.insert(path, to: .milliseconds(400), at: 0)
    try film.append(path)
    expectEqual(film.duration, .milliseconds(2800))
    try film.removeClip(at: 2)
    expectEqual(film.clips.map(\.start), [.zero, .seconds(1)])
    // From picture 6 of the first clip to picture 3 of the second.
    try film.remove(.milliseconds(240)..<(.milliseconds(520)))
    expectEqual(film.duration, .milliseconds(520))
    let made = try await film.export(to: films.path("film.mov"))
    expectNil(made.reasonForEncoding)
    expectEqual(made.pictures, 13)
    try await expectEqual(numbers(made.path), Array(0..<6) + Array(28..<35))
  }

  @Test("clips are inserted, moved and taken out, and a place that is none is an error")
  func places() throws {
    let films = try Films()
    let path = try films.make("a.mov")
    var film = Composition()
    #expect(throws: RunError.self) { try film.removeClip(at: 0) }
    #expect(throws: RunError.self) { try film.move(from: 0, to: 0) }
    for begin in [0, 400, 800] {
      try film.append(path, from: .milliseconds(begin), to: .milliseconds(begin + 400))
    }
    var starts: [Duration] { film.clips.map(\.start) }
    let (a, b, c) = (Duration.zero, Duration.milliseconds(400), Duration.milliseconds(800))
    try film.move(from: 0, to: 2)
    expectEqual(starts, [b, c, a])
    try film.move(from: 2, to: 1)
    expectEqual(starts, [b, a, c])
    try film.move(from: 1, to: 1)
    let taken = try film.removeClip(at: 2)
    try film.insert(taken, at: 0)
    expectEqual(starts, [c, b, a])
    try film.insert(film.clips[1], at: 3)
    expectEqual(starts, [c, b, a, b])
    expectEqual(film.duration, .milliseconds(1600))
    for place in [-1, 5] {
      let error = #expect(throws: RunError.self) { try film.insert(taken, at: place) }
      expectEqual(error?.description.contains("give 0 to 4"), true)
      #expect(throws: RunError.self) { try film.insert(path, at: place) }
    }
    for (from, to) in [(-1, 0), (4, 0), (0, -1), (0, 4)] {
      #expect(throws: RunError.self) { try film.move(from: from, to: to) }
    }
    #expect(throws: RunError.self) { try film.removeClip(at: 4) }
    expectEqual(starts, [c, b, a, b])
  }

  @Test(
    "a film says what its settings say, and else what its first clip does",
    arguments: [("mov", false), ("mov", true), ("mkv", false), ("mkv", true)])
  func metadata(_ ending: String, _ isEncoded: Bool) async throws {
    let films = try Films()
    var own = MovieMetadata()
    (own.title, own.artist) = ("First clip", "Ada")
    own.location = MovieLocation(latitude: 10, longitude: 20)
    var film = Composition()
    try film.append(films.make("a.mov", metadata: own))
    own.title = "Second clip"
    own.artist = "Bob"
    try film.append(films.make("b.mov", metadata: own))
    var settings = Composition.ExportSettings()
    settings.codec = isEncoded ? MovieCodec.h264 : nil
    settings.metadata.title = "Whole film"
    settings.metadata.location = MovieLocation(latitude: 48.1372, longitude: 11.5756, altitude: 519)
    expectTrue(settings.metadata.tags.set("scene", "4"))
    let made = try await film.export(to: films.path("film.\(ending)"), settings)
    expectEqual(made.reasonForEncoding == nil, !isEncoded)
    let found = try tags(made.path)
    let (apple, place) = ("TAG:com.apple.quicktime.", "=+48.1372+011.5756+519/")
    let wanted =
      ending == "mov"
      ? [
        "TAG:title=Whole film", "\(apple)title=Whole film", "\(apple)artist=Ada",
        "\(apple)location.ISO6709\(place)", "TAG:scene=4",
      ] : ["TAG:title=Whole film", "TAG:ARTIST=Ada", "TAG:LOCATION\(place)", "TAG:SCENE=4"]
    for line in wanted { #expect(found.contains(line), "\(line) in \(found.sorted())") }
    let others = ["First clip", "Second clip", "Bob", "+10+020"]
    expectFalse(found.contains { line in others.contains { line.contains($0) } }, "\(found)")
  }

  @Test("pictures that need each other are encoded, and it is said") func encodes() async throws {
    let films = try Films()
    let path = try films.make("a.mov", codec: "h264")
    var film = Composition()
    try film.append(path, from: .milliseconds(120), to: .milliseconds(400))
    try film.append(path)
    let made = try await film.export(to: films.path("film.mp4"))
    expectEqual(made.reasonForEncoding?.contains("between pictures that need each other"), true)
    expectEqual(made.pictures, 57)
    try await expectEqual(numbers(made.path), Array(3..<10) + Array(0..<50))
    var settings = Composition.ExportSettings()
    settings.codec = MovieCodec.hevc
    let other = try await film.export(to: films.path("hevc.mp4"), settings)
    expectEqual(other.reasonForEncoding, "a codec was asked for")
  }

  @Test("what cannot be joined leaves no file") func refusals() async throws {
    let films = try Films()
    let (a, wide) = (try films.make("a.mov"), try films.make("wide.mov", width: 96))
    let turned = try films.make("turned.mov", orientation: .halfTurn)
    let before = films.names
    for other in [wide, turned] {
      var film = Composition()
      try film.append(a)
      try film.append(other)
      let error = await #expect(throws: RunError.self) {
        try await film.export(to: films.path("film.mov"))
      }
      expectEqual(error?.description.contains("export them alike first"), true)
    }
    await #expect(throws: RunError.self) {
      try await Composition().export(to: films.path("film.mov"))
    }
    var film = Composition()
    try film.append(a)
    let taken = await #expect(throws: RunError.self) { try await film.export(to: wide) }
    expectEqual(taken?.description.contains("it exists"), true)
    let nothing = #expect(throws: RunError.self) { try film.append(a, from: .seconds(7)) }
    expectEqual(nothing?.description.contains("no picture at 7s or later"), true)
    #expect(throws: RunError.self) { try film.append(a, from: .seconds(2), to: .seconds(1)) }
    #expect(throws: RunError.self) { try film.append(a, from: .seconds(-1)) }
    #expect(throws: RunError.self) { try film.remove(.zero..<(.seconds(3))) }
    expectEqual(film.duration, .seconds(2))
    expectEqual(films.names, before)
  }

  @Test("a film may replace one of its clips") func replaces() async throws {
    let films = try Films()
    let path = try films.make("a.mov")
    var film = Composition()
    try film.append(path, to: .milliseconds(200))
    var settings = Composition.ExportSettings()
    settings.overwrite = true
    try await film.export(to: path, settings)
    try await expectEqual(numbers(path), Array(0..<5))
  }

  @Test("an export whose task is cancelled leaves no file", arguments: [false, true])
  func cancelled(_ isEncoded: Bool) async throws {
    let films = try Films()
    let path = try films.make("a.mov", codec: "h264")
    var film = Composition()
    for _ in 0..<100 { try film.append(path) }
    var settings = Composition.ExportSettings()
    settings.codec = isEncoded ? .h264 : nil
    let (whole, target) = (film, films.path("film.mov"))
    // An export may have ended before its task is cancelled: then another one is tried.
    for _ in 0..<50 {
      let hasEnded = Locked(false)
      let task = Task { [settings] in
        defer { hasEnded.withLock { $0 = true } }
        _ = try await whole.export(to: target, settings)
      }
      while !hasEnded.withLock({ $0 }), !films.names.contains("film.partial.mov") {
        await Task.yield()
      }
      task.cancel()
      guard case .success = await task.result else {
        expectEqual(films.names, ["a.mov"])
        return
      }
      try FileManager.default.removeItem(atPath: target)
    }
    Issue.record("no export was cancelled")
  }
}
