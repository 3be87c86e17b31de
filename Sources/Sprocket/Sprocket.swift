// The library that people import: everything but the command line and the built-in stages.

@_exported public import SprocketCodecs
@_exported public import SprocketCore
@_exported public import SprocketEngine
@_exported public import SprocketFiles
@_exported public import SprocketScene
@_exported public import SprocketSinks
@_exported public import SprocketSources

extension Engine {
  /// A run with this package's own decoders and conversions of pixels.
  ///
  ///     let engine = try Engine(source: scene, stages: [.meter()], sinks: [MovieSink(path: "a.mov")])
  ///     try engine.start()
  ///     while !engine.wait(for: .seconds(1)) { print(engine.progress.produced) }
  ///
  /// Throws where the request is wrong (`.usage`) or the source cannot be opened, in one sentence. Costs
  /// what opening the source costs, and the memory of the frames.
  public convenience init(
    source: any Source, stages: [StageChoice] = [], sinks: [any Sink], audio: [AudioEngine] = [],
    options: RunOptions = RunOptions()
  ) throws(RunError) {
    try self.init(source: source, stages: stages, sinks: sinks, options: options, audio: audio) {
      FrameUnpacker(verifies: options.verifies)
    }
  }
}
