internal import SprocketJPEG

/// The two JPEG images of a frame of Motion-JPEG whose fields are coded one by one.
///
/// Capture cards write such AVI files, and QuickTime's Motion-JPEG A is like that. Each image has half
/// of the frame's lines; of an odd height the upper field has the line more.
struct FieldImages {
  let first: JPEGStructure
  let second: JPEGStructure
  /// Where each lies in the frame's bytes.
  let firstRange: Range<Int>
  let secondRange: Range<Int>
  /// From where the offsets of `second` count.
  let secondOrigin: Int

  /// Looks behind a first image, which has `first` for its structure, for a second of the same kind.
  /// `nil` where there is none. There may be padding between them.
  init?(_ bytes: Span<UInt8>, first: JPEGStructure) {
    var start = first.byteCount
    while start + 2 < bytes.count {
      if bytes[start] == 0xFF, bytes[start + 1] == Self.startOfImage, bytes[start + 2] == 0xFF {
        break
      }
      start += 1
    }
    guard start + 2 < bytes.count else { return nil }
    do throws(JPEGError) {
      let second = try JPEGStructure(parsing: bytes.extracting(start..<bytes.count))
      guard second.width == first.width, abs(second.height - first.height) <= 1,
        second.subsampling == first.subsampling, second.componentCount == first.componentCount
      else { return nil }
      self.first = first
      self.second = second
      firstRange = first.start..<first.byteCount
      secondRange = start + second.start..<start + second.byteCount
      secondOrigin = start
    } catch {
      return nil
    }
  }

  /// Reads both images' structure, of a frame that a source has let pass; throws what is wrong with the
  /// first.
  init?(_ bytes: Span<UInt8>) throws(JPEGError) {
    self.init(bytes, first: try JPEGStructure(parsing: bytes))
  }

  private static let startOfImage: UInt8 = 0xD8

  /// Lines of the whole picture.
  var height: Int { first.height + second.height }

  /// The images say themselves that they are fields, and not two pictures that somebody joined.
  var isMarked: Bool { first.fieldParity != 0 && first.fieldParity != second.fieldParity }
}
