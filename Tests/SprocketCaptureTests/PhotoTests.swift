import Sprocket
import SprocketCapture
import TestExpectations
import Testing

/// A session of a scene and an output, running.
func running(
  _ output: some CaptureOutput, camera: CaptureDevice = Cameras.back(),
  preset: SessionPreset = .size(Cameras.middle)
) async throws -> CaptureSession {
  let session = try CaptureSession()
  try await session.configure { c throws(CaptureError) in
    c.add(try DeviceInput(camera))
    c.preset = preset
    c.add(output)
  }
  try await session.start()
  return session
}

/// Notes the callbacks of captures by their names.
private actor Notes: PhotoCaptureDelegate {
  var names: [String] = []
  var photos: [CapturedPhoto] = []

  nonisolated func photoOutput(
    _ output: PhotoOutput, willBeginCaptureFor resolved: ResolvedPhotoSettings
  ) { assumeIsolated { $0.names.append("willBegin") } }

  nonisolated func photoOutput(
    _ output: PhotoOutput, willCapturePhotoFor resolved: ResolvedPhotoSettings
  ) { assumeIsolated { $0.names.append("willCapture") } }

  nonisolated func photoOutput(
    _ output: PhotoOutput, didCapturePhotoFor resolved: ResolvedPhotoSettings
  ) { assumeIsolated { $0.names.append("didCapture") } }

  nonisolated func photoOutput(_ output: PhotoOutput, didFinishProcessing photo: CapturedPhoto) {
    assumeIsolated { notes in
      notes.names.append("photo")
      notes.photos.append(photo)
    }
  }

  nonisolated func photoOutput(
    _ output: PhotoOutput, didFinishCaptureFor resolved: ResolvedPhotoSettings,
    error: CaptureError?
  ) { assumeIsolated { $0.names.append("didFinish") } }

  func capture(_ output: PhotoOutput, _ settings: consuming PhotoSettings)
    async throws(CaptureError)
  {
    try await output.capture(settings, delegate: self)
  }
}

@Suite("PhotoOutput", .serialized) struct PhotoTests {
  @Test("a photograph is a file, of the first frame exposed after the asking") func photo()
    async throws
  {
    let photos = PhotoOutput()
    // Frames come later than they were exposed: the next one to arrive is too old.
    let camera = Cameras.back { settings in
      settings.faults.late = 1
      settings.faults.lateDuration = .milliseconds(60)
    }
    let session = try await running(photos, camera: camera)
    for _ in 0..<5 {
      let asked = monotonicNow()
      let photo = try await photos.photo()
      let record = try #require(photo.record)
      expectAtLeast(record.captured.nanoseconds, asked)
      expectTrue(photo.fileData.starts(with: [0xFF, 0xD8, 0xFF, 0xE1]))
      expectEqual(photo.resolved.size, Cameras.middle)
      expectEqual(photo.thumbnail?.starts(with: [0xFF, 0xD8]), true)
    }
    await session.stop()
    await expectEqual(session.summary?.ledger.isBalanced, true)
  }

  @Test("callbacks come in order, each once, willBegin first and didFinish last") func callbacks()
    async throws
  {
    let photos = PhotoOutput(formats: [.jpeg, .png])
    let session = try await running(photos)
    let notes = Notes()
    try await notes.capture(photos, PhotoSettings(.jpeg, .png))
    let names = await notes.names
    expectEqual(names.first, "willBegin")
    expectEqual(names.last, "didFinish")
    expectEqual(
      names.sorted(), ["didCapture", "didFinish", "photo", "photo", "willBegin", "willCapture"])
    let formats = await notes.photos.map(\.format)
    expectEqual(Set(formats), [.jpeg, .png])
    // Both are of one frame.
    expectEqual(Set(await notes.photos.map(\.record?.number)).count, 1)
    await session.stop()
  }

  @Test("what an output was not made for is refused at the call") func refusals() async throws {
    let photos = PhotoOutput()
    #expect(throws: CaptureError.self) { try photos.capture(PhotoSettings()) }
    let session = try await running(photos)
    func code(_ settings: consuming PhotoSettings) -> CaptureError.Code? {
      do throws(CaptureError) {
        _ = try photos.capture(settings)
        return nil
      } catch {
        return error.code
      }
    }
    expectEqual(code(PhotoSettings(.dng)), .settingsRefused)
    expectEqual(code(PhotoSettings(.jpeg, .jpeg)), .settingsRefused)
    var flash = PhotoSettings()
    flash.flashMode = .on
    expectEqual(code(flash), .controlUnsupported)
    var bracket = PhotoSettings()
    bracket.bracket = [.exposure(.seconds(30))]
    expectEqual(code(bracket), .valueOutOfRange)
    await session.stop()
    // A Bayer sensor's mosaic is nothing that this scene has.
    let raw = PhotoOutput(formats: [.jpeg, .dng])
    let error = await #expect(throws: CaptureError.self) { _ = try await running(raw) }
    expectEqual(error?.code, .formatUnsupported)
  }

