internal import SprocketCore
internal import SprocketLibAV
internal import Synchronization

/// Where a movie ends that is told so from outside: at a time, or without a file.
package final class MovieEnding: Sendable {
  /// Nanoseconds; the largest number: as the pictures do.
  private let nanoseconds = Atomic<Int64>(.max)
  private let keeps = Atomic<Bool>(false)
  private let givenUp = Atomic<Bool>(false)
  /// Pictures behind the end.
  private let leftOut = Atomic<UInt64>(0)

  /// `nil` while none was told.
  var time: Int64? {
    let time = nanoseconds.load(ordering: .acquiring)
    return time == .max ? nil : time
  }
  /// Without a time the movie ends with the last picture, also where sound went on behind it.
  var keepsToPictures: Bool { keeps.load(ordering: .acquiring) }
  var isGivenUp: Bool { givenUp.load(ordering: .acquiring) }
  var leftOutFrames: UInt64 { leftOut.load(ordering: .acquiring) }

  func end(at time: Int64) { nanoseconds.store(time, ordering: .releasing) }
  func keepToPictures() { keeps.store(true, ordering: .releasing) }
  package func giveUp() { givenUp.store(true, ordering: .releasing) }
  func count(_ frames: UInt64) { leftOut.add(frames, ordering: .acquiringAndReleasing) }

  /// Whether a frame is behind the end; counts it.
  func leavesOut(_ record: FrameRecord) -> Bool {
    guard record.captured.nanoseconds >= nanoseconds.load(ordering: .acquiring) else {
      return false
    }
    count(1)
    return true
  }
}

extension MovieSink {
  /// Makes no file of the pictures so far: it is removed when the run ends. From any thread.
  package func giveUp() { ending.giveUp() }

  /// Ends pictures and sound at a time (nanoseconds), which the sink's own file does not show any more: the
  /// last picture lasts until then, and sound that comes up to then is taken. From any thread, before the
  /// run ends.
  package func end(at time: Int64) { ending.end(at: time) }

  /// Ends the sink's own file with its last picture, if no other time is told: sound that goes on for a while
  /// without pictures is left out then, where else the last picture lasts so long. Before the run begins.
  package func endWithPictures() { ending.keepToPictures() }

  /// Pictures that were given and are not in the file, since they are behind its end.
  package var framesPastEnd: UInt64 { ending.leftOutFrames }

  /// Says what the end that was told did to a file.
  func noteEnd(of file: MovieRecording) {
    guard let end = ending.time else { return }
    ending.count(file.pastEnd.leftOut)
    if file.pastEnd.shown > 0 {
      note(
        "\(name): pictures behind the end that were written before it was known: "
          + "\(file.pastEnd.shown); they stay in it, since only .mov and .mp4 can leave them out")
    }
    guard file.hasNoLastLength, end > file.lastTime.clampedSum(file.nominalLength ?? 0) else {
      return
    }
    note(
      "\(name): .\(file.container.rawValue) files do not say how long the last picture lasts; a .mov or "
        + ".mp4 does, and so does a track of sound")
  }
}

extension MovieRecording {
  /// The file says by nothing how long its last picture lasts.
  fileprivate var hasNoLastLength: Bool {
    (container == .mkv || container == .webm) && tracks.isEmpty
  }
}
