internal import SprocketCore
internal import SprocketMCAP
internal import SprocketRecords
internal import SprocketTimes
internal import Synchronization

// Messages of a replay about its file.

/// The time between the first and the last frame of a dump, and its gaps.
public struct ReplayExtent: Sendable {
  /// From the start of the first frame to the end of the frame that ends last.
  public var nanoseconds: Int64 = 0
  /// Number of frames without a picture in the dump. The dump lists such a frame without bytes, or has no
  /// entry for its number.
  public var missingFrames: UInt64 = 0
  /// Number of gaps between two frames: frames are missing there, or the source was away.
  public var gaps: UInt64 = 0
  /// Sum of the lengths of these gaps, in nanoseconds.
  public var missing: Int64 = 0
}

extension ReplaySource {
  func nothingToPlay() -> RunError {
    if reader?.microphoneCount(topics) ?? 0 > 0 {
      return RunError(
        .usage,
        "\(path) has sound alone; play it with the source none and the microphone replay:\(path)",
        change: .source)
    }
    if index?.sessions.isEmpty == false {
      return RunError(
        .usage,
        "\(path) is a dump without a whole chunk of frames: there is nothing to replay; record it anew"
      )
    }
    if let place = reader?.damagedAt {
      return RunError(
        .usage,
        "\(path) is damaged at byte \(place), before its first frame: copy or record it anew"
      )
    }
    let kinds =
      "JPEGs or pictures of a known format, as Foxglove (CompressedImage, RawImage) or ROS 2 has them"
    return RunError(
      .usage, "\(path) has no frames to replay: give a dump, or an MCAP file with \(kinds)")
  }

  /// Returns what is known when the file has been opened; begins with `choice`.
  func note(_ index: ReplayIndex, _ choice: String?) -> String? {
    var notes = choice.map { [$0] } ?? []
    if reader?.isComplete == false {
      let lost = index.cutFrames
      let end =
        if let place = reader?.damagedAt {
          "is damaged at byte \(place); it is replayed up to there"
        } else {
          "was cut off; it is replayed up to its last whole chunk"
        }
      notes.append(
        "\(path) \(end)" + (lost > 0 ? ", without the last \(lost) frames that it tells of" : ""))
    }
    if index.excessFrames > 0 {
      notes.append(
        "\(path) tells of \(index.excessFrames) frames without bytes more than a file of its size can "
          + "know of; they are left out")
    }
    let late = settings.live ? 0 : index.lateCount
    if late > 0 {
      let frames = late == 1 ? "1 frame" : "\(late) frames"
      notes.append("\(frames) of \(path) came too late then: the stage latedrop drops them again")
    }
    if index.sessions.contains(where: \.format.pixelFormat.hasAlpha)
      || session?.format.pixelFormat.hasAlpha == true
    {
      notes.append(FileSource.possibleTransparency(path))
    }
    notes += index.gate.notes(of: path)
    return notes.isEmpty ? nil : notes.joined(separator: "; ")
  }

  /// Measures the dump's time and gaps. A frame lasts for `interval` nanoseconds. Call it after ``open()``.
  public func extent(interval: Int64) -> ReplayExtent {
    var extent = ReplayExtent()
    var (lost, next, epoch) = (UInt64(0), index?.frames.first?.number ?? 0, UInt32(0))
    var begin: Int64?
    // Kept as the maximum, because capture times may go back.
    var end = Int64.min
    for frame in index?.frames ?? [] {
      lost &+= (frame.number > next ? frame.number - next : 0) &+ frame.skipped
      next = frame.number &+ max(frame.skipped, 1)
      // A range of frames without bytes has no time.
      guard frame.skipped == 0 else { continue }
      if begin == nil {
        begin = frame.captured
      } else {
        let difference = frame.captured.subtractingReportingOverflow(end)
        let pause = difference.overflow ? 0 : max(0, difference.partialValue)
        if lost > 0 || (frame.epoch != epoch && pause > interval / 2) {
          extent.gaps += 1
          extent.missing = extent.missing.clampedSum(pause)
        }
      }
      extent.missingFrames &+= lost
      (lost, epoch) = (0, frame.epoch)
      end = max(end, frame.captured.clampedSum(interval))
    }
    extent.missingFrames &+= lost
    if let begin {
      let span = end.subtractingReportingOverflow(begin)
      extent.nanoseconds = span.overflow ? 0 : span.partialValue
    }
    return extent
  }

  public var notes: [String] {
    let places = damaged.withLock { $0 }
    guard let first = places.first else { return [] }
    let more = places.count > 1 ? " and in \(places.count - 1) more" : ""
    return [
      "\(path) is damaged in the chunk at byte \(first)\(more): its frames are corrupt and empty"
    ]
  }
}
