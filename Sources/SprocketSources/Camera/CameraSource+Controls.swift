internal import SprocketCore
internal import SprocketV4L2

// Control writes on their way to the driver, and what it says of them.

extension CameraSource {
  /// Makes the writes that were asked for before the first frame. One that is refused is an error, one
  /// of which the driver makes something else is noted.
  func takeFirstWrites() throws(RunError) {
    while let write = controls.port.take() {
      let control = controls.writable[Int(write.control)]
      let wanted = controls.port.controls[Int(write.control)]
      do throws(V4L2Error) {
        let result = try device!.set(control, to: Int64(nearest: write.value))
        let flags = device!.flags(of: control.id)
        controls.wrote(write, result: result, flags: flags, at: monotonicNow())
        if let note = wanted.note(
          asked: write.value, made: Double(result), flags: flags ?? 0, by: title)
        {
          firstNotes.append(note)
        }
      } catch {
        throw RunError(
          error, refusing: write.value, of: wanted, flags: device!.flags(of: control.id) ?? 0,
          name: title)
      }
    }
  }

  /// Makes the writes that have gathered. The driver's answer, or its refusal, rides on the first frame
  /// that can show it.
  func takeWrites() {
    while let write = controls.port.take() {
      let control = controls.writable[Int(write.control)]
      var result: Int64?
      do throws(V4L2Error) {
        result = try device!.set(control, to: Int64(nearest: write.value))
      } catch {}
      controls.wrote(
        write, result: result, flags: device!.flags(of: control.id), at: monotonicNow())
    }
  }

  /// Reads what frames tell of, at the start.
  func readWatched() {
    for control in controls.watched {
      controls.begin(
        control, value: try? device!.value(of: control),
        flags: device!.flags(of: control.id) ?? control.flags)
    }
  }

  /// Reads the values of all controls, for a stage that steers: so it can put them back.
  func readValues() {
    guard controls.port.isSteered else { return }
    for (index, control) in controls.writable.enumerated() where control.kind != .button {
      guard let value = try? device!.value(of: control) else { continue }
      controls.port.has(Double(value), in: UInt16(index))
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
      case .source: signal.changed()
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

extension RunError {
  /// A driver refuses a value that was asked for.
  init(
    _ error: V4L2Error, refusing value: Double, of control: ControlDescription, flags: UInt32,
    name: String
  ) {
    guard error.code != .gone else {
      self.init(error, name: name)
      return
    }
    // UVC cameras answer a write to what an automatic control has taken over with EACCES.
    let isTakenOver = V4L2Control.isInactive(flags) || error.code == .notPermitted
    self.init(
      .failed,
      "\(name) refuses \(control.name)=\(control.text(of: value)) (\(error.reason)): "
        + (isTakenOver
          ? "another control, such as an automatic one, decides over it; set that before it"
          : "`devices` lists what it takes"))
  }
}
