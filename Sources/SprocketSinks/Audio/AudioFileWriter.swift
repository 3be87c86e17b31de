internal import Glibc
package import SprocketCore
internal import SprocketFiles
internal import SprocketLibAV

/// The kinds of files of sound alone.
enum AudioContainer: String, CaseIterable {
  case wav, flac, mov, mkv

  /// From the ending of a file's name, in any case.
  init(path: String) throws(RunError) {
    let name = path.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
    let ending = name.lastIndex(of: ".").map { name[name.index(after: $0)...].lowercased() } ?? ""
    if name.count > ending.count + 1, let found = Self(rawValue: ending) {
      self = found
      return
    }
    let known = Self.allCases.map { ".\($0.rawValue)" }.joined(separator: ", ")
    throw RunError(
      .usage,
      "cannot write sound to \(path): the ending says what kind of file it is; give one of \(known)"
    )
  }

  /// Throws for a format that such a file does not hold.
  func check(_ format: AudioFormat, path: String) throws(RunError) {
    guard self == .flac else { return }
    if !SoundEncoder.holds(rate: format.rate) {
      throw RunError(
        .usage,
        "cannot write sound to \(path): FLAC does not have the rate \(format.rate) Hz; record a .wav, "
          + "or choose another rate", change: .audioRate)
    }
  }
}

extension AudioFormat {
  var hasUsualSpeakers: Bool { PCMFormat(self).hasUsualSpeakers }

  /// A note about speakers that a file does not name.
  var unplaced: String {
    "the file does not say where the \(channels) channels are heard: players take the usual places; a .mov "
      + "with pcm says it"
  }
}

extension PCMFormat {
  init(_ format: AudioFormat) {
    let number: Number =
      switch format.number {
      case .s16: .s16
      case .s24: .s24
      case .s32: .s32
      case .f32: .f32
      }
    self.init(
      number: number, rate: format.rate, channels: format.channels, speakers: format.speakers)
  }
}

/// What writes the contents of a file of sound.
protocol AudioContents: AnyObject {
  /// Adds whole samples.
  func write(_ samples: Span<UInt8>) throws(MuxerError)
  func finish() throws(MuxerError)
  /// How many of the first samples the output took, in a file that can be played up to there.
  var durableSamples: UInt64 { get }
  /// The file's length up to there, in bytes.
  var durableEnd: Int64 { get }
}

private final class MuxedSound: AudioContents {
  private var muxer: Muxer

  init(_ muxer: consuming Muxer) { self.muxer = muxer }

  func write(_ samples: Span<UInt8>) throws(MuxerError) {
    try muxer.write(audio: samples, track: 0)
  }
  func finish() throws(MuxerError) { try muxer.finish(nominalTicks: nil) }
  var durableSamples: UInt64 { muxer.durableSamples(ofTrack: 0) }
  var durableEnd: Int64 { muxer.durableEnd }
}

private final class FLACSound: AudioContents {
  private var writer: FLACWriter

  init(_ writer: consuming FLACWriter) { self.writer = writer }

  func write(_ samples: Span<UInt8>) throws(MuxerError) { try writer.write(samples) }
  func finish() throws(MuxerError) { try writer.finish() }
  var durableSamples: UInt64 { writer.durableSamples }
  var durableEnd: Int64 { writer.durableEnd }
}

