public import SprocketCodecs
public import SprocketCore
internal import SprocketLibAV

extension PictureNotes {
  /// Reads them from a picture's file; `nil` for another file, by its name, and where it says nothing.
  public static func read(
    path: String, isInterrupted: @escaping @Sendable () -> Bool = { false }
  ) throws(RunError) -> PictureNotes? {
    let names = try PictureNames(path)
    guard
      names?.entries.map(\.path) == [path] || path.lowercased().hasSuffix(".dng")
        || PictureNames.orientationOfFilm(path) != nil
    else {
      return nil
    }
    do throws(MediaError) {
      guard let file = try WholeFileReader().read(path: path, isInterrupted: isInterrupted) else {
        return nil
      }
      let notes = PictureNotes(file: unsafe Span(_unsafeElements: file.bytes))
      // The bytes are there as long as the file is.
      _ = consume file
      return notes
    } catch {
      throw RunError(opening: error)
    }
  }
}
