public import SprocketCore
internal import SprocketLibAV

/// Plays clips, one behind the other, as one film that begins at time 0.
///
/// The pictures of each clip are those that `FileSource` gives, each as long after the clip's first one as in
/// its file. Clips of another format than the first are refused when the run is set up.
public final class ClipsSource: Source {
  private let clips: [FilmClip]
  /// An encoder takes the pictures, which converts their samples.
  private let isEncoded: Bool
  /// One for each clip, opened in turn: any thread may interrupt them.
  private let sources: [FileSource]
  private var place = 0
  /// When the clip that is played begins, nanoseconds, and which number its first frame has.
  private var (offset, number): (Int64, UInt64) = (0, 0)
  private var next: UInt64 = 0
  /// What the clip that is played is, and whether the engine knows it by now.
  private var description: SourceDescription?
  private var first: FrameFormat?
  private var isTold = true
  private var isOpen = false
  private let interruption = SourceInterrupt()
  /// Called before an error ends it, on its thread. Set before the run.
  package var onFailure: @Sendable () -> Void = {}

  /// Opens nothing yet. `isEncoded`: pictures may differ in their samples, and in how they are packed, since
  /// an encoder converts them; a clip that is packed in another way begins an epoch.
  public init(_ clips: [FilmClip], isEncoded: Bool = false) {
    self.isEncoded = isEncoded
    self.clips = clips
    sources = clips.map { $0.source(from: $0.part.start) }
  }

  /// Opens all clips, the first of them last. Throws without clips (`.usage`).
  public func open() throws(RunError) -> SourceDescription {
    var formats: [FrameFormat] = []
    for source in sources.reversed() {
      if interruption.isSet { throw RunError(.interrupted, "opening the clips was interrupted") }
      let description = try source.open()
      formats.append(description.format)
      if source === sources[0] { return try describe(description, formats.reversed()) }
      source.close()
    }
    throw RunError(.usage, "there are no clips; give one or more")
  }

  private func describe(
    _ first: SourceDescription, _ formats: [FrameFormat]
  ) throws(RunError) -> SourceDescription {
    isOpen = true
    self.first = first.format
    for (clip, format) in zip(clips, formats)
    where !format.hasPictures(like: first.format, isEncoded: isEncoded) {
      throw RunError(
        .usage,
        "\(clip.path) has \(format.shape), and \(clips[0].path) has \(first.format.shape); export them alike "
          + "first: with the same codec, size and turn")
    }
    var description = first
    description.name = clips.count == 1 ? clips[0].path : "\(clips.count) clips"
    description.frameCount = clips.reduce(0) { $0 + $1.times.count }
    description.leadIn = .zero
    self.description = description
    return description
  }

  public func next(timeout: Int64) throws(RunError) -> Arrival {
    do throws(RunError) {
      return try look(timeout)
    } catch {
      onFailure()
      throw error
    }
  }

  private func look(_ timeout: Int64) throws(RunError) -> Arrival {
    while !interruption.isSet {
      if !isTold, let description {
        isTold = true
        return .epoch(description, .formatChange)
      }
      let (clip, source) = (clips[place], sources[place])
      switch try source.next(timeout: timeout) {
      case .frame(var frame):
        let time = frame.captured.nanoseconds
        let since = max(0, time.clampedDifference(clip.part.start))
        guard since < clip.part.length else {
          source.discard()
          guard try advance() else { return .end }
          continue
        }
        frame.captured = Timestamp(nanoseconds: offset.clampedSum(since), clock: .media)
        frame.sequence += number
        next = frame.sequence + 1
        return .frame(frame)
      case .epoch:
        throw RunError(
          .failed, "the pictures of \(clip.path) change their format; export it alone first")
      case .end: guard try advance() else { return .end }
      case .nothing: return .nothing
      }
    }
    return .end
  }

  /// Opens the next clip; false behind the last one.
  private func advance() throws(RunError) -> Bool {
    sources[place].close()
    isOpen = false
    guard place + 1 < clips.count, !interruption.isSet else { return false }
    offset = offset.clampedSum(clips[place].part.length)
    (place, number) = (place + 1, next)
    let format = try sources[place].open().format
    isOpen = true
    guard let first, format.hasPictures(like: first, isEncoded: isEncoded) else {
      throw RunError(
        .failed, "\(clips[place].path) has changed while the clips were read; begin again")
    }
    // The same pictures, packed in another way.
    isTold = format == description?.format
    description?.format = format
    return true
  }

  public func take(into slot: inout CaptureSlot) { sources[place].take(into: &slot) }
  public func discard() { sources[place].discard() }
  public func reclaim(_ lent: UnsafeMutableRawPointer) { unsafe releaseLent(lent) }

  public func interrupt() {
    interruption.set()
    for source in sources { source.interrupt() }
  }

  public var notes: [String] {
    var notes: [String] = []
    for note in clips.flatMap(\.part.notes) + sources.flatMap(\.notes) where !notes.contains(note) {
      notes.append(note)
    }
    return notes
  }

  public func close() {
    if isOpen { sources[place].close() }
    isOpen = false
  }
}

extension FrameFormat {
  /// What two clips have to have in common, for a sentence.
  fileprivate var shape: String {
    let pixels = image ?? pixelFormat
    let orientation = presentation.orientation
    let turn = orientation == .upright ? "" : ", orientation \(orientation)"
    let parts = [
      "\(width)x\(height)", pixels.settingText, "\(color.range) range", "\(color.matrix)",
      "\(color.transfer)",
    ]
    return parts.joined(separator: " ") + turn
  }
}
