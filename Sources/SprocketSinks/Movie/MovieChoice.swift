package import SprocketCore

/// What one recording of a movie on demand has in place of its sink's own settings. `MovieSink.prepare` reads
/// it: set it while a recording is asked for.
package final class MovieChoice: Sendable {
  /// `nil`: the sink's own.
  package struct Value: Sendable {
    package var limits: RecordingLimits?
    package var metadata: MovieMetadata?

    package init(limits: RecordingLimits? = nil, metadata: MovieMetadata? = nil) {
      (self.limits, self.metadata) = (limits, metadata)
    }
  }

  private let present = Locked(Value())

  package init() {}

  var value: Value { present.withLock { $0 } }

  /// Files that `body` asks for have these. Not for two threads at once.
  package func hold<Result>(
    _ value: Value, _ body: () throws(RunError) -> Result
  ) throws(RunError) -> Result {
    present.withLock { $0 = value }
    defer { present.withLock { $0 = Value() } }
    return try body()
  }
}
