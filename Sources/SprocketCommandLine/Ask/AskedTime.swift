internal import Sprocket

/// Moment from which a request holds, and the client that made it.
struct AskedTime {
  var moment = Moment.now
  var holder = RequestHolder.program

  /// The time from which a past moment is counted back: that of the asking, unless a frame is named.
  var counted: AskedTime {
    guard moment == .now else { return self }
    let now = Timestamp(nanoseconds: monotonicNow(), clock: .monotonic)
    return AskedTime(moment: .captured(now), holder: holder)
  }
}
