import Foundation
import Sprocket
import SprocketCapture
import SprocketPipelines
import TestExpectations
import Testing

/// What a session describes, in the words of files.
@Suite("A session's description") struct DescriptionTests {
  private func session<each Output: CaptureOutput>(_ outputs: repeat each Output) async throws
    -> CaptureSession
  {
    let session = try CaptureSession()
    try await session.configure { c throws(CaptureError) in
      c.add(try DeviceInput(CaptureDevice.scenes[0]))
      func add(_ output: some CaptureOutput) { c.add(output) }
      repeat add(each outputs)
      c.preset = .vga640x480
      c.stages = [.meter { $0.mode = .spot }]
    }
    return session
  }

  /// A judge holds Python's against the same file (test_python.py).
  @Test("is that of an equal run of Python's") func equalRun() async throws {
    let session = try await session(VideoDataOutput { _ in })
    let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().appendingPathComponent("Judges/equal_run.json")
    let pipeline = try #require(try await session.pipeline)
    expectEqual(try String(contentsOf: file, encoding: .utf8), Tree(Run(pipeline)).json + "\n")
  }

  @Test("has outputs that wait, each by a name of its own") func outputs() async throws {
    let session = try await session(
      MovieFileOutput(quality: 80), PhotoOutput(), MovieFileOutput())
    let pipeline = try #require(try await session.pipeline)
    expectEqual(pipeline.outputs.map(\.id), ["movie", "stills", "movie2"])
    expectEqual(pipeline.outputs["movie"]?[MovieSettings.self]?.quality, 80)
    expectTrue(pipeline.waitsForRequests)
    expectNil(try await CaptureSession().pipeline)
  }
}
