public import SprocketCore
package import SprocketLibAV

/// A part of a movie: whole pictures, and the sound of that time.
///
/// Files are read when it is made, and must not change before it is used.
public struct FilmClip: Sendable {
  package let part: MediaPart

  /// The pictures of a file from `from` to before `until`, counted from its first picture; `nil`: to its end.
  ///
  /// Throws if the file cannot be read or has no pictures at all (`.usage`). `nil` if it has none in that
  /// time. Cost: as reading the file from the disk up to `until`; no picture is decoded.
  public init?(
    path: String, from: Duration = .zero, until: Duration? = nil,
    isInterrupted: @escaping @Sendable () -> Bool = { false }
  ) throws(RunError) {
    do throws(MediaError) {
      let found = try MediaPart(
        path, from: max(.zero, from).nanosecondCount, until: until?.nanosecondCount ?? .max,
        isInterrupted: isInterrupted)
      guard let found else { return nil }
      part = found
    } catch {
      guard error.code == .noVideo, Self.hasSound(path) else { throw RunError(opening: error) }
      throw RunError(
        .usage,
        "\(path) has sound alone, and a composition joins films; give a movie, and join files of sound with "
          + "another program, such as ffmpeg's concat")
    }
  }

  private static func hasSound(_ path: String) -> Bool {
    do throws(MediaError) {
      _ = try SoundReader(path: path, isInterrupted: { false })
      return true
    } catch { return false }
  }

  public var path: String { part.path }

  /// The number of the stream of pictures, as ffprobe counts.
  package var stream: Int { part.stream }

  /// Plays the file's pictures from that one on which is shown at `time`, nanoseconds on its clock.
  package func source(from time: Int64) -> FileSource {
    var settings = FileSettings()
    settings.stream = part.stream
    let source = FileSource(path: path, settings)
    source.beginning = time
    source.isSoundTaken = true
    return source
  }

  /// On the file's clock, nanoseconds: when the picture is shown that is seen at a time from its first
  /// picture.
  package func shown(at time: Duration) -> Int64 {
    let wanted = part.zero.clampedSum(time.nanosecondCount)
    return part.times.last { $0 <= wanted } ?? part.start
  }

  /// When it begins, counted from the file's first picture.
  public var start: Duration { .nanoseconds(part.start.clampedDifference(part.zero)) }
  /// From its first picture to the end of its last one.
  public var duration: Duration { .nanoseconds(part.length) }
  /// When each picture is shown, counted from the file's first picture, in order; at least one.
  public var times: [Duration] {
    part.times.map { .nanoseconds($0.clampedDifference(part.zero)) }
  }
  /// The codec of its pictures, as ffprobe calls it: `h264`, `mjpeg`.
  public var codec: String { part.codec }
  /// That of its sound, such as `aac` or `pcm_s16le`; `nil` if it has none that can be decoded.
  public var soundCodec: String? { part.soundCodec }
}
