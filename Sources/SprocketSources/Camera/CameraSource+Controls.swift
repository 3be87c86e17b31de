internal import SprocketCore
internal import SprocketV4L2

// Control writes on their way to the driver, and what it says of them.

/// What a camera needs to write controls.
struct CameraWriting {
  /// The batch that is being written.
  var taken: [ControlPort.Write] = []
  var batch = ControlBatch()
  /// Written before the first frame.
  var profile: ControlProfile?

  init() { taken.reserveCapacity(ControlPort.capacity) }
}

extension CameraSource {
  /// Makes the writes that were asked for before the first frame: those of the profile, then the others.
  /// A refused write is an error. If the driver sets another value, the user gets a note.
  func takeFirstWrites() throws(RunError) {
    try restoreProfile()
    while controls.port.take(batch: &writing.taken) {
      if let refusal = writeTaken() { throw error(of: refusal) }
      for (place, write) in writing.taken.enumerated() {
        let wanted = controls.port.controls[Int(write.control)]
        guard let made = writing.batch.result(at: place) else { continue }
        let flags = controls.flags(Int(write.control))
        let note = wanted.note(asked: write.value, made: Double(made), flags: flags, by: title)
        if let note { firstNotes.append(note) }
      }
    }
  }

  /// Makes the writes that have gathered. The driver's answer, or its refusal, rides on the first frame
  /// that can show it.
  func takeWrites() {
    // A refused batch restores the latest values, also those that other programs set.
    takeEvents()
    while controls.port.take(batch: &writing.taken) {
      guard let refusal = writeTaken() else { continue }
      let sentence = error(of: refusal).description
      for write in writing.taken { controls.port.explain(write.ticket, refusedBecause: sentence) }
    }
  }

  /// Writes the batch that was taken; `nil` if the driver took it.
  private func writeTaken() -> ControlBatch.Refusal? {
    writing.batch.removeAll()
    for write in writing.taken {
      let index = Int(write.control)
      writing.batch.add(
        controls.writable[index], Int64(nearest: write.value), before: controls.known(index))
    }
    var refusal: ControlBatch.Refusal?
    do throws(ControlBatch.Refusal) {
      try writing.batch.perform(on: &device!)
    } catch {
      refusal = error
    }
    let now = monotonicNow()
    for (place, write) in writing.taken.enumerated() {
      let made = refusal == nil ? writing.batch.result(at: place) : nil
      let flags = device!.flags(of: controls.writable[Int(write.control)].id)
      controls.wrote(write, result: made, flags: flags, at: now)
      if made != nil { readSubordinates(of: controls.writable[Int(write.control)], at: now) }
    }
    if refusal != nil { readTaken(at: now) }
    return refusal
  }

  /// Reads the controls of a batch that was refused: the driver may have written some of them.
  private func readTaken(at now: Int64) {
    for write in writing.taken {
      let control = controls.writable[Int(write.control)]
      guard control.kind != .button, let value = try? device!.value(of: control) else { continue }
      controls.changed(
        V4L2ControlChange(
          id: control.id, value: value, flags: device!.flags(of: control.id) ?? control.flags,
          isValue: false, nanoseconds: now))
      readSubordinates(of: control, at: now)
    }
  }

  /// Reads what an automatic control decides over, or does so no more: a driver does not tell a program of
  /// what follows from its own writes.
  private func readSubordinates(of control: V4L2Control, at now: Int64) {
    let subordinates = control.subordinates
    guard !subordinates.isEmpty else { return }
    for other in controls.followed where subordinates.contains(other.id) && !other.isWriteOnly {
      guard let value = try? device!.value(of: other) else { continue }
      controls.changed(
        V4L2ControlChange(
          id: other.id, value: value, flags: device!.flags(of: other.id) ?? other.flags,
          isValue: false, nanoseconds: now))
    }
  }

