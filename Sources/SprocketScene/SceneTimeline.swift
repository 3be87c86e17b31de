package import SprocketCore

/// One frame of the scene's camera: when it is taken, how it is numbered, what is wrong with it.
package struct SceneCapture: Sendable, Hashable {
  /// Counts sensor read-outs since the start, lost ones too; decides motion, noise and faults.
  package var number: UInt64 = 0
  /// The device's sequence number; starts at 0 in each epoch.
  package var sequence: UInt64 = 0
  package var epoch: UInt32 = 0
  /// Nanoseconds since the start: truly taken, said to be taken, and handed over.
  package var taken: Int64 = 0
  package var stamped: Int64 = 0
  package var due: Int64 = 0
  package var faults = SceneFault()
  /// How many sequence numbers before this one were lost.
  package var lost: UInt64 = 0
  package var isStartup = false
  /// Whether the frame has the other size that `formatChange` switches to and fro.
  package var isAlternate = false

  package init() {}
}

/// What the scene's camera does next.
package enum SceneStep: Sendable, Hashable {
  case frame(SceneCapture)
  /// A new epoch, at that many nanoseconds since the start.
  case replug(at: Int64)
  case formatChange(at: Int64, isAlternate: Bool)

  /// When it happens, in nanoseconds since the start.
  package var due: Int64 {
    switch self {
    case .frame(let capture): capture.due
    case .replug(let at): at
    case .formatChange(let at, _): at
    }
  }
}

/// The life of the scene's camera, step by step: an even beat disturbed by faults. Pure: no clock.
///
/// An epoch's first frame is never preceded by a drop, and after a drop a frame follows, so that
/// every lost sequence number can be seen from the frames around it.
package struct SceneTimeline: Sendable {
  private let faults: SceneFaults
  /// Frames per second as a fraction.
  private let rate: (frames: Int64, seconds: Int64)
  private let startupFrames: UInt64

  private var number: UInt64 = 0
  private var sequence: UInt64 = 0
  private var epoch: UInt32 = 0
  /// Nanoseconds lost to stalls and while unplugged.
  private var delay: Int64 = 0
  private var lastDue: Int64 = 0
  private var lastStamp: Int64 = 0
  private var isAlternate = false
  /// The number of the frame whose epoch change has been told.
  private var changed: UInt64?

  package init(_ faults: SceneFaults, rate: FrameRate, startupFrames: Int) {
    precondition(rate.frames > 0 && rate.seconds > 0, "The scene needs a rate above 0.")
    self.faults = faults
    self.rate = (Int64(rate.frames), Int64(rate.seconds))
    self.startupFrames = UInt64(startupFrames)
  }

  package mutating func next() -> SceneStep {
    var due = faults.due(at: number)
    if let change = epochChange(due) { return change }
    var capture = SceneCapture()
    if sequence == 0 { due.remove(.drop) }
    if due.contains(.drop) {
      capture.lost = faults.dropLength(at: number)
      number += capture.lost
      sequence += capture.lost
      // What was due at the lost frames is lost with them; epochs do not change behind a drop.
      due = faults.due(at: number).subtracting(.epoch).union(.drop)
    }
    // Epoch changes are told as steps of their own, before the first frame after them.
    if changed != number { due.subtract(.epoch) }
    fill(&capture, due)
    number += 1
    sequence += 1
    return .frame(capture)
  }

  private mutating func epochChange(_ due: SceneFault) -> SceneStep? {
    guard sequence > 0, changed != number, !due.isDisjoint(with: .epoch) else {
      return nil
    }
    changed = number
    epoch += 1
    sequence = 0
    if due.contains(.formatChange) { isAlternate.toggle() }
    guard due.contains(.unplug) else {
      lastDue = max(lastDue, time(of: number))
      return .formatChange(at: lastDue, isAlternate: isAlternate)
    }
    delay = delay.clampedSum(faults.settings.unplugDuration.nanosecondCount)
    lastDue = max(lastDue, time(of: number))
    // A camera that comes back with another size is a change of format too; the frame says both.
    return due.contains(.formatChange)
      ? .formatChange(at: lastDue, isAlternate: isAlternate) : .replug(at: lastDue)
  }

  private mutating func fill(_ capture: inout SceneCapture, _ due: SceneFault) {
    let settings = faults.settings
    if due.contains(.stall) {
      delay = delay.clampedSum(settings.stallDuration.nanosecondCount)
    }
    capture.number = number
    capture.sequence = sequence
    capture.epoch = epoch
    capture.faults = due
    capture.isStartup = number < startupFrames
    capture.isAlternate = isAlternate
    capture.taken = time(of: number)
    capture.stamped = capture.taken
    if due.contains(.backwards) {
      capture.stamped = lastStamp.clampedSum(-settings.backwardsDuration.nanosecondCount)
    }
    lastStamp = capture.stamped
    let wait = (due.contains(.late) ? settings.lateDuration.nanosecondCount : 0)
      .clampedSum(faults.lateness(of: number))
    // Frames are handed over in order: one behind a late frame is late as well.
    capture.due = max(capture.taken.clampedSum(wait), lastDue)
    lastDue = capture.due
  }

  private func time(of number: UInt64) -> Int64 {
    // The product has at most 64 + 31 + 30 bits. It is clamped because a frame may last up to 68
    // years, and 64 bits of nanoseconds hold 292 years.
    let exact = UInt128(number) * UInt128(rate.seconds) * 1_000_000_000 / UInt128(rate.frames)
    return delay.clampedSum(Int64(clamping: exact))
  }
}