/// One file of sound alone, from its first sample to its name: WAV, FLAC, MOV or MKV.
///
/// Until it is complete it has a partial name (`PartialFile`), and can be played up to its last whole second.
package final class AudioFileWriter {
  private let name: String
  private let container: AudioContainer
  private let output: MovieOutput
  var keptPath: String? { output.keptPath }
  private var contents: (any AudioContents)?
  private var hasFailed = false
  /// Samples up to the last second that the kernel took.
  private var takenSamples: UInt64 = 0
  package private(set) var byteCount: UInt64 = 0

  /// Makes the file, empty and under its partial name.
  /// With `sync` nothing that was written is off the disk for longer.
  package init(
    path: String, overwrite: Bool, isMadeUp: Bool, sync: Duration? = nil
  ) throws(RunError) {
    container = try AudioContainer(path: path)
    output = try MovieOutput(
      path: path, purpose: "sound", overwrite: overwrite, isMadeUp: isMadeUp, sync: sync)
    name = path
  }

  /// Returns a note if the file does not keep all of such sound.
  func loss(_ format: AudioFormat) -> String? {
    container == .mkv && !format.hasUsualSpeakers ? format.unplaced : nil
  }

  /// Throws for a format that the file does not hold.
  func check(_ format: AudioFormat) throws(RunError) { try container.check(format, path: name) }

  /// Samples that are safe in the file; 0 if the file was removed or the disk lost it.
  package var durableCount: UInt64 { output.isGone || output.isLost ? 0 : takenSamples }
  package var path: String { hasFailed ? output.partialPath ?? name : name }
  package var freeByteCount: UInt64? { output.freeByteCount }
  /// Bytes of the file up to its last whole second, or up to its end.
  var fileByteCount: UInt64 { UInt64(max(0, contents?.durableEnd ?? 0)) }
  package var isEmpty: Bool { contents == nil && !hasFailed }

  /// Writes the beginning of the file. `microphone` is what players call the sound; `tags` are names without
  /// spaces, and values. Throws for a format that the file does not hold.
  package func begin(
    _ format: AudioFormat, microphone: String, tags: [(name: String, value: String)]
  ) throws(RunError) {
    try container.check(format, path: name)
    var tags = tags
    if !microphone.isEmpty { tags.insert((name: "title", value: microphone), at: 0) }
    do throws(MuxerError) {
      let sound = PCMFormat(format)
      let track = SoundTrack(format: sound, name: microphone)
      contents =
        switch container {
        case .wav: try WAVWriter(format, tags: tags, fragment: output.fragment, output: output)
        case .flac:
          FLACSound(
            try FLACWriter(sound, tags: tags, fragment: output.fragment, output: output))
        case .mov, .mkv:
          MuxedSound(
            try Muxer(
              container == .mov ? .mov : .mkv, nil, sound: [track], tags: tags,
              fragment: output.fragment, output: output))
        }
    } catch {
      throw fail(error)
    }
  }

  /// Adds whole samples, interleaved, of the format that it was begun with.
  package func write(_ samples: Span<UInt8>) throws(RunError) {
    guard let contents else { preconditionFailure("sound is written before `begin`") }
    do throws(MuxerError) {
      try contents.write(samples)
    } catch {
      throw fail(error)
    }
    byteCount += UInt64(samples.count)
    try noteDurable(contents)
  }

  /// Completes the file and gives it its name. After a failure, which was already reported, it
  /// keeps its partial name. An empty file is removed.
  package func finish() throws(RunError) {
    guard !hasFailed else { return }
    guard let contents else { return abandon() }
    do throws(MuxerError) {
      try contents.finish()
    } catch {
      throw fail(error)
    }
    takenSamples = contents.durableSamples
    try output.complete()
  }

  package func abandon() { output.abandonEmpty() }

  /// Once per second: is it still of use to write here?
  private func noteDurable(_ contents: any AudioContents) throws(RunError) {
    let taken = contents.durableSamples
    guard taken > takenSamples else { return }
    takenSamples = taken
    if !output.noteFragment(at: contents.durableEnd) { throw fail(.output) }
    if output.isGone {
      hasFailed = true
      throw output.failGone()
    }
  }

  private func fail(_ error: MuxerError) -> RunError {
    hasFailed = true
    takenSamples = contents?.durableSamples ?? 0
    let end = contents?.durableEnd ?? 0
    contents = nil
    return output.fail(error, end: end, isOfUse: takenSamples > 0)
  }
}
