internal import Sprocket

// Several exposures for one capture.
extension PhotoOutput {
  /// Writes the exposure of each step, waits for the frame that shows it, and takes the next one. Then puts
  /// back what was there before, and lets the capture end. Brackets of a run take turns.
  func makeBracket(
    _ resolved: ResolvedPhotoSettings, _ bracket: [BracketStep], _ run: SessionRun
  ) async {
    let id = resolved.uniqueID
    await run.brackets.take()
    defer { run.brackets.end() }
    do throws(CaptureError) {
      // Another bracket may have been under way when this one was asked for.
      let plan = try run.plan(bracket)
      run.writeAtEnd(plan.before)
      for (step, wanted) in plan.steps.enumerated() {
        do throws(CaptureError) {
          let change = try await run.write(wanted)
          update(id) { $0.expect(step: step, run, change.values) }
          if let error = captures.withLock({ Self.ask(self, run, step: step, &$0[id]) }) {
            throw error
          }
        } catch {
          update(id) { $0.fail(error, from: step) }
          break
        }
        guard await isTaken(id, step) else { break }
      }
      _ = try await run.write(plan.before)
      run.writeAtEnd([])
    } catch {
      update(id) { $0.fail(error) }
    }
    update(id) { $0.release() }
  }

  /// Waits until the photographs of a step have come; false if the capture fails before.
  private func isTaken(_ id: Int64, _ step: Int) async -> Bool {
    while true {
      let isDone = captures.withLock { captures -> Bool? in
        guard let progress = captures[id], !progress.hasFailed else { return nil }
        return !progress.recordings.values.contains { $0.step == step }
      }
      guard let isDone else { return false }
      if isDone { return true }
      try? await Task.sleep(for: .milliseconds(5))
    }
  }
}
