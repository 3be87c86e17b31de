import Glibc
import SprocketCore

/// What each step of a bracket writes. Pure.
struct BracketPlan: Sendable {
  struct Step: Sendable, Hashable {
    /// Of each control, in its role's unit.
    var values: [Double]
    /// In EV; NaN for other controls than exposure and gain.
    var asked: Double
    /// Of a lens or another control; NaN for exposures.
    var value: Double
  }

  let steps: [Step]
  /// Controls that some step changes, by their place.
  let moved: [Int]
  /// EV by which a picture may differ from what its step asks for.
  let tolerance: Double

  /// Part of the smallest difference between two steps that the tolerance may be: so the picture of one step
  /// is not taken for that of its neighbour. Larger: noise fails fewer brackets of small steps.
  static let ownShare = 0.4

  /// Throws a sentence where the source cannot have a step. `base`: the values before the bracket; `controls`
  /// are exposure and gain, as far as the source has them, or the one control that is stepped. `longest`, in
  /// microseconds, is the exposure that the frame rate leaves room for.
  init(
    _ steps: BracketSteps, _ controls: [SteeredControl], base: [Double], longest: Double,
    tolerance: Double
  ) throws(StageError) {
    var planned: [Step] = []
    for value in steps.values {
      planned.append(
        steps.kind == .ev
          ? try Self.exposed(value, controls, base, longest, tolerance)
          : try Self.set(value, steps.kind, controls, base))
    }
    self.steps = planned
    moved = controls.indices.filter { index in
      planned.contains { controls[index].nearest(to: base[index]) != $0.values[index] }
    }
    let exposures = ([0] + planned.map(\.asked).filter { !$0.isNaN }).sorted()
    let apart = zip(exposures, exposures.dropFirst()).map { $1 - $0 }.filter { $0 > 0.01 }
    self.tolerance = min(tolerance, (apart.min() ?? .infinity) * Self.ownShare)
  }

  /// A step by value.
  private static func set(
    _ value: Double, _ kind: BracketSteps.Kind, _ controls: [SteeredControl], _ base: [Double]
  ) throws(StageError) -> Step {
    let role: ControlUnit.Role = kind == .exposure ? .exposure : kind == .gain ? .gain : .number
    let index = controls.firstIndex { $0.role == role } ?? 0
    let control = controls[index]
    let nearest = control.nearest(to: value)
    // Half a step of the control is rounding.
    let room = max(abs(control.range.upperBound) * 1e-6, abs(value - nearest))
    guard value >= control.range.lowerBound - room, value <= control.range.upperBound + room,
      abs(nearest - value) <= 0.1 * max(abs(value), 1)
    else {
      throw StageError(
        "the source cannot set \(control.description.name) to \(value.settingText): it takes "
          + "\(control.range.lowerBound.settingText) to \(control.range.upperBound.settingText)")
    }
    var values = base
    values[index] = nearest
    guard role != .number else { return Step(values: values, asked: .nan, value: nearest) }
    return Step(values: values, asked: log2(nearest / base[index]), value: .nan)
  }

  /// A step by EV: by exposure, then by gain where the range of exposure ends, then by as much more exposure
  /// as the source has, though the frame rate falls.
  private static func exposed(
    _ ev: Double, _ controls: [SteeredControl], _ base: [Double], _ longest: Double,
    _ tolerance: Double
  ) throws(StageError) -> Step {
    let wanted = base.reduce(1, *) * exp2(ev)
    var values = base
    let time = controls.firstIndex { $0.role == .exposure }
    let gain = controls.firstIndex { $0.role == .gain }
    if let time {
      let control = controls[time]
      let rest = gain.map { base[$0] } ?? 1
      let most = min(max(longest, base[time]), control.range.upperBound)
      values[time] = control.nearest(to: min(wanted / rest, gain == nil ? .infinity : most))
    }
    if let gain {
      let rest = time.map { values[$0] } ?? 1
      // Gains below 1, the sensor's own, often do nothing.
      let least = time == nil ? 0 : min(1, base[gain])
      values[gain] = controls[gain].nearest(to: max(wanted / rest, least))
      if let time { values[time] = controls[time].nearest(to: wanted / values[gain]) }
    }
    let missing = log2(wanted / values.reduce(1, *))
    guard abs(missing) <= tolerance else {
      let ends = zip(controls, values).map { $0.text(of: $1) }
      throw StageError(
        "the source cannot expose by \(signed(ev)): \(ends.joined(separator: " and ")) is "
          + "\(signed(-missing)) from that; choose smaller steps, or begin at another exposure")
    }
    return Step(values: values, asked: ev, value: .nan)
  }

  /// `+2 EV`, with two decimals at most.
  static func signed(_ ev: Double) -> String {
    let rounded = (ev * 100).rounded() / 100
    return "\(rounded > 0 ? "+" : "")\(rounded.settingText) EV"
  }
}
