internal import ArgumentParser
internal import Sprocket

/// What `sprocket run` records frames to.
struct RecordingOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Writes all that the source delivers, as MCAP, to be replayed or read.", valueName: "path"))
  var dump: String?

  func sinks(overwrite: Bool) -> [any Sink] {
    guard let dump else { return [] }
    let sink = DumpSink(path: dump, overwrite: overwrite)
    return [sink, sink.fates]
  }

  /// Files that are written, with the options that name them.
  var paths: [(option: String, path: String?)] { [("--dump", dump)] }
}
