import SprocketCore
internal import SprocketLibAV

// Kinds of movies: by the ending of a name, and on standard output.
extension MovieSink {
  /// The name that means standard output.
  static let standardOutput = "-"

  /// Why a recording cannot go there.
  static let isOneStream =
    "standard output takes one movie, from the run's first frame to its last; give a file, or leave out what "
    + "begins, ends or splits recordings"

  /// Whether the movie goes to standard output: as fragments, of which none is changed later.
  var isStream: Bool { path == Self.standardOutput }

  /// The kind of the movies whose names are made of the sink's own.
  var ownContainer: MovieContainer {
    get throws(RunError) {
      if lacksNumber, !isStream { throw RunError(.usage, KeptTotal.needsNumber, change: .sink) }
      guard isStream else { return try Self.container(path) }
      guard !isOnDemand else { throw RunError(.usage, Self.isOneStream, change: .sink) }
      return streamContainer
    }
  }

  static func container(_ path: String) throws(RunError) -> MovieContainer {
    if let container = MovieContainer(path: path) { return container }
    guard path != standardOutput else {
      throw RunError(
        .usage,
        "cannot write movie to -: standard output takes the one movie of a run that encodes it; give the "
          + "name of a file")
    }
    let known = MovieContainer.allCases.map { ".\($0.rawValue)" }.joined(separator: ", ")
    throw RunError(
      .usage,
      "cannot write movie to \(path): the ending says what kind of file it is; give one of \(known)"
    )
  }

  /// Throws for JPEG images where the container has none.
  static func checkJPEG(_ container: MovieContainer) throws(RunError) {
    guard !container.holdsJPEG else { return }
    throw RunError(
      .usage,
      "movie: .\(container.rawValue) files do not hold JPEG; choose the codec vp9, vp8 or av1",
      change: .codec)
  }

  /// Begins the file that holds pictures of the present format.
  func goOn() throws(RunError) {
    if let recording, recording.isEmpty {
      describe(recording)
    } else if isStream {
      throw RunError(
        .failed,
        "the pictures of the source changed, which a movie on standard output cannot follow; start again, or "
          + "give the movie a file")
    } else {
      // Recording goes on in the next file even if this one cannot be completed; `finish` throws
      // the error.
      do throws(RunError) { try close() } catch { failure = failure ?? error }
      try begin(try ownContainer)
    }
  }
}
