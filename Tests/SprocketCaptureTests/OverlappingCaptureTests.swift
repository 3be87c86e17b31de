import Sprocket
import SprocketCapture
import TestExpectations
import Testing

/// The order and number of a capture's events, where many overlap and some fail.
@Suite("Captures that overlap", .serialized) struct OverlappingCaptureTests {
  @Test(
    "1,000 overlapping captures of a camera that fails, across stops and removals, get every event once"
  )
  func storm() async throws {
    let folder = try TestFolder()
    let photos = PhotoOutput(
      formats: [.jpeg, .tiff],
      liveMovies: .init(before: .milliseconds(100), after: .milliseconds(60)))
    // One frame in ten is lost or damaged; the camera is unplugged each few seconds.
    let camera = Cameras.back { settings in
      settings.faults.drop = 0.06
      settings.faults.corrupt = 0.06
      settings.faults.unplug = 0.006
      settings.faults.unplugDuration = .milliseconds(40)
    }
    let session = try await running(photos, camera: camera, preset: .size(Cameras.small))
    let asked = Shared(0)
    let ends = Shared<[Int64: CaptureEvents]>([:])
    await withTaskGroup { group in
      for asker in 0..<40 {
        group.addTask {
          for number in 0..<25 {
            let capture = await accepted(photos, number * 40 + asker, folder)
            guard let capture else { return }
            asked.change { $0 += 1 }
            let events = await CaptureEvents(capture)
            ends.change { $0[capture.resolved.uniqueID] = events }
          }
        }
      }
      group.addTask {
        for turn in 1...8 {
          guard await until({ asked.value >= turn * 110 }) else { return }
          if turn % 2 == 0 {
            await session.stop()
            try? await session.start()
          } else {
            _ = try? await session.configure { c throws(CaptureError) in c.remove(photos) }
            _ = try? await session.configure { c throws(CaptureError) in c.add(photos) }
          }
        }
      }
    }
    await session.stop()
    let all = Array(ends.value.values)
    expectEqual(all.count, 1000)
    for events in all { expectNil(events.complaint) }
    // All kinds came, and some of each failed or could have.
    expectTrue(all.contains { $0.error == nil })
    expectTrue(all.contains { $0.error != nil })
    expectTrue(all.contains { $0.resolved.bracketCount > 0 && $0.error == nil })
    expectTrue(all.contains { $0.movie?.recording.isUsable == true })
    await expectEqual(session.summary?.ledger.isBalanced, true)
  }

  /// Asks until the session takes it: it refuses while it stands, while 64 wait, and a second live photo.
  private func accepted(_ photos: PhotoOutput, _ number: Int, _ folder: TestFolder) async
    -> PhotoCapture?
  {
    for _ in 0..<10_000 {
      var settings = PhotoSettings()
      settings.formats = number % 3 == 0 ? [.jpeg, .tiff] : [.jpeg]
      switch number % 40 {
      case 7: settings.bracket = [.bias(-1), .exposure(.milliseconds(4))]
      case 21: settings.livePhotoMoviePath = folder.file("live-\(number).mov")
      default: break
      }
      if let capture = try? photos.capture(settings) { return capture }
      try? await Task.sleep(for: .milliseconds(10))
    }
    return nil
  }
}

/// The events of a capture, in the order in which they came.
struct CaptureEvents: Sendable {
  let resolved: ResolvedPhotoSettings
  private var names: [String] = []
  private var photos: [CapturedPhoto] = []
  private(set) var movie: LivePhotoMovie?
  private(set) var error: CaptureError?

  init(_ capture: PhotoCapture) async {
    resolved = capture.resolved
    for await event in capture {
      switch event {
      case .willBegin: names.append("willBegin")
      case .willCapture: names.append("willCapture")
      case .didCapture: names.append("didCapture")
      case .photo(let photo):
        names.append("photo")
        photos.append(photo)
      case .didRecordLiveMovie: names.append("didRecord")
      case .liveMovie(let movie):
        names.append("movie")
        self.movie = movie
      case .didFinish(_, let error):
        names.append("didFinish")
        self.error = error
      }
    }
  }

  /// What is wrong with their order, number or errors; `nil` if nothing is.
  var complaint: String? {
    let count = resolved.expectedPhotoCount
    let isLive = resolved.livePhotoMoviePath != nil
    let told = names.joined(separator: " ")
    func number(_ name: String) -> Int { names.count { $0 == name } }
    guard Array(names.prefix(2)) == ["willBegin", "willCapture"], names.last == "didFinish",
      number("willBegin") == 1, number("willCapture") == 1, number("didFinish") == 1
    else { return "the first or the last is another: \(told)" }
    guard number("photo") == count, photos.map(\.photoCount) == Array(1...count) else {
      return "\(count) photographs are expected: \(told)"
    }
    guard number("didCapture") == 1,
      names.firstIndex(of: "didCapture") ?? .max < names.firstIndex(of: "photo") ?? 0
    else { return "didCapture comes once, before the first photograph: \(told)" }
    guard number("didRecord") == (isLive ? 1 : 0), number("movie") == (isLive ? 1 : 0) else {
      return "a live photo has a movie: \(told)"
    }
    for photo in photos where photo.error == nil && photo.fileData.isEmpty {
      return "a photograph without an error has no bytes"
    }
    let failed = photos.contains { $0.error != nil } || movie?.recording.error != nil
    return failed == (error != nil) ? nil : "didFinish has an error if one of the photographs has"
  }
}
