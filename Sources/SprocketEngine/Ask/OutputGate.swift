internal import SprocketCore

/// Decides which frames an on-demand sink gets. The source's thread alone uses it. It counts frames, and does
/// not read them.
///
/// Keeps of the contract of requests:
/// - A2: no other thread stamps.
/// - A5: requests at one number apply in the order asked.
/// - A7: admission is decided in constant time, by intervals and counts.
/// - A12: a recording of n frames gets n frames: for each admitted frame that was lost, the gate admits
///   another. It may admit more frames than are wanted, never fewer. The sink counts the written frames
///   exactly, and reports when a recording has ended.
///
/// A plain value, so that a test can search all states (`RequestModelTests`).
struct OutputGate: Hashable {
  /// The recording without a count that is under way.
  private var open: RecordingID?
  /// Whether that recording takes no frames for the time being.
  private var isPaused = false
  /// Recordings that count frames and are under way. Empty while `open` is set.
  private var counting: Set<RecordingID> = []
  /// Number of frames that these recordings still need.
  private var wanted: UInt64 = 0
  /// The part of `StampedOutput.returned` that was taken into account.
  private var seenReturns: UInt64 = 0
  /// Whether recordings need the next frame, as the latest stamp told the sink.
  private var isOpen = false
  /// A sink with a pre-roll gets every frame (A14).
  private let isAlwaysOpen: Bool

  /// Frames of the sink need those before them: it counts what it can use, and gets all while it records.
  var isOfStream = false

  init(isAlwaysOpen: Bool = false) { self.isAlwaysOpen = isAlwaysOpen }

  /// Whether the next frame is admitted.
  var isAdmitting: Bool { isOpen || isAlwaysOpen }

  /// Applies a change from the next number on. Returns the step to stamp.
  mutating func apply(_ change: RequestPort.Change) -> Stamp.Step? {
    switch change {
    case .begin(let id, let frames):
      guard open == nil, frames != nil || counting.isEmpty else { return stamp(.refuse, id) }
      if let frames {
        counting.insert(id)
        wanted += frames
      } else {
        open = id
      }
      isOpen = true
      return stamp(.begin, id)
    case .choose(let id): return stamp(.begin, id)
    case .next(_, let file):
      return Stamp.Step(kind: .next, file: file, isAdmitting: isAdmitting)
    case .pause(let id):
      guard open == id, !isPaused else { return nil }
      (isPaused, isOpen) = (true, false)
      return stamp(.pause, id)
    case .resume(let id):
      guard open == id, isPaused else { return nil }
      (isPaused, isOpen) = (false, true)
      return stamp(.resume, id)
    case .end(let id):
      _ = end(id)
      return stamp(.end, id)
    case .ended(let id):
      guard end(id), !isOpen else { return nil }
      return stamp(.change)
    }
  }

  /// False if the recording is not under way.
  private mutating func end(_ id: RecordingID) -> Bool {
    if open == id {
      (open, isPaused) = (nil, false)
    } else if counting.remove(id) == nil {
      return false
    }
    if open == nil, counting.isEmpty {
      wanted = 0
      isOpen = false
    }
    return true
  }

  /// Admits as many more frames as were lost; `returns` is the number of all that were lost so far. Returns
  /// the step to stamp.
  mutating func take(returns: UInt64) -> Stamp.Step? {
    guard returns != seenReturns else { return nil }
    let new = returns - seenReturns
    seenReturns = returns
    guard !counting.isEmpty else { return nil }
    wanted += new
    guard !isOpen else { return nil }
    isOpen = true
    return stamp(.change)
  }

  /// Counts an admitted frame that was published. Returns the step to stamp at the next number.
  mutating func countPublished() -> Stamp.Step? {
    guard wanted > 0, !isOfStream else { return nil }
    wanted -= 1
    guard wanted == 0 else { return nil }
    isOpen = false
    return stamp(.change)
  }

  private func stamp(_ kind: Stamp.Kind, _ id: RecordingID? = nil) -> Stamp.Step {
    Stamp.Step(kind: kind, recording: id, isAdmitting: isAdmitting)
  }
}
