internal import Sprocket

/// A bracket that a run makes.
struct RunningBracket: Sendable {
  let sequence: RecordingSequence
  /// The values that it restores; none if the session has another camera since.
  var before: DeviceControls.Values
  let output: PhotoOutput
  /// The unique ID of the capture.
  let id: Int64
}

// Brackets: a capture of several exposures is one `RecordingSequence`.
extension PhotoOutput {
  /// Larger brackets take longer, and keep other captures waiting.
  public static let maxBracketedCapturePhotoCount = 16

  /// Asks for the photographs of a bracket. Under the lock, so that none comes before it is expected.
  static func ask(
    _ output: PhotoOutput, _ run: SessionRun, _ bracket: [BracketStep],
    _ progress: inout PhotoProgress?
  ) -> CaptureError? {
    guard let resolved = progress?.resolved, let engine = run.engine else {
      return CaptureError(.cancelled, "the session has stopped")
    }
    do throws(CaptureError) {
      let plan = try run.plan(bracket)
      let steps = plan.steps.enumerated().map { step, values in
        RecordingStep(named(values), output.requests(resolved, step: step))
      }
      let sequence: RecordingSequence
      do throws(RunError) {
        sequence = try engine.ask(
          steps, restoring: named(plan.before), within: limit * bracket.count)
      } catch {
        throw CaptureError(error, .fileRefused)
      }
      for (step, ids) in sequence.recordings.enumerated() {
        for (id, format) in zip(ids, resolved.formats) {
          progress?.expect(id, PhotoProgress.Place(format: format, step: step))
        }
      }
      progress?.expect(sequence, run)
      run.add(
        RunningBracket(
          sequence: sequence, before: plan.before, output: output, id: resolved.uniqueID))
      return nil
    } catch {
      return error
    }
  }

  private static func named(_ values: DeviceControls.Values) -> [RecordingStep.NamedValue] {
    values.map { RecordingStep.NamedValue($0.name, $0.value) }
  }
}
