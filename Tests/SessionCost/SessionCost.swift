// A capture session beside the bare engine, for Tests/Judges/test_session_cost.py:
//
//   frames engine|session PIXELS COUNT   so many frames as fast as they come; prints how many were seen
//   latency engine|session SECONDS       microseconds from a frame's time to the callback, one per line
//   start engine|session COUNT           milliseconds from starting to the first frame, one per line
//   photos COUNT                         frame times from asking to the photograph's frame, one per line
//
// And for the lab, which unplugs the camera meanwhile:
//
//   interruptions IDENTITY MOVIE         records until an interruption has ended; prints its events, one per
//                                        line, and what became of the movie. If only frames were missing,
//                                        as on a slow machine, it goes on until its input has ended

import Glibc
import Sprocket
import SprocketCapture
import SprocketEngine

/// Counts frames, and wakes one waiter at a number of them.
final class FrameCount: Sendable {
  private struct State: Sendable {
    var count = 0
    /// The waiter is woken at this count, and not at each frame.
    var wanted = Int.max
    var values: [Int64] = []
  }

  private let state = Locked(State())
  private let changes = FutexWord()

  var count: Int { state.withLock(\.count) }
  var values: [Int64] { state.withLock(\.values) }

  func add(_ value: Int64? = nil) {
    let isWanted = state.withLock { state in
      state.count += 1
      if let value { state.values.append(value) }
      return state.count >= state.wanted
    }
    if isWanted { changes.advance() }
  }

  /// Waits for `count` frames, five minutes at most.
  func wait(for count: Int) {
    let seen = changes.value
    let isThere = state.withLock { state in
      state.wanted = count
      return state.count >= count
    }
    guard isThere || changes.wait(while: seen, until: monotonicNow() + 300_000_000_000) else {
      fail("\(count) frames have not come in five minutes")
    }
  }
}

func fail(_ message: String) -> Never {
  print("session-cost: \(message)")
  exit(1)
}

func settings(_ format: PixelFormat, isFast: Bool) -> SceneSettings {
  var settings = SceneSettings()
  (settings.format, settings.width, settings.height) = (format, 640, 480)
  // Drawing takes as long as 20 MJPEG frames each.
  settings.cached = 2
  settings.pace = isFast ? .fast : .real
  return settings
}

/// Runs `body` for each frame until `end` returns: by the engine alone, or by a session's data output.
func run(
  _ kind: String, _ scene: SceneSettings, _ body: @escaping @Sendable (borrowing FrameView) -> Void,
  until end: @Sendable () async throws -> Void
) async throws {
  if kind == "engine" {
    let sink = ClosureSink(reading: .luma(.full)) { body($0) }
    let engine = try Engine(source: SceneSource(scene), sinks: [sink])
    try engine.start()
    try await end()
    engine.stop()
    guard engine.wait(for: .seconds(10)) else { fail("the engine does not end") }
    return
  }
  let size = CameraSize(scene.width, scene.height)
  let camera = CaptureDevice(scene: SceneDevice(scene, sizes: [size]))
  let output = VideoDataOutput(reading: .luma(.full), discardsLateFrames: false, onFrame: body)
  let session = try CaptureSession()
  try await session.configure { c throws(CaptureError) in
    c.add(try DeviceInput(camera))
    c.preset = .size(size)
    c.add(output)
  }
  try await session.start()
  try await end()
  await session.stop()
}

func frames(_ kind: String, _ format: PixelFormat, _ wanted: Int) async throws {
  let seen = FrameCount()
  try await run(kind, settings(format, isFast: true)) { _ in
    seen.add()
  } until: {
    seen.wait(for: wanted)
  }
  print(seen.count)
}

func latency(_ kind: String, _ seconds: Int) async throws {
  let seen = FrameCount()
  try await run(kind, settings(.mjpeg, isFast: false)) { frame in
    seen.add(monotonicNow() - frame.record.captured.nanoseconds)
  } until: {
    try await Task.sleep(for: .seconds(seconds))
  }
  for value in seen.values { print(Double(value) / 1000) }
}

