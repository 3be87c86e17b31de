import SprocketCore

// What happens at each frame: answers in, a look, a write, a report.

extension AutoFocus {
  func report(at number: UInt64) -> Report? {
    guard let control else { return nil }
    var report = Report(control)
    report.isShown = wanted == nil && lens?.isShown(at: number) == true
    return report
  }

  /// Takes what the source said of writes.
  mutating func takeAnswers(_ frame: borrowing FrameView) {
    for index in 0..<frame.eventCount {
      switch lens?.answer(frame.event(index)) {
      case .applied: answer = frame.event(index).number
      case .refused: stop("the camera refuses to move the lens")
      case nil: break
      }
    }
  }

  func look(at frame: borrowing FrameView) -> SceneLook? {
    guard let focus, let report = frame.read(focus) else { return nil }
    return SceneLook(report, luma: meter.flatMap { frame.read($0) }?.mean)
  }

  mutating func move(_ look: SceneLook, _ record: FrameRecord) {
    if wanted == nil {
      let position = Double(record.inForce.lensPosition)
      wanted = control?.next(
        look, number: record.number, at: record.captured.nanoseconds, answer: answer,
        lens: position.isNaN ? nil : position)
      if let frames = control?.takeMeasuredLag() { lens?.measured(pictureDelay: frames) }
      if control?.state == .failed { stop("the lens does not answer") }
    }
    guard let target = wanted, lens?.write(target, at: record.number) == true else { return }
    wanted = nil
    answer = nil
  }

  /// Leaves the lens alone from here on.
  mutating func stop(_ reason: String) {
    guard !hasEnded else { return }
    hasEnded = true
    notes.append("autofocus ended: \(reason)")
    control?.fail()
    wanted = nil
  }
}

extension AutoFocus.Mode {
  func control(_ position: Double) -> FocusControl.Mode {
    switch self {
    case .locked: .locked
    case .auto: .auto
    case .continuous: .continuous
    case .custom: .custom(position)
    }
  }
}

extension SceneLook {
  /// Without contrast, as where all is black, there is only noise to be scored. However little there
  /// is of it, it may be that of a scene far out of focus, and counts.
  init(_ report: FocusReport, luma: Double?) {
    self.init(score: report.contrast > 0 ? report.score : nil, luma: luma)
  }
}

extension LensRange {
  init(_ control: SteeredControl) {
    let description = control.description
    grid = description.step / (description.maximum - description.minimum)
    countsFromFar = control.nearest(to: 1) == 1
  }
}
