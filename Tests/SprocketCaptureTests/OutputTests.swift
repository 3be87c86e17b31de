import Sprocket
import SprocketCapture
import TestExpectations
import Testing

@Suite("Other outputs", .serialized) struct OutputTests {
  @Test("sound is in the movie, and its blocks reach a data output in order") func sound()
    async throws
  {
    let folder = try TestFolder()
    let blocks = Shared<[(first: UInt64, count: Int, missing: UInt64)]>([])
    let bytes = Shared(0)
    let movies = MovieFileOutput()
    let session = try CaptureSession()
    var settings = SceneMicrophoneSettings()
    settings.channels = 2
    let microphone = CaptureDevice(sceneMicrophone: settings)
    try await session.configure { c throws(CaptureError) in
      c.add(try DeviceInput(Cameras.back()))
      c.add(try DeviceInput(microphone))
      c.add(movies)
      c.add(
        AudioDataOutput { block, span in
          let count = span.count
          blocks.change { $0.append((block.record.first, block.record.count, block.missing)) }
          bytes.change { $0 += count }
        })
    }
    try await session.start()
    let recording = try movies.startRecording(to: folder.file("a.mov"))
    await expectTrue(until { blocks.value.count > 20 })
    await expectTrue(until { movies.recordedDuration > .milliseconds(500) })
    recording.stop()
    let result = await recording.finished()
    expectNil(result.error)
    await session.stop()
    let all = blocks.value
    expectGreater(all.count, 20)
    for (one, next) in zip(all, all.dropFirst()) {
      expectEqual(next.first, one.first + UInt64(one.count) + next.missing)
    }
    let format = try #require(await session.summary?.audio.first)
    expectTrue(format.ledger.isBalanced)
    let streams = try ffprobe(folder.file("a.mov"), "stream=codec_type")
    expectEqual(streams.filter { $0.hasPrefix("audio") }.count, 1)
  }

  @Test("other sound stages begin a new run, and leave it running") func soundStages() async throws
  {
    let seen = Seen()
    // All frames: the one that tells of the new run may come late.
    let session = try await running(watching(seen, discardsLateFrames: false))
    await expectTrue(seen.wait(for: 2))
    let input = try DeviceInput(CaptureDevice(sceneMicrophone: SceneMicrophoneSettings()))
    try await session.configure { c in c.add(input) }
    expectEqual(seen.now.discontinuities.count, 1)
    try await session.configure { c in c.soundStages = [.gain()] }
    expectTrue(session.isRunning)
    // Frames of the run before may still come.
    await expectTrue(until { seen.now.discontinuities.count == 2 })
    await session.stop()
  }

  @Test("reports of stages are timed objects, filtered by type") func metadata() async throws {
    let session = try CaptureSession()
    let types = Shared<Set<String>>([])
    let output = MetadataOutput(types: ["meter"]) { objects in
      for object in objects where object.report is ExposureReport {
        types.change { $0.insert(object.type) }
      }
    }
    try await session.configure { c throws(CaptureError) in
      c.add(try DeviceInput(Cameras.back()))
      c.add(output)
    }
    let error = await #expect(throws: CaptureError.self) { try await session.start() }
    expectEqual(error?.description.contains("meter"), true)
    try await session.configure { c in c.stages = [.meter(), .focus()] }
    try await session.start()
    await expectTrue(until { types.value == ["meter"] })
    await session.stop()
  }

  @Test("a preview has the newest frame, and its points are the device's") func preview()
    async throws
  {
    let preview = PreviewOutput(view: (width: 200, height: 200), gravity: .aspectFill)
    let session = try await running(preview)
    await expectTrue(until { preview.newestFrame != nil })
    expectEqual(preview.geometry.pictureWidth, 96)
    let middle = try #require(preview.devicePoint(x: 100, y: 100))
    expectLess(abs(middle.x - 0.5), 1e-9)
    expectLess(abs(middle.y - 0.5), 1e-9)
    await session.stop()
  }

  @Test("points of a preview of a cropped picture are the device's") func croppedPreview()
    async throws
  {
    let preview = PreviewOutput(view: (width: 40, height: 20), gravity: .resize)
    let session = try CaptureSession()
    try await session.configure { c throws(CaptureError) in
      c.add(try DeviceInput(Cameras.back()))
      c.preset = .size(Cameras.middle)
      c.stages = [.crop { $0.pixels = PixelArea(x: 16, y: 12, width: 40, height: 20) }]
      c.add(preview)
    }
    try await session.start()
    await expectTrue(until { preview.newestFrame != nil })
    let corner = try #require(preview.devicePoint(x: 0, y: 0))
    expectLess(abs(corner.x - 16.0 / 96), 1e-9)
    expectLess(abs(corner.y - 12.0 / 72), 1e-9)
    let point = try #require(preview.devicePoint(x: 30, y: 10))
    expectLess(abs(point.x - 46.0 / 96), 1e-9)
    expectLess(abs(point.y - 22.0 / 72), 1e-9)
    await session.stop()
  }

