// The scene's own JPEG frames, one behind the other, on standard output.
//
//   SceneClip WIDTH HEIGHT FRAMES QUALITY

import Glibc
import Sprocket

/// Writes frames as the source delivered them.
final class EncodedSink: Sink {
  let name = "encoded"

  func configure(_ setup: inout SinkSetup) throws(RunError) { try setup.reads(.encoded) }

  func write(_ frame: borrowing PackedFrame) throws(RunError) {
    var rest = frame.view.encoded
    while !rest.isEmpty {
      let count = unsafe rest.withUnsafeBytes { bytes in
        unsafe Glibc.write(STDOUT_FILENO, bytes.baseAddress, bytes.count)
      }
      guard count > 0 else { throw RunError(.failed, "standard output takes no more") }
      rest = rest.extracting(droppingFirst: count)
    }
  }
}

@main
enum SceneClip {
  static func main() throws {
    let numbers = CommandLine.arguments.dropFirst().compactMap { Int($0) }
    guard numbers.count == 4, let scene = builtinSources.first(where: { $0.name == "scene" }) else {
      print("usage: SceneClip WIDTH HEIGHT FRAMES QUALITY")
      exit(2)
    }
    let source = try scene.make(
      values: ["pace": "fast", "quality": String(numbers[3]), "subsampling": "420"],
      request: FormatRequest(format: .mjpeg, size: (numbers[0], numbers[1]), rate: nil))
    let engine = try Engine(
      source: source, stages: [], sinks: [EncodedSink()],
      options: RunOptions(frameLimit: UInt64(numbers[2])))
    try engine.start()
    while !engine.wait(for: .seconds(3600)) {}
    for error in engine.summary.errors { throw error }
  }
}
