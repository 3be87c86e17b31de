import Glibc
import SprocketCore

// Probes and steps.

extension BracketControl {
  // MARK: Probes

  /// Changes one control by so much that its delay and the tone curve can be measured.
  mutating func beginProbe(_ index: Int, _ look: Look) {
    var values = base
    if steps.isOfLight {
      if probeCount == 0 { probeSign = (look.mean ?? 0) > 110 ? -1 : 1 }
      values[index] = probed(index, probeSign)
      if abs(log2(values[index] / base[index])) < Self.probe / 2 {
        probeSign = -probeSign
        values[index] = probed(index, probeSign)
      }
      guard abs(log2(values[index] / base[index])) >= Self.probe / 4 else {
        // A control with so little room can hardly be measured.
        probes.removeFirst()
        if let next = probes.first { beginProbe(next, look) } else { beginStep(look) }
        return
      }
    } else if let plan {
      // The step that is furthest away.
      let furthest = plan.steps.map { $0.values[index] }.max {
        abs($0 - base[index]) < abs($1 - base[index])
      }
      values[index] = furthest ?? base[index]
    }
    (watch, isProbeShown) = (nil, false)
    probeCount += 1
    if write(values, at: look.number) { phase = .probing(index) }
  }

  private func probed(_ index: Int, _ sign: Double) -> Double {
    controls[index].nearest(to: base[index] * exp2(sign * Self.probe))
  }

  /// Watches for the picture's answer.
  mutating func probe(_ index: Int, _ look: Look) {
    guard awaited == 0, let value = applied[index] else {
      failIfOverdue(index)
      return
    }
    let change = steps.isOfLight ? log2(value / base[index]) : 1
    if isProbeShown { return learn(index, change, look) }
    var watch = watch ?? DelayWatch(from: answered[index], lastFrame: lastNumber)
    let result = watch.see(share: share(look, of: change), at: look.number)
    self.watch = watch
    switch result {
    case .waiting: return
    case .shown(let frames):
      showsFrom = look.number
      found(frames, of: index)
      guard frames.count == 1 || probeCount >= Self.mostProbes else { return goBack(look) }
      // The next frame shows all of it.
      isProbeShown = true
    case .unanswered, .incomparable:
      missed(index, change, look, isUnanswered: result == .unanswered)
    }
  }

  /// The part of a probe that a frame shows, 0 for none.
  private func share(_ look: Look, of change: Double) -> Double? {
    guard !steps.isOfLight else {
      guard let levels = look.levels, let reference else { return nil }
      return law.rough(levels, from: reference).map { $0 / change }
    }
    return noise.isChange(
      look.mean, since: referenceMean, look.score, since: referenceScore) ? 1 : 0
  }

  private mutating func found(_ frames: ClosedRange<Int>, of index: Int) {
    guard isMeasured(index) else { return }
    delays[index] = UInt64(frames.upperBound)
    controls[index].measured(pictureDelay: frames)
  }

  /// Whether the delay of a control comes from its picture, and not from the user or the source.
  private func isMeasured(_ index: Int) -> Bool {
    let origin = controls[index].pictureDelay?.origin
    return origin != .given && origin != .told
  }

  private mutating func learn(_ index: Int, _ change: Double, _ look: Look) {
    guard steps.isOfLight else { return endProbe(look) }
    guard let levels = look.levels, let reference else { return goBack(look) }
    let isRight: Bool
    if law.isLearned {
      let seen = law.change(levels, from: reference, near: change)
      isRight = seen.map { abs($0 - change) <= (plan?.tolerance ?? 0) } ?? false
    } else {
      isRight = law.learn(levels, from: reference, change: change)
    }
    guard isRight else { return missed(index, change, look, isUnanswered: true) }
    endProbe(look)
  }

  private mutating func endProbe(_ look: Look) {
    probes.removeFirst()
    probeCount = 0
    goBack(look)
  }

  private mutating func missed(
    _ index: Int, _ change: Double, _ look: Look, isUnanswered: Bool
  ) {
    let name = controls[index].description.name
    let asked = controls[index].text(of: controls[index].asked ?? base[index])
    if steps.isOfLight {
      reason = disobedience(asked, change, look)
      probeSign = -probeSign
      // A picture that stands still whatever is written will not obey later either.
      if isUnanswered, probeCount >= Self.mostProbes { return fail(reason ?? "") }
      return goBack(look)
    }
    // The picture of another control need not change: what the source answers has to do.
    notes.append(
      "bracket: the picture does not show a change of \(name), so each step's frame is the "
        + "\(DelayWatch.patience)th after the source's answer")
    delays[index] = DelayWatch.patience
    isBlind = true
    endProbe(look)
  }

  /// Back to the base, and on from there when it shows.
  private mutating func goBack(_ look: Look) {
    if write(base, at: look.number) { begin(.settling, at: look.number) }
  }

  // MARK: Steps

  /// Writes the values of the next step, or ends.
  mutating func beginStep(_ look: Look) {
    guard let plan, taken < plan.steps.count else {
      phase = .restoring
      return
    }
    phase = .stepping
    (departure, restingFrames) = (nil, 0)
    let way = abs(plan.steps[taken].values[0] - (current[0] ?? base[0]))
    travel = controls[0].role == .lens && speed > 0 ? way / speed : 0
    showsFrom = max(showsFrom, look.number + 1)
    let values = plan.steps[taken].values
    beforeStep = zip(current, values).contains { $0 != $1 } ? look : nil
    _ = write(values, at: look.number)
  }

