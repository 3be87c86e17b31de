import Foundation
import Sprocket
import SprocketCapture
import TestExpectations
import Testing

/// Small scenes as cameras, quick to draw, with different largest sizes.
enum Cameras {
  static let small = CameraSize(64, 48)
  static let middle = CameraSize(96, 72)
  /// The back camera alone has it.
  static let large = CameraSize(128, 96)

  static func back(_ change: (inout SceneSettings) -> Void = { _ in }) -> CaptureDevice {
    var settings = SceneSettings()
    settings.noise = 0
    change(&settings)
    return CaptureDevice(
      scene: SceneDevice(
        settings, sizes: [small, middle, large]),
      name: "back", position: .back)
  }

  static func front(_ change: (inout SceneSettings) -> Void = { _ in }) -> CaptureDevice {
    var settings = SceneSettings()
    settings.noise = 0
    settings.seed = 2
    change(&settings)
    return CaptureDevice(
      scene: SceneDevice(settings, sizes: [small, middle]),
      name: "front", position: .front)
  }
}

/// Numbers of frames, from any thread.
final class Seen: Sendable {
  struct State: Sendable {
    var numbers: [UInt64] = []
    var sizes: [CameraSize] = []
    var discontinuities: [UInt64] = []
    var drops: [DroppedFrame] = []
  }

  private let state = Locked(State())

  /// Arrays of their own: ThreadSanitizer does not see who else had them.
  var now: State {
    state.withLock { state in
      State(
        numbers: state.numbers.map { $0 }, sizes: state.sizes.map { $0 },
        discontinuities: state.discontinuities.map { $0 }, drops: state.drops.map { $0 })
    }
  }

  func add(_ record: FrameRecord, _ format: FrameFormat) {
    state.withLock { state in
      state.numbers.append(record.number)
      state.sizes.append(CameraSize(format.width, format.height))
      if record.isDiscontinuity { state.discontinuities.append(record.number) }
    }
  }

  func add(_ drop: DroppedFrame) { state.withLock { $0.drops.append(drop) } }

  /// Waits until so many frames have come; false if they do not.
  func wait(for count: Int) async -> Bool {
    await until { self.now.numbers.count >= count }
  }
}

/// Waits until the recording has 100 ms: one that has begun may still lose its first frame.
func filled(_ recording: Recording?, of movies: MovieFileOutput) async -> Bool {
  guard let recording else { return false }
  for await event in recording.events {
    if case .didStart = event { break }
  }
  return await until { movies.recordedDuration > .milliseconds(100) }
}

/// An output that notes its frames. `delay` keeps its callback busy.
func watching(
  _ seen: Seen, reading parts: FrameParts = .luma(.eighth), discardsLateFrames: Bool = true,
  delay: Int64 = 0
) -> VideoDataOutput {
  VideoDataOutput(
    reading: parts, discardsLateFrames: discardsLateFrames, onDrop: { seen.add($0) },
    onFrame: { frame in
      seen.add(frame.record, frame.format)
      if delay > 0 { sleep(until: monotonicNow() + delay) }
    })
}

/// A value that many tasks change.
final class Shared<Value: Sendable>: Sendable {
  private let state: Locked<Value>

  init(_ value: Value) { state = Locked(value) }

  var value: Value { state.withLock { $0 } }

  func change(_ body: (inout Value) -> Void) {
    state.withLock { value in
      var copy = value
      body(&copy)
      value = copy
    }
  }
}

/// What ffprobe says of a file: a line for each stream.
func ffprobe(
  _ path: String, _ entries: String, format: String = "csv=p=0"
) throws -> [String] {
  let process = Process()
  process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
  process.arguments = ["ffprobe", "-v", "error", "-show_entries", entries, "-of", format, path]
  let pipe = Pipe()
  process.standardOutput = pipe
  try process.run()
  let text = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
  process.waitUntilExit()
  return text.split(separator: "\n").map { String($0) }
}
