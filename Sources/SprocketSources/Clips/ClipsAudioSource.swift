public import SprocketCore
internal import SprocketLibAV

/// Plays the sound of clips, as long as their pictures, one behind the other from time 0: for `ClipsSource`.
///
/// Clips without sound are silent. Sound of another rate, or of other channels, is converted to that of the
/// first clip that has sound.
public final class ClipsAudioSource: AudioSource {
  private let clips: [FilmClip]
  private var sound: JoinedSound?
  private var format: AudioFormat?
  private let interruption = SourceInterrupt()
  /// Called before an error ends it, on its thread. Set before the run.
  package var onFailure: @Sendable () -> Void = {}

  /// Parts of a second that a block has. Larger: more blocks.
  private static let blocksPerSecond = 10

  /// `nil` if no clip has sound.
  public init?(_ clips: [FilmClip]) {
    guard clips.contains(where: { $0.soundCodec != nil }) else { return nil }
    self.clips = clips
  }

  public func open() throws(RunError) -> AudioDescription {
    sound = JoinedSound(clips.map(\.part)) { [interruption] in interruption.isSet }
    guard let shape = sound?.format, let format = AudioFormat(checked: shape) else {
      throw RunError(
        .usage,
        "the sound of the clips has a rate, or channels, that Sprocket does not take; convert it first"
      )
    }
    self.format = format
    return AudioDescription(
      name: "clips", format: format, isLive: false, clock: .media,
      blockSamples: format.rate / Self.blocksPerSecond)
  }

  public func read(
    into bytes: inout MutableSpan<UInt8>, timeout: Int64
  ) throws(RunError) -> AudioArrival {
    guard !interruption.isSet, let format else { return .end }
    let (first, count, missing): (Int64, Int, Int64)
    do throws(JoinError) {
      // Silence of a hole is not stored.
      missing = try sound?.passSilence() ?? 0
      first = sound?.position ?? 0
      count = try sound?.read(format.rate / Self.blocksPerSecond, into: &bytes) ?? 0
    } catch {
      if interruption.isSet { return .end }
      onFailure()
      throw RunError(.failed, error.sentence)
    }
    guard count > 0 else { return .end }
    let time = Int64((Double(first) * 1e9 / Double(format.rate)).rounded())
    return .block(ArrivedSound(count: count, missing: UInt64(missing), timing: .exact(time)))
  }

  public func interrupt() { interruption.set() }
  public private(set) var notes: [String] = []

  public func close() {
    notes = sound?.notes ?? []
    sound = nil
  }
}
