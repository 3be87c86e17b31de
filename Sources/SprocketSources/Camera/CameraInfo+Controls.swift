public import SprocketCore
internal import SprocketV4L2

/// What became of controls that were written to a camera.
public struct CameraControlChange: Sendable {
  /// The controls that were written, with what the driver made of them.
  public let controls: [(description: ControlDescription, value: Double)]
  /// What the user should know: what was left out, and what the driver made something else of.
  public let notes: [String]
}

// Controls of a camera that no run uses, or that another program streams from.

extension CameraInfo {
  /// The camera that is meant: by node, identity, name or wish, as `--source camera:NAME` takes it.
  ///
  /// Cost: opens each node, some ten milliseconds a camera.
  public static func named(_ name: String) throws(RunError) -> CameraInfo {
    let node = try CameraNode.named(name)
    if let problem = node.problem { throw RunError(problem, name: node.title) }
    return CameraInfo(node)
  }

  /// Writes controls as one batch, all or none: names, and values as `ControlDescription.value(_:)` takes
  /// them. In any order: automatics that are switched off go first.
  ///
  /// Throws if there is no such control, if a value is not allowed, or if the driver refuses one; the error
  /// names it.
  public func write(
    _ values: [(name: String, text: String)]
  ) throws(RunError) -> CameraControlChange {
    var device = try open()
    let known = device.controls()
    let writes = try writes(values, known)
    return try perform(ControlProfile.Plan(writes: writes), known, &device, isProfile: false)
  }

  /// Checks names and values as `write` does, and writes nothing.
  public func check(_ values: [(name: String, text: String)]) throws(RunError) {
    let device = try open()
    _ = try writes(values, device.controls())
  }

  private func writes(
    _ values: [(name: String, text: String)], _ known: [V4L2Control]
  ) throws(RunError) -> [(index: Int, value: Int64)] {
    var writes: [(index: Int, value: Int64)] = []
    for (name, text) in values {
      guard let index = known.firstIndex(where: { $0.name == name }) else {
        throw RunError(
          .usage,
          "\(title) has no control `\(name)` that can be set; "
            + knownNames(known.filter(\.isSettable).map(\.name), near: name, "it has"))
      }
      guard known[index].isSettable else {
        throw RunError(
          .usage,
          "`\(name)` of \(title) is \(known[index].isReadOnly ? "read-only" : "no number"); "
            + "leave it out")
      }
      let description = ControlDescription(known[index])
      guard let value = description.value(text) else {
        throw RunError(
          .usage, "\(name)=\(text) is not allowed: \(description.advice(insteadOf: text))")
      }
      writes.append((index, Int64(nearest: value)))
    }
    return writes
  }

  /// Writes the controls of a profile as one batch, all or none. What this camera does not have, does not
  /// allow or does not let be set at the moment is left out; `notes` says so.
  public func restore(_ profile: ControlProfile) throws(RunError) -> CameraControlChange {
    var device = try open()
    let known = device.controls()
    let plan = profile.plan(for: known, of: card, named: title) { known[$0].flags }
    return try perform(plan, known, &device, isProfile: true)
  }

  /// The controls as they are now.
  public func profile() throws(RunError) -> ControlProfile {
    let device = try open()
    let known = device.controls()
    var values: [UInt32: Int64] = [:]
    for control in known { values[control.id] = try? device.value(of: control) }
    return ControlProfile(camera: card, identity: identity?.name, known) { values[$0.id] }
  }

  /// As in `vivid (/dev/video0)`.
  private var title: String { "\(card) (\(path))" }

  private func open() throws(RunError) -> V4L2Device {
    do throws(V4L2Error) {
      return try V4L2Device(path: path)
    } catch {
      throw RunError(error, name: title)
    }
  }

  private func perform(
    _ plan: ControlProfile.Plan, _ known: [V4L2Control], _ device: inout V4L2Device, isProfile: Bool
  ) throws(RunError) -> CameraControlChange {
    var batch = ControlBatch()
    for write in plan.writes {
      let control = known[write.index]
      let isKept = V4L2Control.staysAsWritten(control.flags) && !control.isWriteOnly
      batch.add(control, write.value, before: isKept ? try? device.value(of: control) : nil)
    }
    do throws(ControlBatch.Refusal) {
      try batch.perform(on: &device, leavingInactive: isProfile)
    } catch {
      let wishes = plan.writes.map { write in
        (control: ControlDescription(known[write.index]), value: Double(write.value))
      }
      throw RunError(
        error, of: wishes, name: title, node: path,
        isPriority: isOutranked(nil, device.priority()))
    }
    var made: [(description: ControlDescription, value: Double)] = []
    var notes = plan.notes
    if let note = ControlProfile.note(inactive: batch.inactive) { notes.append(note) }
    for (place, write) in plan.writes.enumerated() {
      guard let result = batch.result(at: place) else { continue }
      let description = ControlDescription(known[write.index])
      made.append((description, Double(result)))
      let flags = device.flags(of: known[write.index].id) ?? 0
      let note = description.note(
        asked: Double(write.value), made: Double(result), flags: flags, by: title)
      if let note { notes.append(note) }
    }
    return CameraControlChange(controls: made, notes: notes)
  }
}
