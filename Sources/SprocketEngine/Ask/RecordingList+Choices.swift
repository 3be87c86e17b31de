internal import SprocketCore

// Requests for one frame that is chosen by its time, as they are asked.
extension RecordingList {
  /// Throws if no on-demand sink has that name, if no recording can have so many frames, or if the sink keeps
  /// no frame that is chosen so.
  func check(sink name: String, frames: UInt64?, choice: FrameChoice?) throws(RunError) {
    try Self.check(frames)
    _ = try sink(named: name, for: choice)
  }

  func sink(named name: String, for choice: FrameChoice?) throws(RunError) -> Int {
    try state.withLock { (state) throws(RunError) in
      let sink = try state.book.sink(named: name)
      if let choice { try state.outputs[sink]?.recorder.recorder.require(choice) }
      return sink
    }
  }
}

extension Recorder {
  /// Throws if the sink cannot have kept a frame of that time. A time that `Moment.captured` gives by itself
  /// is looked at when the frame is chosen.
  func require(_ choice: FrameChoice) throws(RunError) {
    guard let preRoll, preRoll.use == .choices else {
      throw RunError(
        .usage,
        "\(name) keeps no frames that could be chosen by their time; give stills a pre-roll, such as 1s"
      )
    }
    guard choice.ago <= preRoll.duration else {
      throw RunError(
        .usage,
        "\(name) keeps the frames of the latest \(preRoll.duration.settingText); ask for one of these, or "
          + "give the pre-roll more time")
    }
  }
}

extension Request {
  var choice: FrameChoice? {
    if case .choose(_, _, let choice) = self { choice } else { nil }
  }
}

extension RecordingJob {
  /// Notes which time the choice is about.
  func aim(at moment: Moment) {
    switch moment.earlier(by: choice?.ago ?? .zero) {
    case .frame(let number): askedFrame = number
    case .captured(let time): chosenTime = time
    case .time(let time): askedTime = time
    case .now: break
    }
  }
}

extension Moment {
  /// The moment from which a frame of the past can be chosen: no later frame is waited for.
  func earlier(by ago: Duration) -> Moment {
    guard case .captured(var time) = self else { return self }
    time.nanoseconds =
      time.nanoseconds.subtractingReportingOverflow(ago.nanosecondCount)
      .partialValue
    return .captured(time)
  }
}