func starts(_ kind: String, _ count: Int) async throws {
  for _ in 0..<count {
    let (seen, begin) = (FrameCount(), monotonicNow())
    try await run(kind, settings(.mjpeg, isFast: false)) { _ in
      seen.add(monotonicNow() - begin)
    } until: {
      seen.wait(for: 1)
    }
    print(Double(seen.values[0]) / 1e6)
  }
}

func photos(_ count: Int) async throws {
  let scene = settings(.mjpeg, isFast: false)
  let size = CameraSize(scene.width, scene.height)
  let photos = PhotoOutput()
  let session = try CaptureSession()
  let camera = CaptureDevice(scene: SceneDevice(scene, sizes: [size]))
  try await session.configure { c throws(CaptureError) in
    c.add(try DeviceInput(camera))
    c.preset = .size(size)
    c.add(photos)
  }
  try await session.start()
  let frameTime = 1e9 * Double(scene.rate.seconds) / Double(scene.rate.frames)
  for number in 0..<count {
    // At another moment of the frame each time.
    try await Task.sleep(for: .microseconds(number * 7919 % 33_000))
    let asked = monotonicNow()
    let photo = try await photos.photo()
    guard let record = photo.record else { fail("a photograph without its frame") }
    print(Double(record.captured.nanoseconds - asked) / frameTime)
  }
  await session.stop()
}

func interruptions(_ identity: String, _ path: String) async throws {
  guard let camera = CaptureDevice.device(uniqueID: identity) else { fail("no camera \(identity)") }
  let (movies, photos) = (MovieFileOutput(), PhotoOutput())
  let session = try CaptureSession()
  try await session.configure { c throws(CaptureError) in
    c.add(try DeviceInput(camera))
    c.preset = .size(CameraSize(320, 180))
    c.add(movies)
    c.add(photos)
  }
  let told = session.interruptions
  try await session.start()
  let recording = try movies.startRecording(to: path)
  let before = try await photos.photo()
  print("running")
  fflush(nil)
  var isOver = false
  for await event in told {
    switch event {
    case .began(let reason):
      isOver = reason != .noFrames
      print("began \(reason)")
    case .ended(let pause): print("ended \(pause >= .seconds(1))")
    case .soundBegan, .soundEnded: break
    }
    fflush(nil)
    if case .ended = event, isOver || hasInputEnded() { break }
  }
  let after = try await photos.photo()
  recording.stop()
  let result = await recording.finished()
  await session.stop()
  let isLater = (after.record?.number ?? 0) > (before.record?.number ?? 0)
  print("usable \(result.isUsable) later \(isLater) balanced", terminator: " ")
  print(await session.summary?.ledger.isBalanced ?? false)
}

/// Whether standard input has ended, or there is something to be read.
func hasInputEnded() -> Bool {
  var input = pollfd(fd: 0, events: Int16(POLLIN), revents: 0)
  return unsafe poll(&input, 1, 0) > 0
}

@main struct SessionCost {
  static func main() async {
    let words = Array(CommandLine.arguments.dropFirst())
    if words.count == 3, words[0] == "interruptions" {
      do {
        return try await interruptions(words[1], words[2])
      } catch {
        fail("\(error)")
      }
    }
    guard let count = words.last.flatMap({ Int($0) }), let work = words.first, count > 0 else {
      fail("say what to measure, of which kind, and how often: frames session mjpeg 200")
    }
    let kind = words.dropFirst().first ?? ""
    do {
      switch (work, words.count) {
      case ("frames", 4):
        try await frames(kind, words.dropFirst(2).first == "nv12" ? .nv12 : .mjpeg, count)
      case ("latency", 3): try await latency(kind, count)
      case ("start", 3): try await starts(kind, count)
      case ("photos", 2): try await photos(count)
      default: fail("knows frames, latency, start, photos and interruptions, not \(work)")
      }
    } catch {
      fail("\(error)")
    }
  }
}
