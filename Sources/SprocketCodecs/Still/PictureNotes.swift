public import SprocketCore
internal import SprocketTIFF

/// Time, exposure and device of a picture, read from its file: from EXIF, or from a TIFF's own fields.
public struct PictureNotes: Sendable, Equatable {
  public var orientation = Orientation.upright
  public var make, model, software: String?
  /// As EXIF writes it: `2026:11:25 14:03:05.123456+01:00`, sub-seconds and offset where they are known.
  public var taken: String?
  /// Seconds.
  public var exposureTime: Double?
  public var sensitivity: Int?
  /// EXIF's `UserComment`. Sprocket writes JSON into it (docs/stills.md).
  public var comment: String?
  /// Number of pages of a TIFF; 1 for other files.
  public var pageCount = 1
  /// The file ends before its last page.
  public var isCut = false

  /// `nil` if the file has neither.
  public init?(file bytes: Span<UInt8>) {
    guard let range = PictureFile.tiffRange(in: bytes) else { return nil }
    let found = PictureFile.pages(bytes)
    (pageCount, isCut) = (max(1, found.pages.count), found.isCut)
    orientation = PictureFile.orientation(of: bytes)
    let bytes = bytes.extracting(range)
    guard let directory = TIFFDirectory(bytes) else {
      // An AVIF says its orientation alone.
      if orientation == .upright { return nil }
      return
    }
    func text(_ tag: TIFFTag, _ directory: TIFFDirectory?) -> String? {
      directory?.text(tag, in: bytes).flatMap { Self.text(bytes, $0) }
    }
    let exif = directory.directory(.exifIFD, in: bytes)
    (make, model, software) = (
      text(.make, directory), text(.model, directory), text(.software, directory)
    )
    if let date = text(.dateTimeOriginal, exif) ?? text(.dateTime, directory) {
      let fraction = text(.subSecTimeOriginal, exif).map { ".\($0)" } ?? ""
      taken = date + fraction + (text(.offsetTimeOriginal, exif) ?? "")
    }
    exposureTime = exif?.ratio(.exposureTime, in: bytes)
    sensitivity = exif?.integer(.photographicSensitivity, in: bytes)
    // Behind the name of the characters, of 8 bytes.
    comment = exif?.undefined(.userComment, in: bytes).flatMap {
      $0.count > 8 ? Self.text(bytes, $0.lowerBound + 8..<$0.upperBound) : nil
    }
  }

  /// Printable characters alone; `nil` without any.
  private static func text(_ bytes: Span<UInt8>, _ range: Range<Int>) -> String? {
    let letters = range.map { bytes[$0] }.filter { $0 >= 0x20 && $0 != 0x7F }
    let text = String(decoding: letters, as: UTF8.self)
    return text.allSatisfy { $0 == " " } ? nil : text
  }
}
