internal import Sprocket
internal import SprocketStages

/// What the loops of a chain said of one frame.
struct LoopReports {
  let exposure: AutoExposureReport?
  let focus: AutoFocus.Report?

  init(_ frame: borrowing FrameView) {
    exposure = frame.report(AutoExposureReport.self)
    focus = frame.report(AutoFocus.Report.self)
  }

  /// Makes empty reports, for a frame whose reports nobody waits for.
  init() { (exposure, focus) = (nil, nil) }

  /// How far a loop is; `nil` if it made no report.
  func progress(of loop: CaptureDevice.Loop) -> LoopProgress? {
    switch loop {
    case .exposure: exposure.map { LoopProgress($0.state) }
    case .focus: focus.map { LoopProgress($0.state) }
    }
  }
}

/// How far a loop is with its work.
enum LoopProgress {
  case underway
  /// It has come to an end, and goes on where the scene changes.
  case settled
  /// It has come to an end, and writes nothing more.
  case locked
  /// It does not get on for the present.
  case unanswered
  /// It has given up.
  case failed

  init(_ state: AutoExposureReport.State) {
    self =
      switch state {
      case .waiting, .adjusting: .underway
      case .converged, .limited: .settled
      case .locked, .custom: .locked
      case .unanswered: .unanswered
      case .refused, .lost: .failed
      }
  }

  init(_ state: AutoFocus.Report.State) {
    self =
      switch state {
      case .waiting, .coarse, .fine, .settling: .underway
      case .focused, .resting: .settled
      case .locked: .locked
      case .failed: .failed
      }
  }
}

/// What a loop was set to, until a frame shows it.
struct LoopWish: Sendable {
  enum Progress { case waiting, shown, failed }

  let loop: CaptureDevice.Loop
  /// Its place among the loop's changes in this chain, from 1.
  let number: Int
  let values: [LoopSetting.Value]
  /// The first frame that the loop has passed with the change, once that is known.
  var first: UInt64?

  func holds(at frame: UInt64) -> Bool { first.map { frame >= $0 } ?? false }

  func progress(at frame: UInt64, _ reports: LoopReports) -> Progress {
    guard holds(at: frame), let progress = reports.progress(of: loop) else { return .waiting }
    if case .failed = progress { return .failed }
    return values.allSatisfy { isShown($0, reports) } ? .shown : .waiting
  }

  private func isShown(_ wanted: LoopSetting.Value, _ reports: LoopReports) -> Bool {
    let found: Double
    switch loop {
    case .exposure:
      guard let report = reports.exposure, report.state == .custom, report.isShown else {
        return false
      }
      found = wanted.role == .exposure ? report.exposureMicroseconds : report.gain
    case .focus:
      guard let report = reports.focus, report.isShown else { return false }
      found = report.position
    }
    // Both are values of the control; only their last bits may differ.
    return abs(found - wanted.value) <= 1e-6 * max(abs(wanted.value), 1)
  }
}
