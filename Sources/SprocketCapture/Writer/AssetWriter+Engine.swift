internal import Sprocket

extension AssetWriter {
  /// The engine that writes the file, its sink, and its sound.
  func makeEngine(
    _ video: VideoInput, _ audios: [AudioInput]
  ) throws(CaptureError) -> (Engine, MovieSink, [AudioEngine]) {
    let codec = try video.settings.movieCodec(video.format.rate)
    let stages = try video.settings.stages()
    let recorded = try audios.map { (input) throws(CaptureError) in
      try input.settings.recorded(input.format)
    }
    guard Set(recorded).count <= 1 else {
      throw CaptureError(
        .settingsRefused, "all sound of a file has the same settings; give its inputs equal ones")
    }
    do throws(RunError) {
      let isLive = expectsMediaDataInRealTime
      let pictures = video.makeSource(isLive: isLive, timeline)
      timeline.open(pictures, sounds: audios.count)
      let sounds = try audios.map { (input) throws(RunError) in
        try AudioEngine(
          input.makeSource(isLive: isLive, clock: pictures.clock, timeline), held: Self.held)
      }
      let movie = MovieSink(
        path: path, quality: video.settings.quality, codec: codec, overwrite: overwrite,
        sound: try sounds.map { (sound) throws(RunError) in try sound.makeTap(for: "movie") },
        soundSettings: recorded.first ?? RecordedSound(), metadata: metadata)
      movie.endWithPictures()
      let engine = try Engine(source: pictures, stages: stages, sinks: [movie], audio: sounds)
      return (engine, movie, sounds)
    } catch {
      throw CaptureError(error, .settingsRefused)
    }
  }

  /// For how long sound waits for pictures, live. A movie that ends with its pictures takes sound without
  /// them after 10 s. Larger: more memory, 200 KB a second at 48 kHz stereo; less than 10 s: sound is lost
  /// where pictures pause.
  private static let held = Duration.seconds(12)
}
