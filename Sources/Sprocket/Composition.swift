public import SprocketCore
public import SprocketSources

/// Clips of movies, one behind the other, to be written into one file.
///
///     var film = Composition()
///     try film.append("a.mov")
///     try film.append("b.mov", from: .seconds(2), to: .seconds(8))
///     try film.remove(.seconds(3)..<(.seconds(4)))
///     let made = try await film.export(to: "film.mov")
///
/// A value: it holds names and times, and no pictures. Files are read when clips are added, and must not
/// change before `export`. A clip has whole pictures; its sound is cut and filled up with silence to be as
/// long.
public struct Composition: Sendable {
  /// In the order in which they are played.
  public private(set) var clips: [FilmClip] = []

  /// A composition without clips.
  public init() {}

  /// From the first picture to the end of the last one.
  public var duration: Duration { clips.reduce(.zero) { $0 + $1.duration } }

  /// Adds the pictures of a movie, with their sound, behind the others.
  ///
  /// - Parameters:
  ///   - path: a movie that Sprocket reads.
  ///   - from: the clip begins with the first picture at or after this time, from the file's first picture.
  ///   - to: it ends before the first picture at or after this time; `nil`: at the file's end.
  ///
  /// Throws if the file cannot be read, or has no picture in that time. Cost: reads the file from the disk up
  /// to `to`.
  public mutating func append(
    _ path: String, from: Duration = .zero, to: Duration? = nil
  ) throws(RunError) { try insert(path, from: from, to: to, at: clips.count) }

  /// Adds a clip before the one at `index`; `clips.count` is behind all. Throws for other numbers, too.
  public mutating func insert(
    _ path: String, from: Duration = .zero, to: Duration? = nil, at index: Int
  ) throws(RunError) { try insert(path, from: from, to: to, at: index) { false } }

  package mutating func insert(
    _ path: String, from: Duration = .zero, to: Duration? = nil, at index: Int,
    isInterrupted: @escaping @Sendable () -> Bool
  ) throws(RunError) {
    try check(index, upTo: clips.count)
    guard from >= .zero else {
      throw RunError(
        .usage, "a clip of \(path) cannot begin at \(from.settingText); begin at 0 or later")
    }
    guard from < to ?? .seconds(1 << 60),
      let clip = try FilmClip(path: path, from: from, until: to, isInterrupted: isInterrupted)
    else {
      let end = to.map { " and before \($0.settingText)" } ?? " or later"
      throw RunError(
        .usage, "\(path) has no picture at \(from.settingText)\(end); choose another time")
    }
    clips.insert(clip, at: index)
  }

  /// Adds a clip that was made before, such as one of another composition, before the one at `index`;
  /// `clips.count` is behind all. Throws for other numbers. The file is not read again.
  public mutating func insert(_ clip: FilmClip, at index: Int) throws(RunError) {
    try check(index, upTo: clips.count)
    clips.insert(clip, at: index)
  }

  /// Moves the clip at `index` so that it is at `target`, counted without it: `clips.count - 1` is behind all
  /// others. Throws if there is no such clip or place.
  public mutating func move(from index: Int, to target: Int) throws(RunError) {
    try check(index, upTo: clips.count - 1)
    try check(target, upTo: clips.count - 1)
    clips.insert(clips.remove(at: index), at: target)
  }

  /// Removes the clip at `index`, and returns it. Throws if there is none.
  @discardableResult
  public mutating func removeClip(at index: Int) throws(RunError) -> FilmClip {
    try check(index, upTo: clips.count - 1)
    return clips.remove(at: index)
  }

  private func check(_ index: Int, upTo last: Int) throws(RunError) {
    guard index < 0 || index > last else { return }
    guard last >= 0 else {
      throw RunError(.usage, "the composition has no clips; append one first")
    }
    throw RunError(
      .usage, "there is no place \(index) among \(clips.count) clips; give 0 to \(last)")
  }

  /// Cuts out a time of the composition, counted from its first picture: the pictures that begin in it. What
  /// follows moves up.
  ///
  /// Throws if nothing would be left. Cost: as `append` of the clips that are cut.
  public mutating func remove(_ range: Range<Duration>) throws(RunError) {
    try remove(range) { false }
  }

  package mutating func remove(
    _ range: Range<Duration>, isInterrupted: @escaping @Sendable () -> Bool
  ) throws(RunError) {
    var kept: [FilmClip] = []
    var offset = Duration.zero
    for clip in clips {
      let (begin, end) = (offset, offset + clip.duration)
      offset = end
      guard range.overlaps(begin..<end) else {
        kept.append(clip)
        continue
      }
      // Ends of a clip are times of its file.
      for part in [begin..<max(begin, range.lowerBound), min(end, range.upperBound)..<end]
      where !part.isEmpty {
        let (from, to) = (
          clip.start + part.lowerBound - begin, clip.start + part.upperBound - begin
        )
        let found = try FilmClip(
          path: clip.path, from: from, until: to, isInterrupted: isInterrupted)
        if let found { kept.append(found) }
      }
    }
    guard !kept.isEmpty else {
      throw RunError(.usage, "nothing is left of the composition; cut out less of it")
    }
    clips = kept
  }
}
