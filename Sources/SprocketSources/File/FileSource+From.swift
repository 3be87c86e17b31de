internal import SprocketCore
internal import SprocketLibAV

// Beginning in mid-file.

extension FileSource {
  /// With the first frame held: holds the first one at or after `from` instead, or none.
  func begin(at from: Duration) throws(MediaError) {
    guard let first = held?.time else { return }
    let (sum, overflow) = first.addingReportingOverflow(from.nanosecondCount)
    let target = overflow ? .max : sum
    if isTimeGiven {
      let isSought = reader?.seek(toNanoseconds: target) == true
      if isSought {
        discard()
        try read()
      }
      // From the start where the file cannot be sought, where its index pointed too late, and where the
      // first frame needs an earlier one.
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
  }

  /// Whether the held frame's time is the file's own: a made one counts frames from where one began.
  private var isTimeGiven: Bool {
    if packet != nil { return packet?.isTimeMade == false }
    return picture?.isTimeMade == false
  }
}