  private func error(of refusal: ControlBatch.Refusal) -> RunError {
    let wishes = writing.taken.map { write in
      (control: controls.port.controls[Int(write.control)], value: write.value)
    }
    return RunError(
      refusal, of: wishes, name: title, node: path,
      isPriority: isOutranked(settings.priority, device?.priority()))
  }

  /// Reads the values of all controls.
  func readControls() {
    for control in controls.followed {
      let value = control.isWriteOnly ? nil : try? device!.value(of: control)
      controls.begin(
        control, value: value, flags: device!.flags(of: control.id) ?? control.flags,
        at: monotonicNow())
    }
  }

  /// Writes what a stage changed for a while and could not put back before the end.
  func writeAtEnd() {
    let writes = controls.port.takeWritesAtEnd()
    guard device != nil else { return }
    for (control, value) in writes {
      _ = try? device!.set(controls.writable[Int(control)], to: Int64(nearest: value))
    }
  }

  /// What the driver tells of changed controls, and of what comes in.
  func takeEvents() {
    while let event = device!.nextEvent() {
      switch event {
      case .control(let change): controls.changed(change)
      case .source:
        signal.changed()
        isInputChanged = true
      }
    }
  }
}

extension ControlDescription {
  /// What the user should know of a write that the driver took; `nil` where it did as it was told.
  func note(asked: Double, made: Double, flags: UInt32, by title: String) -> String? {
    guard kind != .button else { return nil }
    if made != asked {
      return "\(title) made \(name)=\(text(of: made)) of \(text(of: asked))"
    }
    return V4L2Control.isInactive(flags)
      ? "\(title) keeps \(name)=\(text(of: asked)), but another control decides over it at the moment"
      : nil
  }
}

/// Whether another program has a higher priority for a device than this one.
func isOutranked(_ own: DevicePriority?, _ highest: V4L2Priority?) -> Bool {
  guard let highest else { return false }
  return highest > own.map { V4L2Priority($0) } ?? .interactive
}

extension RunError {
  /// A driver refuses one of the controls that were asked for together. `isPriority`: another program has a
  /// higher priority.
  init(
    _ refusal: ControlBatch.Refusal,
    of wishes: [(control: ControlDescription, value: Double)], name: String, node: String,
    isPriority: Bool
  ) {
    let error = refusal.error
    guard error.code != .gone else {
      self.init(error, name: name)
      return
    }
    func text(_ place: Int) -> String {
      wishes[place].control.name + "=" + wishes[place].control.text(of: wishes[place].value)
    }
    let refused = refusal.place.map(text) ?? wishes.indices.map(text).joined(separator: ", ")
    // UVC cameras answer a write to what an automatic control has taken over with EACCES.
    let isTakenOver = V4L2Control.isInactive(refusal.flags) || error.code == .notPermitted
    let remedy: String
    if error.code == .busy, isPriority {
      remedy = Self.priorityRemedy(node)
    } else if error.code == .busy {
      remedy = "it cannot be changed while frames come, here or in another program"
    } else if isTakenOver {
      remedy =
        "another control, such as an automatic one, decides over it; set that before it, or together with it"
    } else {
      remedy = "`devices` lists what it takes"
    }
    let rest =
      wishes.count == 1
      ? ""
      : refusal.left.isEmpty
        ? "; none of the \(wishes.count) controls was changed"
        : "; may have changed all the same: "
          + refusal.left.sorted().map(text).joined(separator: ", ")
    self.init(.failed, "\(name) refuses \(refused) (\(error.reason)): \(remedy)\(rest)")
  }

  /// What to do about another program's priority.
  static func priorityRemedy(_ node: String) -> String {
    let holders = V4L2Holder.all(of: node).map(\.text)
    let list = holders.isEmpty ? "" : ", one of " + holders.joined(separator: ", ")
    return
      "another program\(list), has a higher priority and lets nobody else change controls or format; "
      + "end that"
  }
}
