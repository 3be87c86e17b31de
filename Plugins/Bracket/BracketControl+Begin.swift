import Glibc
import SprocketCore

// The beginning: a steady picture, the controls, and the values before the bracket.

extension BracketControl {
  mutating func wait(_ look: Look) {
    switch look.exposure {
    case .underway: return
    case .follows:
      reason = "autoexposure has not ended; in mode=auto it does when the exposure is right"
      return
    case .ended, nil: reason = nil
    }
    begin(.looking, at: look.number)
  }

  mutating func begin(_ phase: Phase, at number: UInt64) {
    self.phase = phase
    settleStart = number
    steadyCount = 0
    noise.pause()
  }

  /// Measures the delay and the curve once more.
  mutating func probeAgain() {
    law = ToneLaw(transfer)
    probes = plan?.moved ?? []
    probeCount = 0
  }

  /// Whether the picture is steady and shows what was written.
  mutating func isSettled(_ look: Look) -> Bool {
    noise.see(look.mean, look.score)
    guard awaited == 0 else {
      settleStart = look.number
      failIfOverdue()
      return false
    }
    guard look.number >= showsFrom else { return false }
    steadyCount = isSteady(look) ? steadyCount + 1 : 0
    return steadyCount >= Self.steadyFrames || look.number - settleStart > Self.mostSettling
  }

  private func isSteady(_ look: Look) -> Bool {
    guard let mean = look.mean, let before = last?.mean else { return look.mean == nil }
    return abs(log2((mean + 1) / (before + 1))) < Self.steady
  }

  var movedNames: String {
    let moved = plan?.moved ?? []
    let names = (moved.isEmpty ? Array(controls.indices) : moved).map {
      controls[$0].description.name
    }
    return names.joined(separator: " and ")
  }

  mutating func takeOver(_ look: Look) {
    original = look.levels
    // First values, then what may change them: while they are on, automatic controls refuse the first.
    before = controls.compactMap(\.valueNow) + controls.flatMap(\.automaticsNow)
    port.writeAtEnd(before)
    var written = 0
    for index in controls.indices { written += controls[index].takeOver(at: look.number).count }
    guard written > 0 else { return settled(look) }
    // Its answer, and the camera's own way of going on.
    showsFrom = look.number + DelayWatch.patience
    begin(.settling, at: look.number)
  }

  /// The base shows: it is found, matched with the picture of before, or gone on from.
  mutating func settled(_ look: Look) {
    if base.isEmpty {
      let values = controls.map { value(of: $0, look.inForce) }
      guard values.allSatisfy({ $0 != nil }) else {
        return fail("the source does not say the value of \(movedNames)")
      }
      base = values.compactMap(\.self)
      current = values
      applied = values
    }
    if matchBase(look) { return }
    (reference, referenceMean, referenceScore) = (look.levels, look.mean, look.score)
    if plan == nil {
      do throws(StageError) {
        let plan = try BracketPlan(
          steps, controls, base: base, longest: longest, tolerance: toleranceAsked)
        self.plan = plan
        probes = steps.isOfLight ? plan.moved : plan.moved.filter { delays[$0] == nil }
      } catch {
        return fail(error.description)
      }
    }
    if let next = probes.first { beginProbe(next, look) } else { beginStep(look) }
  }

  private func value(of control: SteeredControl, _ inForce: ControlState) -> Double? {
    let told: Float =
      switch control.role {
      case .exposure: inForce.exposureMicroseconds
      case .gain: inForce.gain
      case .lens: inForce.lensPosition
      case .number: .nan
      }
    if !told.isNaN { return control.nearest(to: Double(told)) }
    return control.applied ?? control.value
  }

  /// A camera that was taken over from its automatic exposure may go on with another one: then the base is
  /// changed until the picture is as before. Returns whether that is under way.
  private mutating func matchBase(_ look: Look) -> Bool {
    guard steps.isOfLight, plan == nil, matches < 4, let original, let levels = look.levels,
      let difference = law.rough(levels, from: original), abs(difference) > 0.2
    else { return false }
    matches += 1
    guard let index = controls.firstIndex(where: { $0.role == .exposure }) ?? controls.indices.first
    else { return false }
    let better = controls[index].nearest(to: base[index] * exp2(-difference))
    guard better != base[index] else { return false }
    base[index] = better
    if write(base, at: look.number) { begin(.settling, at: look.number) }
    return true
  }
}
