// Three ways to record: one call, a movie output, and frames and sound that the program writes itself.

import ArticleTools
import Sprocket
import SprocketCapture

// MARK: 1. One call

/// As the system's camera: quality and the longest duration can be chosen, and nothing else.
@MainActor func recordWithOneCall(_ arguments: Arguments) async throws {
  say("authorization: \(arguments.back.authorization)")
  for (name, device) in [("back", arguments.back), ("front", arguments.front)] {
    guard let device else { continue }
    let result = try await Camera(device).record(
      to: arguments.path("call-\(name).mov"), quality: .medium, maximumDuration: .seconds(1))
    say("one call: call-\(name).mov, \(milliseconds(result.duration))")
  }
}

// MARK: 2. A movie output

/// The output writes the file. The stage `stabilize` holds the picture still; the orientation is the file's
/// display matrix.
@MainActor func recordWithMovieOutput(_ arguments: Arguments) async throws {
  let movies = MovieFileOutput()
  let session = try CaptureSession()
  let added = try await session.configure { c throws(CaptureError) in
    c.add(try DeviceInput(arguments.back))
    c.add(try DeviceInput(arguments.microphone))
    if c.canSet(.vga640x480).isYes { c.preset = .vga640x480 } else { c.preset = .medium }
    c.stages = [.stabilize { $0.crop = 0.08 }]
    return c.add(movies)
  }
  try added.link(for: .video).setOrientation(.quarterTurn)
  // Frames flow, and none is written before the recording begins.
  try await session.start()
  try await wait(.milliseconds(500))
  let recording = try movies.startRecording(to: arguments.path("output.mov"))
  try await wait(.milliseconds(1500))
  recording.stop()
  let result = await recording.finished()
  await session.stop()
  if let error = result.error { throw error }
  say("movie output: output.mov, \(milliseconds(result.duration)), stabilized, a quarter turn")
}

// MARK: 3. Frames and sound, and a writer

/// The shape of a movie as it is shown: 1:1, 4:3, or that of the whole screen.
struct Shape {
  let name: String
  let width: Int
  let height: Int

  static let all = [
    Shape(name: "1x1", width: 480, height: 480), Shape(name: "4x3", width: 480, height: 640),
    Shape(name: "full", width: 360, height: 640),
  ]
}

@MainActor func recordWithWriter(_ arguments: Arguments) async throws {
  let takes = Takes()
  let frames = VideoDataOutput(onFrame: { frame in takes.now?.append(frame) })
  let sound = AudioDataOutput { block, samples in takes.append(block, samples) }
  let session = try CaptureSession()
  try await session.configure { c throws(CaptureError) in
    c.add(try DeviceInput(arguments.back))
    c.add(try DeviceInput(arguments.microphone))
    if c.canSet(.vga640x480).isYes { c.preset = .vga640x480 } else { c.preset = .medium }
    c.add(frames)
    c.add(sound)
  }
  try await session.start()
  // The formats are known before the first frame: none is spent to learn them. Sound has times on the
  // pictures' clock when the clock of its device has been measured.
  guard let format = await session.activeFormat else { return }
  for _ in 0..<50 where takes.soundFormat == nil { try await wait(.milliseconds(100)) }
  guard let soundFormat = takes.soundFormat else {
    await session.stop()
    return say("writer: no, the microphone gave no sound with a time")
  }
  for shape in Shape.all {
    let take = try Take(
      path: arguments.path("writer-\(shape.name).mp4"), shape, format, soundFormat)
    takes.now = take
    try await wait(.milliseconds(1300))
    takes.now = nil
    let asset = try await take.finish()
    say(
      "writer: writer-\(shape.name).mp4, \(shape.width)x\(shape.height) as shown, "
        + "\(asset.frames) frames, \(asset.droppedFrames) dropped")
  }
  await session.stop()
}

await article("three-ways") { arguments in
  try await recordWithOneCall(arguments)
  try await recordWithMovieOutput(arguments)
  try await recordWithWriter(arguments)
}