  @Test("a photograph of a moment is the frame by its rule, and needs frames that are kept")
  func moments()
    async throws
  {
    let photos = PhotoOutput(formats: [.jpeg, .png], preRoll: PreRoll(.seconds(20)))
    let session = try await running(photos)
    let first = try #require(try await photos.photo().record)
    let second = try #require(try await photos.photo().record)
    func taken(_ moment: PhotoMoment) async throws -> CapturedPhoto {
      var settings = PhotoSettings(.png, .jpeg)
      settings.moment = moment
      return try await photos.photo(settings)
    }
    var between = first.captured
    between.nanoseconds += 1
    for (moment, number) in [
      (PhotoMoment.nearest(between), first.number), (.atOrBefore(between), first.number),
      (.atOrAfter(first.captured), first.number), (.atOrAfter(second.captured), second.number),
    ] {
      let photo = try await taken(moment)
      expectEqual(photo.record?.number, number)
      expectTrue(
        photo.fileData.starts(with: [0x89, 0x50]) || photo.fileData.starts(with: [0xFF, 0xD8]))
    }
    var later = second.captured
    later.nanoseconds += 1
    expectLess(second.number, try #require(try await taken(.atOrAfter(later)).record).number)
    // Before the first frame nothing was kept.
    let early = Timestamp(nanoseconds: 1, clock: .monotonic)
    let error = await #expect(throws: CaptureError.self) { _ = try await taken(.nearest(early)) }
    expectTrue(error?.description.contains("is kept, but those of the latest") ?? false)
    await session.stop()
    await expectEqual(session.summary?.ledger.isBalanced, true)

    let plain = PhotoOutput()
    let other = try await running(plain)
    var settings = PhotoSettings()
    settings.moment = .nearest(first.captured)
    do throws(CaptureError) {
      _ = try plain.capture(settings)
      Issue.record("a moment of an output that keeps none")
    } catch {
      expectEqual(error.code, .settingsRefused)
    }
    await other.stop()
  }

  @Test("copies of settings have identities of their own") func identities() {
    let first = PhotoSettings(.jpeg)
    let second = first.copy()
    let (one, other) = (first.uniqueID, second.uniqueID)
    expectUnequal(one, other)
  }

  @Test("a mosaic becomes a DNG and a JPEG of the same frame") func raw() async throws {
    let photos = PhotoOutput(formats: [.jpeg, .dng])
    let camera = Cameras.back { $0.format = .bayerRGGB }
    let session = try CaptureSession()
    try await session.configure { c throws(CaptureError) in
      c.add(try DeviceInput(camera))
      c.stages = [.debayer()]
      c.add(photos)
    }
    try await session.start()
    var found: [CapturedPhoto] = []
    for await case .photo(let photo) in try photos.capture(PhotoSettings(.jpeg, .dng)) {
      found.append(photo)
    }
    expectEqual(found.map(\.error?.description), [nil, nil])
    let dng = try #require(found.first { $0.format == .dng })
    expectTrue(dng.fileData.starts(with: [0x49, 0x49, 0x2A, 0x00]))
    expectEqual(Set(found.map(\.record?.number)).count, 1)
    await session.stop()
  }

  @Test("a bracket gives a photograph for each exposure, and puts back what was there")
  func bracket() async throws {
    let photos = PhotoOutput()
    let camera = Cameras.back()
    let session = try await running(photos, camera: camera)
    var settings = PhotoSettings()
    settings.bracket = [.bias(-2), .bias(0), .exposure(.milliseconds(20), gain: 2)]
    var found: [CapturedPhoto] = []
    for await case .photo(let photo) in try photos.capture(settings) { found.append(photo) }
    expectEqual(found.map(\.error?.description), [nil, nil, nil])
    expectEqual(found.map { $0.record?.inForce.exposureMicroseconds ?? 0 }, [2500, 10_000, 20_000])
    expectEqual(found.last?.record?.inForce.gain, 2)
    expectEqual(found.map(\.photoCount), [1, 2, 3])
    await expectTrue(until { camera.exposureDuration == .milliseconds(10) && camera.gain == 1 })
    await session.stop()
  }

  @Test("a step of a bracket leaves what it does not name as it was before the bracket")
  func bracketStepsAreIndependent() async throws {
    let photos = PhotoOutput()
    let session = try await running(photos, camera: Cameras.back())
    var settings = PhotoSettings()
    settings.bracket = [
      .exposure(.milliseconds(5), gain: 4), .bias(0), .exposure(.milliseconds(20)),
    ]
    var found: [CapturedPhoto] = []
    for await case .photo(let photo) in try photos.capture(settings) { found.append(photo) }
    expectEqual(found.map(\.error?.description), [nil, nil, nil])
    expectEqual(found.map { $0.record?.inForce.exposureMicroseconds ?? 0 }, [5000, 10_000, 20_000])
    expectEqual(found.map { $0.record?.inForce.gain ?? 0 }, [4, 1, 1])
    await session.stop()
  }

  @Test("orientation is EXIF's tag, and the samples stay") func orientation() async throws {
    let photos = PhotoOutput()
    let session = try CaptureSession()
    let added = try await session.configure { c throws(CaptureError) in
      c.add(try DeviceInput(Cameras.back()))
      return c.add(photos)
    }
    try await session.start()
    let link = added.link(for: .video)
    try link.setOrientation(.quarterTurn)
    try link.setMirrored(true)
    expectEqual(link.orientation, .transposed)
    // Each keeps the other.
    try link.setOrientation(.upright)
    expectEqual(link.orientation, .mirrored)
    expectTrue(link.isMirrored)
    try link.setMirrored(false)
    try link.setOrientation(.transposed)
    expectEqual(link.orientation, .transposed)
    expectTrue(link.isMirrored)
    let photo = try await photos.photo()
    expectEqual(PictureFile.orientation(of: photo.fileData.span), .transposed)
    expectEqual(photo.resolved.size, Cameras.large)
    try link.setEnabled(false)
    await #expect(throws: CaptureError.self) { try await photos.photo() }
    await session.stop()
  }
}
