import Foundation
import Sprocket
import SprocketCapture
import TestExpectations
import Testing

/// Settings of one recording, and of one photograph, in place of their output's.
@Suite("Settings of one recording", .serialized) struct OwnSettingsTests {
  private static func titled(_ title: String) -> MovieMetadata {
    var metadata = MovieMetadata()
    metadata.title = title
    return metadata
  }

  private func title(_ path: String) throws -> [String] {
    try ffprobe(path, "format_tags=title")
  }

  @Test("a recording has limits and metadata of its own, and the next one the output's again")
  func recordings() async throws {
    let folder = try TestFolder()
    let movies = MovieFileOutput(metadata: Self.titled("Usual"))
    let session = try await running(movies)
    let first = try movies.startRecording(to: folder.file("a.mov"))
    await expectTrue(until { movies.recordedDuration > .milliseconds(600) })
    var short = RecordingLimits()
    short.duration = .milliseconds(400)
    // It goes on from the first without a gap, and its limit counts from its own first frame.
    let second = try movies.startRecording(
      to: folder.file("b.mov"), limits: short, metadata: Self.titled("Own"))
    let result = await second.finished()
    expectEqual(result.error?.code, .limitReached)
    expectTrue(result.isUsable)
    expectAtMost(result.duration, .milliseconds(400))
    expectAtLeast(result.duration, .milliseconds(200))
    await expectNil(first.finished().error)
    let third = try movies.startRecording(to: folder.file("c.mov"))
    await expectTrue(until { movies.recordedDuration > .milliseconds(600) })
    third.stop()
    await expectNil(third.finished().error)
    await session.stop()
    for (name, wanted) in [("a", "Usual"), ("b", "Own"), ("c", "Usual")] {
      try expectEqual(title(folder.file("\(name).mov")), [wanted])
    }
    let (a, b) = (await first.finished(), result)
    expectEqual(b.firstFrame?.number, (a.lastFrame?.number ?? 0) + 1)
  }

  @Test(
    "limits of bytes are of the file, and a recording whose file cannot be made changes nothing")
  func bytes() async throws {
    let folder = try TestFolder()
    let movies = MovieFileOutput()
    let session = try await running(movies)
    let first = try movies.startRecording(to: folder.file("a.mov"))
    await expectTrue(until { movies.recordedFileSize > 40_000 })
    var short = RecordingLimits()
    short.bytes = 20_000
    #expect(throws: CaptureError.self) {
      try movies.startRecording(to: folder.file("a.mov"), limits: short)
    }
    let written = movies.recordedFileSize
    await expectTrue(until { movies.recordedFileSize > written + 20_000 })
    let second = try movies.startRecording(to: folder.file("b.mov"), limits: short)
    let result = await second.finished()
    expectEqual(result.error?.code, .limitReached)
    expectAtLeast(result.byteCount, 15_000)
    await expectNil(first.finished().error)
    await session.stop()
  }

  @Test("a recording of sound alone has limits of its own") func sounds() async throws {
    let folder = try TestFolder()
    let sounds = AudioFileOutput()
    let session = try CaptureSession()
    try await session.configure { c throws(CaptureError) in
      c.add(try DeviceInput(ClockSound.device("limited")))
      c.add(sounds)
    }
    try await session.start()
    var short = RecordingLimits()
    short.duration = .milliseconds(200)
    let recording = try sounds.startRecording(to: folder.file("a.wav"), limits: short)
    let result = await recording.finished()
    expectEqual(result.error?.code, .limitReached)
    expectAtLeast(result.duration, .milliseconds(200))
    expectAtMost(result.duration, .milliseconds(210))
    let next = try sounds.startRecording(to: folder.file("b.wav"))
    await expectTrue(until { sounds.recordedDuration > .milliseconds(400) })
    next.stop()
    await expectNil(next.finished().error)
    await session.stop()
  }

  @Test("the sound's format is known before its first block") func soundFormat() async throws {
    let format = AudioFormat(number: .s24, rate: 44_100, channels: 2)
    let silent = CaptureDevice(microphone: "never heard") { _ throws(RunError) in
      PushAudioSource(format: format, isLive: true)
    }
    let session = try CaptureSession()
    let blocks = Shared(0)
    try await session.configure { c throws(CaptureError) in
      c.add(try DeviceInput(silent))
      c.add(AudioDataOutput { _, _ in blocks.change { $0 += 1 } })
    }
    await expectNil(session.activeSoundFormat)
    try await session.start()
    await expectEqual(session.activeSoundFormat, format)
    expectEqual(blocks.value, 0)
    await session.stop()
    await expectNil(session.activeSoundFormat)
  }
}

