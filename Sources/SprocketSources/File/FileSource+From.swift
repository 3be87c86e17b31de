internal import SprocketCore
internal import SprocketLibAV

// Beginning in mid-file.

extension FileSource {
  /// Replaces the held first frame by the first one at or after `target` on the file's clock (nanoseconds);
  /// holds none if there is none.
  func begin(at target: Int64) throws(MediaError) {
    guard held != nil else { return }
    if isTimeGiven, !isPipe {
      let isSought = reader?.seek(toNanoseconds: target) == true
      if isSought {
        discard()
        try read()
      }
      // Read from the start if the file cannot seek, if its index led to a later frame, or if the
      // frame found needs an earlier one to be decoded.
      if !isSought || held.map({ $0.isCorrupt || $0.time > target }) ?? true {
        discard()
        _ = try openReader()
        try read()
      }
    }
    while let frame = held, frame.time < target {
      discard()
      try read()
    }
    place = 0
    lastTime = held?.time
    leadIn = held.map { .nanoseconds($0.time.clampedDifference(target)) } ?? .zero
  }

  /// Whether the file itself gives the held frame's time. A time made by the reader counts from
  /// where reading began, so it is wrong after a seek.
  private var isTimeGiven: Bool {
    if packet != nil { return packet?.isTimeMade == false }
    return picture?.isTimeMade == false
  }
}
