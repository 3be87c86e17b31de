internal import Sprocket

// What is done with a recording's file when it is complete.
extension RecordingResult {
  /// Reads the file from its first frame to its last, as a player would, and compares their number with what
  /// was written. Throws if frames are missing or damaged. Takes as long as decoding takes.
  public func verify() async throws(CaptureError) {
    guard isUsable else {
      throw error
        ?? CaptureError(.fileRefused, "\(path) was not written, so there is nothing to verify")
    }
    guard soundSamples == 0 else { return try await verifySound() }
    let summary: RunSummary
    do throws(RunError) {
      let engine = try Engine(
        source: FileSource(path: path),
        sinks: [ClosureSink("verify", reading: .luma(.eighth)) { _ in }],
        options: RunOptions(verifies: true))
      try engine.start()
      while await !engine.hasEnded(within: .milliseconds(100)) {
        guard !Task.isCancelled else {
          engine.stop()
          throw RunError(.failed, "verifying \(path) was cancelled")
        }
      }
      summary = engine.summary
    } catch {
      throw CaptureError(error, .fileRefused)
    }
    if let error = summary.errors.first { throw CaptureError(error, .fileRefused) }
    let (found, written) = (
      summary.ledger.entries.first?.counts[.delivered] ?? 0, counts[.delivered]
    )
    guard found == written else {
      throw CaptureError(
        .fileRefused, "\(path) has \(found) whole frames of the \(written) that were written")
    }
  }

  /// Moves the file into a folder, under its own name, and returns the new path. The name must be free there,
  /// or `overwrite` set. To another file system the file is copied, and removed when the copy is durable.
  @discardableResult
  public func move(
    toFolder folder: String, overwrite: Bool = false
  ) throws(CaptureError) -> String {
    guard isUsable else {
      throw error ?? CaptureError(.fileRefused, "\(path) was not written, so it cannot be moved")
    }
    let name = path.split(separator: "/").last.map { String($0) } ?? path
    let target = folder.hasSuffix("/") ? folder + name : "\(folder)/\(name)"
    do throws(RunError) {
      try PartialFile.move(path, to: target, replaces: overwrite)
    } catch {
      throw CaptureError(error, .fileRefused)
    }
    return target
  }

  /// Reads a file of sound alone to its end, and compares its length.
  private func verifySound() async throws(CaptureError) {
    let sound: AudioEngine
    do throws(RunError) {
      sound = try AudioEngine(FileAudioSource(path: path))
      try sound.start()
    } catch {
      throw CaptureError(error, .fileRefused)
    }
    while !sound.isOver {
      guard !Task.isCancelled else {
        sound.stop()
        throw CaptureError(.cancelled, "verifying \(path) was cancelled")
      }
      try? await Task.sleep(for: .milliseconds(10))
    }
    let summary = sound.summary
    if let error = summary.errors.first { throw CaptureError(error, .fileRefused) }
    guard summary.ledger.produced == soundSamples else {
      throw CaptureError(
        .fileRefused,
        "\(path) has \(summary.ledger.produced) samples of the \(soundSamples) that were written")
    }
  }
}
