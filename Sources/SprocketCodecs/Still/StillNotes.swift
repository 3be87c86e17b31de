internal import SprocketDeflate
internal import SprocketTIFF

/// What a program has a photograph's file say: added to the EXIF of a file that is complete. `docs/stills.md`
/// lists the fields.
public struct StillNotes: Sendable {
  private var fields = TIFFFields()

  /// Nothing to be added.
  public init() {}

  public var isEmpty: Bool { fields.isEmpty }

  /// Texts that are empty are not written: the file keeps what it has.
  public mutating func setTexts(
    title: String, make: String, model: String, software: String, artist: String,
    copyright: String, comment: String
  ) {
    fields.add(.imageDescription, text: title)
    fields.add(.make, text: make)
    fields.add(.model, text: model)
    fields.add(.software, text: software)
    fields.add(.artist, text: artist)
    fields.add(.copyright, text: copyright)
    // EXIF's own comment has JSON.
    fields.add(.windowsComment, wideText: comment)
  }

  /// Degrees north and east, -90 to 90 and -180 to 180, and metres above the sea.
  public mutating func setPlace(latitude: Double, longitude: Double, altitude: Double?) {
    fields.add(latitude: latitude, longitude: longitude, altitude: altitude)
  }

  /// The file with these notes. `nil` for a file that is none of `StillFormat`'s, and where a JPEG's EXIF,
  /// 64 KB with its thumbnail, has no room for them. Costs a copy of the file.
  public func added(to file: [UInt8]) -> [UInt8]? {
    guard !isEmpty else { return file }
    guard let range = PictureFile.tiffRange(in: file.span),
      let made = fields.added(to: Array(file[range]))
    else { return nil }
    if range.count == file.count { return made }
    return PictureFile.isJPEG(file.span)
      ? Self.segment(made, in: file, range) : Self.chunk(made, in: file, range)
  }

  /// A JPEG with another segment of EXIF; `range` is what lies behind the old one's ten bytes.
  private static func segment(_ exif: [UInt8], in jpeg: [UInt8], _ range: Range<Int>) -> [UInt8]? {
    let length = exif.count + 8
    guard length <= 65_535 else { return nil }
    var made = Array(jpeg[..<range.lowerBound])
    made[range.lowerBound - 8] = UInt8(length >> 8)
    made[range.lowerBound - 7] = UInt8(truncatingIfNeeded: length)
    return made + exif + jpeg[range.upperBound...]
  }

  /// A PNG with another chunk `eXIf`: before its contents are their length and its name, behind these the
  /// checksum of name and contents.
  private static func chunk(_ exif: [UInt8], in png: [UInt8], _ range: Range<Int>) -> [UInt8] {
    let name = Array(png[(range.lowerBound - 4)..<range.lowerBound])
    var checksum = CRC32()
    checksum.update(name.span)
    checksum.update(exif.span)
    let start = png[..<(range.lowerBound - 8)] + bigEndian(UInt32(exif.count)) + name
    return start + exif + bigEndian(checksum.value) + png[(range.upperBound + 4)...]
  }

  private static func bigEndian(_ value: UInt32) -> [UInt8] {
    (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * UInt32($0))) }
  }
}
