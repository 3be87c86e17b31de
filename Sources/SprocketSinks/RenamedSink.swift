internal import SprocketCore

/// A sink that can have another name than its kind, in a run that has two of a kind.
protocol RenamedSink: Sink {
  var name: String { get set }
}

extension OutputRequest {
  /// Gives a sink that was just made the name that is asked for.
  func naming<Made: RenamedSink>(_ sink: Made) -> Made {
    if let name { sink.name = name }
    return sink
  }
}
