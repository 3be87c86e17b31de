internal import Glibc
internal import Sprocket

// Controls of the camera that a run has.
extension SessionRun {
  /// Time for a batch of controls to show. Larger: slower cameras are waited for.
  private static let patience = Duration.seconds(3)

  /// Writes a batch, and waits for the frame that shows it.
  func write(_ values: DeviceControls.Values) async throws(CaptureError) -> ControlChange {
    guard !values.isEmpty else { return ControlChange(firstFrame: nil, values: [:]) }
    let answer = await withCheckedContinuation { reader in
      let result = state.withLock { state -> Result<Int, CaptureError> in
        guard let port = state.engine?.description.controls else {
          return .failure(CaptureError(.notRunning, "the session has no camera that can be set"))
        }
        let writes = values.compactMap { name, value in
          port.control(name).map { ControlValue($0, value) }
        }
        guard writes.count == values.count, let tickets = port.write(writes) else {
          return .failure(
            CaptureError(.busy, "too many settings wait for the camera; set them again"))
        }
        let delays = writes.map { port.delay(of: $0.control)?.frames ?? 0 }
        return .success(state.changes.add(tickets, values.map(\.name), delays, reader))
      }
      switch result {
      case .failure(let error): reader.resume(returning: .failure(error))
      case .success(let number):
        Task {
          try? await Task.sleep(for: Self.patience)
          self.giveUp(number)
        }
      }
    }
    return try answer.get()
  }

  private func giveUp(_ number: Int) {
    let reader = state.withLock { $0.changes.remove(number) }
    reader?.resume(
      returning: .failure(
        CaptureError(.timedOut, "no frame has shown the camera's new settings in time")))
  }

  // MARK: Brackets

  private var controls: DeviceControls { device.controls }

  /// What decides over the exposure now, to be put back.
  var exposureNow: DeviceControls.Values {
    guard let port = engine?.description.controls else { return [] }
    let names = [
      "auto_exposure", "exposure_auto", controls.exposure?.name, controls.gain?.name,
    ].compactMap { $0 }
    return names.compactMap { name in
      port.control(name).flatMap { port.value(of: $0) }.map { (name, $0) }
    }
  }

  /// What a step of a bracket writes, where `before` was in force.
  func values(
    for step: BracketStep, from before: DeviceControls.Values
  ) throws(CaptureError) -> DeviceControls.Values {
    switch step {
    case .exposure(let duration, let gain):
      return try controls.values(for: .custom(duration: duration, gain: gain))
    case .bias(let stops):
      guard let control = controls.exposure, let unit = ControlUnit(.exposure, of: control),
        let now = before.first(where: { $0.name == control.name })?.value
      else {
        throw CaptureError(
          .controlUnsupported,
          "\(device.localizedName) does not tell its exposure; give the bracket's times")
      }
      guard -10...10 ~= stops else {
        throw CaptureError(.valueOutOfRange, "a bias is -10 to 10 stops, not \(stops)")
      }
      let wanted = unit.value(of: now) * exp2(stops)
      return try controls.values(
        for: .custom(duration: .nanoseconds(Int64(nearest: wanted * 1000))))
    }
  }

  /// Why a bracket cannot be made; `nil` if it can.
  func refusal(of bracket: [BracketStep]) -> CaptureError? {
    let before = exposureNow
    for step in bracket {
      do throws(CaptureError) {
        _ = try values(for: step, from: before)
      } catch {
        return error
      }
    }
    return nil
  }
}
