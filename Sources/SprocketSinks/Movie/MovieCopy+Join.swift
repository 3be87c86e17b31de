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
  /// as PCM where all of it is PCM and the file can hold that. The file says of itself what the first part's
  /// does, but for what `metadata` gives. Returns sentences for the user.
  package static func join(
    _ parts: [MediaPart], to target: String, sound codec: AudioCodec?, metadata: MovieMetadata,
    overwrite: Bool,
    isInterrupted: @escaping @Sendable () -> Bool
  ) throws(RunError) -> [String] {
    let container = try MovieSink.container(target)
    try RunError.checkLibAV(for: target)
    let encoder = codec.flatMap { SoundCodec(rawValue: $0.rawValue) }
    if let codec, encoder.map({ container.holds($0) }) ?? container.holdsPCM == false {
      throw RunError(
        .usage,
        "\(target) cannot hold sound as \(codec.settingText): choose another codec, or another ending",
        change: .audioCodec)
    }
    let output = try MovieOutput(path: target, overwrite: overwrite, isMadeUp: false)
    let notes: [String]
    do throws(JoinError) {
      var join = try MediaJoin(
        into: container,
        sound: codec == nil ? nil : JoinedSound(parts, for: encoder, isInterrupted: isInterrupted),
        codec: encoder, tags: metadata.tags(over: parts.first?.tags ?? [:], in: container),
        output: output,
        isInterrupted: isInterrupted)
      try join.copy(parts)
      notes = join.notes
    } catch {
      throw output.failure(of: error, target)
    }
    try output.complete()
    return notes
  }

  /// How pictures are encoded that were coded in that way: alike where Sprocket encodes that and the file
  /// holds it.
  package static func codec(
    like name: String, in target: String
  ) throws(RunError) -> MovieCodec {
    let container = try MovieSink.container(target)
    var codec = MovieCodec()
    let isOfWeb = ["vp8", "vp9", "av1"].contains(name)
    codec.name =
      switch container {
      case .webm: isOfWeb ? name : "vp9"
      case .mov, .mp4: ["mjpeg", "hevc"].contains(name) ? name : "h264"
      case .mkv: MovieCodec.known.contains(name) ? name : "h264"
      }
    return codec
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
    case .muxer(.refused(operation: "avformat_write_header", _)):
      abandonEmpty()
      return RunError(
        .usage, "\(target) cannot hold such pictures or sound; choose another ending, such as .mkv")
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
