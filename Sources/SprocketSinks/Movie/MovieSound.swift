internal import SprocketCore

/// The sound that goes into a sink's movies: a track for each microphone.
struct MovieSound {
  var readers: [AudioReader] = []
  var settings = RecordedSound()

  init() {}

  init(_ taps: [any AudioTap], _ settings: RecordedSound) {
    readers = taps.map { AudioReader($0) }
    self.settings = settings
  }

  /// Sound does not wait.
  var isLive: Bool { readers.contains { $0.isLive } }

  /// Tracks of a file that begins at `time` (nanoseconds).
  func tracks(from time: Int64) throws(RunError) -> [AudioTrack] {
    var tracks: [AudioTrack] = []
    for reader in readers { tracks.append(try AudioTrack(reader, settings, start: time)) }
    return tracks
  }

  /// At the run's end: accounts for what no file wants.
  func close() {
    for reader in readers {
      reader.skip()
      reader.tap.close()
    }
  }
}
