internal import SprocketCore
internal import SprocketRing
internal import Synchronization

/// Decides which frames an on-demand sink gets. Used by the source's thread alone; knows numbers, not frames.
///
/// Keeps of the contract of requests:
/// - A2: no other thread stamps.
/// - A5: requests at one number apply in the order asked.
/// - A7: admission is decided in constant time, by intervals and counts.
/// - A12: a recording of n frames gets n: frames that were admitted and lost are replaced. The gate may admit
///   more frames than are wanted, never fewer; the sink counts exactly.
struct OutputGate {
  let sink: Int
  let output: StampedOutput
  /// The recording without a count that is under way.
  private var open: RecordingID?
  /// Frames still to be admitted for recordings that count.
  private var wanted: UInt64 = 0
  /// The part of `output.returned` that was added to `wanted`.
  private var seenReturns: UInt64 = 0
  /// What the latest stamp said.
  private(set) var isAdmitting = false

  init(sink: Int, _ output: StampedOutput) {
    self.sink = sink
    self.output = output
  }

  /// Applies a step from the next number on. Returns what to stamp.
  mutating func apply(_ step: RequestPort.Step) -> Stamp.Step? {
    switch step {
    case .begin(let id, _, let frames):
      guard open == nil, frames != nil || wanted == 0 else { return stamp(.refuse, id) }
      if let frames { wanted += frames } else { open = id }
      isAdmitting = true
      return stamp(.begin, id)
    case .next(let id, _):
      return stamp(.next, id)
    case .end(let id, _):
      // How many frames a recording that counts still wants, only the sink knows: see `settle`.
      if open == id { (open, isAdmitting) = (nil, false) }
      return stamp(.end, id)
    case .settle(_, let ended, let read):
      if let ended, open == ended {
        open = nil
      } else {
        // A later stamp may be of a recording that the sink did not know when it asked.
        guard open == nil, output.stamps.end == read else { return nil }
      }
      wanted = 0
      guard isAdmitting else { return nil }
      isAdmitting = false
      return stamp(.change)
    }
  }

  /// Admits again as many frames as were lost. Returns what to stamp.
  mutating func takeReturns() -> Stamp.Step? {
    let returns = output.returned.load(ordering: .acquiring)
    guard returns != seenReturns else { return nil }
    let new = returns - seenReturns
    seenReturns = returns
    guard open == nil else { return nil }
    wanted += new
    guard !isAdmitting else { return nil }
    isAdmitting = true
    return stamp(.change)
  }

  /// An admitted frame was published. Returns what to stamp at the next number.
  mutating func countPublished() -> Stamp.Step? {
    guard open == nil, wanted > 0 else { return nil }
    wanted -= 1
    guard wanted == 0 else { return nil }
    isAdmitting = false
    return stamp(.change)
  }

  private func stamp(_ kind: Stamp.Kind, _ id: RecordingID? = nil) -> Stamp.Step {
    Stamp.Step(kind: kind, recording: id, isAdmitting: isAdmitting)
  }
}
