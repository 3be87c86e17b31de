import Sprocket
import SprocketCapture
import SprocketPipelines
import TestExpectations
import Testing

/// Parts of the picture: in a movie alone, and for all outputs while the session runs.
@Suite("Zoom and crop", .serialized) struct ZoomTests {
  private func running(
    _ stages: [StageChoice], _ movies: MovieFileOutput, _ other: some TakesVideo
  ) async throws -> CaptureSession {
    let session = try CaptureSession()
    try await session.configure { c throws(CaptureError) in
      c.add(try DeviceInput(Cameras.back()))
      c.preset = .size(Cameras.middle)
      c.stages = stages
      c.add(movies)
      c.add(other)
    }
    try await session.start()
    return session
  }

  @Test(
    "a movie's own part and size leave the picture of all others whole", arguments: [true, false])
  func movie(isEncoded: Bool) async throws {
    let folder = try TestFolder()
    let shape = MovieShape(
      crop: Region(x: 0.25, y: 0.25, width: 0.5, height: 0.5),
      size: TargetSize(width: 32, height: 32), fit: .fill)
    let movies = MovieFileOutput(
      codec: isEncoded ? .h264 : MovieCodec(), shape: shape,
      preRoll: isEncoded ? PreRoll(.milliseconds(200)) : nil)
    let preview = PreviewOutput()
    let session = try await running([], movies, preview)
    let path = folder.file("part.mov")
    let recording = try movies.startRecording(to: path)
    await expectTrue(filled(recording, of: movies))
    recording.stop()
    let result = await recording.finished()
    expectNil(result.error)
    expectEqual(preview.newestFrame?.width, 96)
    try expectEqual(ffprobe(path, "stream=width,height"), ["32,32"])
    let part = try #require(try await session.pipeline).outputs.first
    expectEqual(part?[MovieSettings.self]?.shape, shape)
    await session.stop()
  }

  @Test("another region of the stage resize zooms with the next frame, and nothing begins anew")
  func zoom() async throws {
    let folder = try TestFolder()
    let seen = Seen()
    let corners = Shared<[Double]>([])
    let movies = MovieFileOutput()
    let data = VideoDataOutput(reading: .luma(.eighth), discardsLateFrames: false) { frame in
      seen.add(frame.record, frame.format)
      let corner = frame.sensorPoint(-0.5, -0.5).x + 0.5
      corners.change { if $0.last != corner { $0.append(corner) } }
    }
    func stage(_ region: Region) -> StageChoice {
      .resize { ($0.size, $0.region) = (TargetSize(width: 48, height: 36), region) }
    }
    let session = try await running([stage(.whole)], movies, data)
    let recording = try movies.startRecording(to: folder.file("zoom.mov"))
    await expectTrue(filled(recording, of: movies))
    var wanted: [Double] = [0]
    for step in 1...4 {
      let side = 1 - 0.2 * Double(step)
      let region = Region(x: 0.1 * Double(step), y: 0.1, width: side, height: side)
      try await session.configure { c in c.stages = [stage(region)] }
      wanted.append(96 * region.x)
      let count = wanted.count
      await expectTrue(until { corners.value.count >= count })
    }
    let frames = seen.now.numbers.count
    await expectTrue(seen.wait(for: frames + 2))
    recording.stop()
    let result = await recording.finished()
    expectNil(result.error)
    await session.stop()
    for (corner, right) in zip(corners.value, wanted) { expectLess(abs(corner - right), 1e-6) }
    expectEqual(corners.value.count, wanted.count)
    expectEqual(seen.now.discontinuities, [0])
    expectEqual(Set(seen.now.sizes), [CameraSize(48, 36)])
    expectEqual(folder.names, ["zoom.mov"])
    try await result.verify()
  }

  /// Another crop is another chain, and an epoch: but the movie goes on in its file.
  @Test("a movie goes on when the crop changes before a resize that fills its size")
  func cropThenResize() async throws {
    let folder = try TestFolder()
    let seen = Seen()
    let movies = MovieFileOutput(codec: .h264)
    func stages(_ side: Double) -> [StageChoice] {
      [
        .crop { $0.region = Region(x: 0.1, y: 0.1, width: side, height: side) },
        .resize { ($0.size, $0.mode) = (TargetSize(width: 64, height: 48), .fill) },
      ]
    }
    let session = try await running(stages(0.9), movies, watching(seen))
    let recording = try movies.startRecording(to: folder.file("a.mov"))
    await expectTrue(filled(recording, of: movies))
    // Parts whose own aspect is rounded to that of no whole pixels.
    for side in [0.71, 0.55, 0.33] {
      let count = seen.now.discontinuities.count
      try await session.configure { c in c.stages = stages(side) }
      await expectTrue(until { seen.now.discontinuities.count > count })
    }
    await expectTrue(until { movies.recordedDuration > .milliseconds(300) })
    expectTrue(movies.isRecording)
    recording.stop()
    let result = await recording.finished()
    expectNil(result.error)
    await session.stop()
    expectEqual(Set(seen.now.sizes), [CameraSize(64, 48)])
    expectEqual(folder.names, ["a.mov"])
    try await result.verify()
  }
}