/// What exiftool says of a file, by the names of its groups: `GPS:GPSLatitude`.
private func exiftool(_ path: String) throws -> [String: String] {
  let process = Process()
  process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
  process.arguments = [
    "exiftool", "-json", "-n", "-G1", "-a", "-validate", "-warning", "-all", "-composite:all", path,
  ]
  // Not a pipe: a signal that interrupts Foundation's reading of one stops the program.
  let output = path + ".json"
  expectTrue(FileManager.default.createFile(atPath: output, contents: nil))
  process.standardOutput = FileHandle(forWritingAtPath: output)
  try process.run()
  process.waitUntilExit()
  let data = try Data(contentsOf: URL(fileURLWithPath: output))
  let files = try JSONSerialization.jsonObject(with: data) as? [[String: Any]]
  return files?.first?.mapValues { "\($0)" } ?? [:]
}

private func notes(_ file: [UInt8]) -> PictureNotes? { PictureNotes(file: file.span) }

@Suite("Metadata of photographs", .serialized) struct PhotoMetadataTests {
  private static var metadata: MovieMetadata {
    var metadata = MovieMetadata()
    (metadata.title, metadata.make, metadata.software) = ("Über den Dächern", "Acme", "My App 2")
    (metadata.artist, metadata.copyright, metadata.comment) = ("Ada", "2026 Ada", "ein Gruß")
    metadata.location = MovieLocation(latitude: -33.8568, longitude: 151.2153, altitude: -4.5)
    return metadata
  }

  @Test(
    "exiftool reads all of it, of every format", arguments: [PhotoFormat.jpeg, .png, .tiff, .dng])
  func written(_ format: PhotoFormat) async throws {
    let folder = try TestFolder()
    let photos = PhotoOutput(formats: [format])
    let camera = Cameras.back { if format == .dng { $0.format = .bayerRGGB } }
    let session = try await running(photos, camera: camera)
    let plain = try await photos.photo(PhotoSettings(format))
    var settings = PhotoSettings(format)
    settings.metadata = Self.metadata
    let photo = try await photos.photo(settings.copy())
    await session.stop()
    try plain.write(to: folder.file("plain.\(format)"))
    try photo.write(to: folder.file("photo.\(format)"))
    let (before, found) = (
      try exiftool(folder.file("plain.\(format)")), try exiftool(folder.file("photo.\(format)"))
    )
    expectEqual(found["IFD0:ImageDescription"], "Über den Dächern")
    expectEqual(found["IFD0:Make"], "Acme")
    expectEqual(found["IFD0:Model"], before["IFD0:Model"])
    expectEqual(found["IFD0:Software"], "My App 2")
    expectEqual(before["IFD0:Software"], "Sprocket")
    expectEqual(found["IFD0:Artist"], "Ada")
    expectEqual(found["IFD0:Copyright"], "2026 Ada")
    expectEqual(found["IFD0:XPComment"], "ein Gruß")
    let latitude = try #require(Double(found["Composite:GPSLatitude"] ?? ""))
    let longitude = try #require(Double(found["Composite:GPSLongitude"] ?? ""))
    expectAtMost(abs(latitude + 33.8568), 0.000001)
    expectAtMost(abs(longitude - 151.2153), 0.000001)
    expectEqual(found["Composite:GPSAltitude"], "-4.5")
    expectNil(before["Composite:GPSLatitude"])
    // What a file had is there as before, and exiftool finds nothing more to say of it.
    // In a TIFF it misses how a place was found, which EXIF leaves to the writer, and which nobody told.
    let missing = "Missing required TIFF GPS tag 0x001b GPSProcessingMethod"
    let warning = found["ExifTool:Warning"]
    expectEqual(warning == missing ? nil : warning, before["ExifTool:Warning"])
    for name in ["ExifIFD:ExposureTime", "ExifIFD:OffsetTimeOriginal", "File:FileType"] {
      expectEqual(found[name], before[name])
    }
    expectNotNil(found["ExifIFD:UserComment"])
    if format == .jpeg {
      expectEqual(photo.thumbnail?.starts(with: [0xFF, 0xD8]), true)
      try expectEqual(photo.pixels(.rgb).bytes.count, 96 * 72 * 3)
    }
    if format == .png { try expectEqual(ffprobe(folder.file("photo.png"), "stream=width"), ["96"]) }
  }