  @Test("points go to the device and back, whatever gravity and orientation") func points() throws {
    for gravity in [VideoGravity.aspectFit, .aspectFill, .resize] {
      for orientation in Orientation.allCases {
        let geometry = PreviewGeometry(
          view: (375, 667), picture: (1920, 1080), gravity: gravity, orientation: orientation)
        for point in [Point(x: 0.5, y: 0.5), Point(x: 0.45, y: 0.6)] {
          let shown = try #require(geometry.viewPoint(point))
          let back = try #require(geometry.devicePoint(x: shown.x, y: shown.y))
          expectLess(abs(back.x - point.x), 1e-9)
          expectLess(abs(back.y - point.y), 1e-9)
        }
      }
    }
    // The formula that an article writes by hand for a telephone that is held upright: (y/h, 1 - x/w).
    let upright = PreviewGeometry(
      view: (300, 400), picture: (640, 480), gravity: .resize, orientation: .quarterTurn)
    expectEqual(upright.devicePoint(x: 75, y: 100), Point(x: 0.25, y: 0.75))
    // Beside the picture there is no point.
    let bars = PreviewGeometry(view: (100, 100), picture: (200, 100))
    expectNil(bars.devicePoint(x: 50, y: 10))
  }

  @Test("a view of no size, or of one that is no number, has no points") func viewsOfNoSize() {
    let sizes = [0, -1, .nan, .infinity, -.infinity, 1e308, 1e-300, 100]
    let points = [0, 0.5, 1, -3, .nan, .infinity, 1e308]
    for width in sizes {
      for picture in sizes {
        for gravity in [VideoGravity.aspectFit, .aspectFill, .resize] {
          for orientation in [Orientation.upright, .quarterTurn] {
            let geometry = PreviewGeometry(
              view: (width, 100), picture: (100, picture), gravity: gravity,
              orientation: orientation)
            let rect = geometry.pictureRect
            expectTrue([rect.x, rect.y, rect.width, rect.height].allSatisfy(\.isFinite))
            for point in points {
              let there = geometry.devicePoint(x: point, y: 50)
              expectTrue(there.map { 0...1 ~= $0.x && 0...1 ~= $0.y } ?? true)
              let shown = geometry.viewPoint(Point(x: point, y: 0.5))
              expectTrue(shown.map { $0.x.isFinite && $0.y.isFinite } ?? true)
              let isView = width > 0 && width.isFinite
              if !isView || !point.isFinite { expectNil(there) }
              if !isView || !point.isFinite { expectTrue(shown == nil) }
            }
          }
        }
      }
    }
    expectNil(PreviewOutput().devicePoint(x: 0, y: 0))
    expectTrue(PreviewOutput().geometry.viewPoint(.center) == nil)
  }

  @Test("a photograph and a recording in one call each") func short() async throws {
    let folder = try TestFolder()
    let camera = Camera(Cameras.back())
    let photo = try await camera.photo(to: folder.file("a.png"))
    expectEqual(photo.resolved.size, Cameras.large)
    let result = try await camera.record(
      to: folder.file("a.mov"), quality: .low, maximumDuration: .milliseconds(300))
    expectTrue(result.isUsable)
    expectEqual(folder.names, ["a.mov", "a.png"])
    let error = await #expect(throws: CaptureError.self) {
      try await camera.photo(to: folder.file("a.png"))
    }
    expectEqual(error?.code, .fileRefused)
    await #expect(throws: CaptureError.self) { try await camera.photo(to: folder.file("a.gif")) }
  }
}

@Suite("Live photos", .serialized) struct LivePhotoTests {
  @Test("a live photo has the time before it, and says where the photograph is") func live()
    async throws
  {
    let folder = try TestFolder()
    let photos = PhotoOutput(
      // A busy machine may have no frame for some hundred milliseconds.
      liveMovies: .init(before: .milliseconds(400), after: .seconds(2)))
    let session = try await running(photos)
    let seen = Seen()
    try await session.configure { c in c.add(watching(seen)) }
    // Time enough before the photograph.
    await expectTrue(seen.wait(for: 25))
    var settings = PhotoSettings(.jpeg)
    settings.livePhotoMoviePath = folder.file("live.mov")
    var names: [String] = []
    var movie: LivePhotoMovie?
    var still: CapturedPhoto?
    for await event in try photos.capture(settings) {
      switch event {
      case .willBegin: names.append("begin")
      case .photo(let photo):
        names.append("photo")
        still = photo
      case .didRecordLiveMovie: names.append("recorded")
      case .liveMovie(let found):
        names.append("movie")
        movie = found
      case .didFinish: names.append("finish")
      case .willCapture, .didCapture: break
      }
    }
    expectEqual(names, ["begin", "photo", "recorded", "movie", "finish"])
    let found = try #require(movie)
    let time = try #require(still?.record?.captured)
    expectNil(found.error)
    expectTrue(found.recording.isUsable)
    expectGreater(found.photoDisplayTime, .milliseconds(200))
    expectLess(found.photoDisplayTime, found.duration)
    let first = try #require(found.recording.firstFrame?.captured)
    expectEqual(time.nanoseconds(since: first), found.photoDisplayTime.nanosecondCount)
    // Without `liveMovies` it is refused at the call.
    await session.stop()
    let plain = PhotoOutput()
    let other = try await running(plain)
    var again = PhotoSettings()
    again.livePhotoMoviePath = folder.file("b.mov")
    do throws(CaptureError) {
      _ = try plain.capture(again)
      Issue.record("it was taken")
    } catch {
      expectEqual(error.code, .settingsRefused)
    }
    await other.stop()
  }
}
