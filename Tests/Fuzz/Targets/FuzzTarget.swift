internal import Glibc

/// Code that takes bytes from outside, and is given any.
///
/// A target throws nothing away: errors that the code throws are what it should do. Found is what traps,
/// what AddressSanitizer sees, what takes too long or too much memory, and what `expect` is told.
struct FuzzTarget: Sendable {
  /// As the folder of its corpus is called.
  let name: String
  let feed: @Sendable ([UInt8]) -> Void

  static let all = [
    FuzzTarget(name: "description", feed: feedDescription),
    FuzzTarget(name: "exif", feed: feedEXIF),
    FuzzTarget(name: "file", feed: feedFileSource),
    FuzzTarget(name: "jpeg-decoder", feed: feedJPEGDecoder),
    FuzzTarget(name: "jpeg-structure", feed: feedJPEGStructure),
    FuzzTarget(name: "json", feed: feedJSON),
    FuzzTarget(name: "lz4", feed: feedLZ4),
    FuzzTarget(name: "mcap", feed: feedMCAP),
    FuzzTarget(name: "movie-index", feed: feedMovieIndex),
    FuzzTarget(name: "replay", feed: feedReplay),
    FuzzTarget(name: "sound", feed: feedFileAudioSource),
    FuzzTarget(name: "times", feed: feedTimes),
    FuzzTarget(name: "values", feed: feedValues),
    FuzzTarget(name: "zstd", feed: feedZstd),
  ]
}

/// Ends the program where the code under test did wrong.
func expect(_ isRight: Bool, _ sentence: @autoclosure () -> String) {
  if isRight { return }
  // A release build keeps what it traps for to itself.
  print("found:", sentence())
  fflush(nil)
  preconditionFailure("found")
}