  /// Whether this frame is the step's.
  mutating func step(_ look: Look) -> Chosen? {
    guard let plan else { return nil }
    let step = plan.steps[taken]
    // What found no room in the port's queue.
    guard write(step.values, at: look.number), awaited == 0 else {
      failIfOverdue()
      return nil
    }
    guard look.number >= showsFrom else { return nil }
    departure = departure ?? look.seconds
    let chosen =
      step.asked.isNaN ? settledStep(step, look) : meteredStep(step, look, plan.tolerance)
    guard let chosen else {
      let isLate = look.seconds - (departure ?? look.seconds) > travel
      if phase == .stepping, isLate, look.number >= showsFrom + patienceOfStep {
        tries += 1
        // What was measured may be wrong.
        if steps.isOfLight, tries.isMultiple(of: 2) { probeAgain() }
        goBack(look)
      }
      return nil
    }
    taken += 1
    tries = 0
    beginStep(look)
    return chosen
  }

  private var patienceOfStep: UInt64 { steps.isOfLight ? Self.slack : Self.mostSettling }

  /// A step of exposure or gain: its picture decides.
  private mutating func meteredStep(
    _ step: BracketPlan.Step, _ look: Look, _ tolerance: Double
  ) -> Chosen? {
    let made = zip(applied, base).reduce(0) { $0 + log2(($1.0 ?? $1.1) / $1.1) }
    guard abs(made - step.asked) <= tolerance else {
      let text = zip(controls, applied).map { control, value in
        control.text(of: value ?? control.range.lowerBound)
      }
      fail(
        "the source made \(text.joined(separator: " and ")) of \(BracketPlan.signed(step.asked)), "
          + "which is \(BracketPlan.signed(made))")
      return nil
    }
    guard let levels = look.levels, let reference else { return nil }
    let seen = law.change(levels, from: reference, near: step.asked)
    if let seen, abs(seen - step.asked) <= tolerance {
      noteLate(look)
      return Chosen(
        step: taken, asked: step.asked, measured: seen, value: .nan, proof: .picture)
    }
    let isAtEnd = step.asked > 0 ? look.clipped > 0.5 : (look.mean ?? 255) < 20
    guard seen == nil, levels.commonCount(with: reference) < 2, isAtEnd else {
      reason = disobedience(assignments(step), step.asked, look)
      return nil
    }
    notes.append(
      "bracket: the picture of \(BracketPlan.signed(step.asked)) is too "
        + "\(step.asked > 0 ? "bright" : "dark") to tell whether it is right; the source took "
        + assignments(step))
    return Chosen(step: taken, asked: step.asked, measured: .nan, value: .nan, proof: .none)
  }

  private func assignments(_ step: BracketPlan.Step) -> String {
    let moved = plan?.moved ?? []
    return moved.map { controls[$0].shortText(of: step.values[$0]) }
      .joined(separator: " and ")
  }

  private func disobedience(_ asked: String, _ change: Double, _ look: Look) -> String {
    var seen: Double?
    if let levels = look.levels, let reference {
      seen = law.change(levels, from: reference, near: change)
    }
    let wanted = BracketPlan.signed(change)
    return seen.map {
      "the camera did not obey \(asked): asked for \(wanted), the picture shows \(BracketPlan.signed($0))"
    }
      ?? "the picture of \(asked), which is \(wanted), cannot be compared with the one before, for nearly "
      + "all of one is too dark or bright; take smaller steps, or change the light"
  }

  /// A step that shows later than it should: the delay was measured too short.
  private mutating func noteLate(_ look: Look) {
    guard look.number > showsFrom, look.number == lastNumber + 1 else { return }
    let moved = controls.indices.filter { answered[$0] > 0 && answered[$0] >= writtenAt }
    guard moved.count == 1, let index = moved.first else { return }
    let frames = Int(look.number - answered[index])
    found(min(controls[index].pictureDelay?.shortest ?? frames, frames)...frames, of: index)
  }

  /// Whether a lens has had the time for its way, and its focus score no longer changes. Other controls do
  /// not travel.
  private mutating func isAtRest(_ look: Look) -> Bool {
    guard controls[0].role == .lens else { return true }
    guard look.seconds - (departure ?? look.seconds) >= travel else {
      return false
    }
    restingFrames = noise.isSteady(look.score, lastScore) ? restingFrames + 1 : 0
    return restingFrames >= Self.restFrames
  }

  /// Whether the picture has changed since the step was written, or `slack` frames have passed: a small step
  /// may not be visible. For controls with their own numbers, such as brightness: the delay of some drivers
  /// varies, so the measured one may be too short.
  private mutating func isSeen(_ look: Look) -> Bool {
    guard controls[0].role == .number, !isBlind, isMeasured(0), let beforeStep else { return true }
    guard noise.isChange(look.mean, since: beforeStep.mean, look.score, since: beforeStep.score)
    else { return look.number >= showsFrom + Self.slack }
    noteLate(look)
    return true
  }

  /// A step of a lens or another control: the source's answer decides, and a picture that is steady.
  private mutating func settledStep(_ step: BracketPlan.Step, _ look: Look) -> Chosen? {
    guard let made = applied[0], abs(made - step.value) <= 1e-6 + 0.01 * abs(step.value) else {
      fail(
        "the source made \(controls[0].text(of: applied[0] ?? base[0])) of "
          + controls[0].text(of: step.value))
      return nil
    }
    guard isAtRest(look) else {
      reason = "the lens does not come to rest at \(step.value.settingText)"
      return nil
    }
    guard isSeen(look) else { return nil }
    return Chosen(
      step: taken, asked: .nan, measured: .nan, value: step.value, proof: .answer)
  }
}
