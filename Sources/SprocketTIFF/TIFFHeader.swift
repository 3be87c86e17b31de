/// What the first directory of a TIFF structure says of the camera.
public struct TIFFHeader: Equatable, Sendable {
  /// EXIF's orientation, 1 to 8; `nil` where there is none.
  public let orientation: UInt8?
  /// Where texts lie in the bytes, without their closing zero; `nil` where there is none.
  public let make: Range<Int>?
  public let model: Range<Int>?

  /// `nil` where `bytes` do not begin with a TIFF header and a directory.
  public init?(_ bytes: Span<UInt8>) {
    guard let directory = TIFFDirectory(bytes) else { return nil }
    let number = directory.integer(.orientation, in: bytes) ?? 0
    orientation = 1...8 ~= number ? UInt8(number) : nil
    make = directory.text(.make, in: bytes)
    model = directory.text(.model, in: bytes)
  }
}
