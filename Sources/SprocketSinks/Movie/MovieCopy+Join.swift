package import SprocketCore
package import SprocketLibAV

extension MovieCopy {
  /// Why the pictures of parts cannot be copied into one file of that name; `nil` if they can. Throws for a
  /// name that is no movie's.
  package static func obstacle(
    to target: String, of parts: [MediaPart]
  ) throws(RunError) -> String? {
    MediaJoin.obstacle(parts, try MovieSink.container(target))
  }

  /// Copies the pictures of parts into one file, one behind the other, and encodes their sound, or keeps it
  /// as PCM where all of it is PCM and the file can hold that. Returns sentences for the user.
  package static func join(
    _ parts: [MediaPart], to target: String, sound codec: AudioCodec?, overwrite: Bool,
    isInterrupted: @escaping @Sendable () -> Bool
  ) throws(RunError) -> [String] {
    let container = try MovieSink.container(target)
    try RunError.checkLibAV(for: target)
    let output = try MovieOutput(path: target, overwrite: overwrite, isMadeUp: false)
    let notes: [String]
    do throws(JoinError) {
      var join = try MediaJoin(
        into: container,
        sound: codec == nil ? nil : JoinedSound(parts, isInterrupted: isInterrupted),
        codec: codec.flatMap { SoundCodec(rawValue: $0.rawValue) }, output: output,
        isInterrupted: isInterrupted)
      try join.copy(parts)
      notes = join.notes
    } catch {
      throw output.failure(of: error, target)
    }
    try output.complete()
    return notes
  }

  /// How sound is stored in a file of that name unless another codec is chosen: as PCM where all of it is PCM
  /// and the file can hold that.
  package static func usualSound(
    of parts: [MediaPart], in target: String
  ) throws(RunError) -> AudioCodec? {
    let codecs = parts.compactMap(\.soundCodec)
    let container = try MovieSink.container(target)
    guard !codecs.isEmpty else { return nil }
    if container.holdsPCM, codecs.allSatisfy({ $0.hasPrefix("pcm_") }) { return .pcm }
    return container == .webm ? .opus : .aac
  }
}

extension MovieOutput {
  /// Removes the file. Returns the error for the user.
  fileprivate func failure(of error: JoinError, _ target: String) -> RunError {
    switch error {
    case .muxer(.unheld):
      abandonEmpty()
      return RunError(.usage, error.sentence)
    case .muxer(let error): return fail(error, end: 0, isOfUse: false)
    case .media(let error) where error.code == .interrupted:
      abandonEmpty()
      return RunError(.interrupted, "stopped: \(target) was not written")
    default:
      abandonEmpty()
      return RunError(.failed, "\(target) was not written: \(error.sentence)")
    }
  }
}