  @Test("tags and texts that EXIF has no room for are errors") func refusals() async throws {
    let photos = PhotoOutput()
    let session = try await running(photos)
    var settings = PhotoSettings()
    expectTrue(settings.metadata.tags.set("scene", "4"))
    do throws(CaptureError) {
      _ = try photos.capture(settings)
      Issue.record("tags were taken")
    } catch {
      expectEqual(error.code, .settingsRefused)
    }
    var long = PhotoSettings()
    long.metadata.title = String(repeating: "x", count: 70_000)
    do throws(CaptureError) {
      _ = try await photos.photo(long)
      Issue.record("a title of 70 KB was taken")
    } catch {
      expectTrue(error.description.contains("no room for its metadata"))
    }
    await session.stop()
  }

  @Test("a live photo's movie has its title and place, too") func live() async throws {
    let folder = try TestFolder()
    let photos = PhotoOutput(
      liveMovies: PhotoOutput.LiveMovies(before: .milliseconds(200), after: .milliseconds(200)))
    let session = try await running(photos)
    for title in ["First", ""] {
      var settings = PhotoSettings()
      settings.metadata.title = title
      settings.livePhotoMoviePath = folder.file("live\(title).mov")
      for await _ in try photos.capture(settings) {}
      try expectEqual(
        ffprobe(folder.file("live\(title).mov"), "format_tags=title"), title.isEmpty ? [] : [title])
    }
    await session.stop()
  }

  @Test("files of copies name the camera, and those of processed copies keep their frame's facts")
  func copies() async throws {
    let photos = PhotoOutput()
    let (data, frames) = VideoDataOutput.copies(of: .rgb)
    let (preview, shown) = PreviewOutput.copies(of: .nv12)
    let lent = Shared<FrameCopy?>(nil)
    let output = VideoDataOutput { frame in
      let copy = FrameCopy(frame, .nv12)
      lent.change { $0 = copy }
    }
    let session = try CaptureSession()
    try await session.configure { c throws(CaptureError) in
      c.add(try DeviceInput(Cameras.back()))
      c.preset = .size(Cameras.small)
      c.add(photos)
      c.add(data)
      c.add(preview)
      c.add(output)
    }
    try await session.start()
    let photo = try await photos.photo()
    let found = notes(photo.fileData)?.model
    let model = try #require(found)
    expectFalse(["program", ""].contains(model))
    var copies = [try photo.pixels(.rgb)]
    for await frame in frames.prefix(3) { copies.append(frame) }
    for await frame in shown.prefix(1) { copies.append(frame) }
    await expectTrue(until { lent.value != nil })
    copies += [lent.value].compactMap(\.self)
    await session.stop()
    expectEqual(copies.count, 6)
    for copy in copies {
      try expectEqual(notes(copy.file(.jpeg))?.model, model)
      let turned = copy.bytes.map { 255 - $0 }
      let made = try FrameCopy(
        turned, pixels: copy.pixels, width: copy.width, height: copy.height, color: copy.color,
        like: copy)
      expectEqual(made.record.number, copy.record.number)
      expectEqual(made.record.sequence, copy.record.sequence)
      expectEqual(made.record.captured, copy.record.captured)
      expectEqual(
        made.record.inForce.exposureMicroseconds, copy.record.inForce.exposureMicroseconds)
      expectEqual(made.record.byteCount, turned.count)
      expectEqual(made.format.rate, copy.format.rate)
      let half = try FrameCopy(
        [UInt8](repeating: 9, count: 32 * 24), pixels: .grey, width: 32, height: 24, like: made)
      expectEqual(half.record.number, copy.record.number)
      let (own, other) = (
        notes(try copy.file(.jpeg)), notes(try half.file(.jpeg))
      )
      expectEqual(other?.model, model)
      expectEqual(other?.taken, own?.taken)
      expectEqual(other?.exposureTime, own?.exposureTime)
      expectEqual(other?.sensitivity, own?.sensitivity)
    }
    expectGreater(copies.map(\.record.number).max() ?? 0, 0)
    let drawn = try FrameCopy(
      [UInt8](repeating: 9, count: 32 * 24), pixels: .grey, width: 32, height: 24,
      at: Timestamp(nanoseconds: 0, clock: .media))
    try expectNil(notes(drawn.file(.jpeg))?.model)
  }
}
