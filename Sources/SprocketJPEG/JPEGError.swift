/// What can be wrong with a JPEG image or with the memory given for one.
///
/// An error is a few bytes, so that a stream of damaged frames costs no memory; the library's own words
/// for the last error of a handle are in ``JPEGDecoder/lastMessage`` and ``JPEGEncoder/lastMessage``.
public enum JPEGError: Error, Equatable, Sendable {
  // What the structure of the file shows, see `JPEGStructure`. Offsets are in bytes from its start.

  /// The data does not begin with the marker FFD8.
  case noStartOfImage
  /// The data ends before the marker FFD9.
  case truncated
  /// A segment that is too short for its contents, or has impossible ones.
  case brokenSegment(marker: UInt8, offset: Int)
  /// A marker that has no business here.
  case strayMarker(marker: UInt8, offset: Int)
  /// Restart markers that are missing or out of order: part of the picture was lost on the way.
  case restartMarkers(offset: Int)
  /// A scan, or the end, without a frame header (SOF) before.
  case noFrameHeader
  /// A second frame header.
  case twoFrameHeaders(offset: Int)
  /// A coding process other than baseline, extended sequential and progressive with 8 bits.
  case unsupportedProcess(marker: UInt8)
  /// A width or height of zero.
  case emptyImage
  /// A side of more than 65500 pixels, which is libjpeg's limit, or more than 2^28 pixels.
  case imageTooLarge(width: Int, height: Int)
  /// No quantization table before the first scan.
  case noQuantizationTable
  /// The end of image comes before any scan.
  case noScan
  /// Less picture data than an image of this size can have.
  case missingData
  /// More than 500 scans, each of which costs a pass over the whole picture.
  case tooManyScans

  // What decoding shows.

  /// The decoder met data that cannot be right and went on; part of the picture is wrong.
  case damagedData
  /// The decoder gave up.
  case undecodable
  /// Not the size or the chroma subsampling that was asked for.
  case unexpectedImage(width: Int, height: Int)
  /// A chroma subsampling, or a colour space, that has no planes here.
  case unsupportedSubsampling

  // What the caller can get wrong at run time.

  /// The buffer is smaller than the largest possible result.
  case bufferTooSmall(needed: Int)
  /// The encoder refused.
  case encodingFailed
  /// The library could not be set up.
  case outOfMemory
}

extension JPEGError: CustomStringConvertible {
  /// A sentence that says what is wrong and what can be done.
  public var description: String {
    switch self {
    case .noStartOfImage:
      "This is not a JPEG image (it does not begin with FFD8); check the camera's pixel format."
    case .truncated:
      "The JPEG image is cut off; if this happens often, try another USB port, a shorter cable, "
        + "or a smaller frame size."
    case .brokenSegment(let marker, let offset):
      "The JPEG segment \(hexadecimal(marker)) at byte \(offset) is broken; the frame is damaged."
    case .strayMarker(let marker, let offset):
      "The JPEG marker \(hexadecimal(marker)) at byte \(offset) is out of place; the frame is "
        + "damaged."
    case .restartMarkers(let offset):
      "JPEG restart markers are missing before byte \(offset); part of the frame was lost on the "
        + "way, try another USB port or a smaller frame size."
    case .noFrameHeader: "The JPEG image has no frame header; the frame is damaged."
    case .twoFrameHeaders(let offset):
      "The JPEG image has a second frame header at byte \(offset); the frame is damaged."
    case .unsupportedProcess(let marker):
      "The JPEG image is coded in a way that is not supported (\(hexadecimal(marker))); choose "
        + "another pixel format, or convert the file."
    case .emptyImage: "The JPEG image has a width or height of zero; the frame is damaged."
    case .imageTooLarge(let width, let height):
      "The JPEG image says that it is \(width)x\(height), more than can be decoded; the frame is "
        + "damaged."
    case .noQuantizationTable:
      "The JPEG image has no quantization table; the frame is damaged."
    case .noScan: "The JPEG image has no picture data; the frame is damaged."
    case .missingData:
      "The JPEG image has less picture data than its size needs; the frame is damaged."
    case .tooManyScans:
      "The JPEG image has more than \(JPEGStructure.mostScans) scans, and decoding it could take minutes; "
        + "encode it anew."
    case .damagedData: "The JPEG image's picture data is damaged; part of the picture is wrong."
    case .undecodable: "The JPEG image cannot be decoded; the frame is damaged."
    case .unexpectedImage(let width, let height):
      "The JPEG image is \(width)x\(height), or its chroma is not what this stream began with; "
        + "start the stream anew."
    case .unsupportedSubsampling:
      "The JPEG image's chroma subsampling or colour space is not supported; only its luma can be "
        + "decoded."
    case .bufferTooSmall(let needed):
      "The buffer for a JPEG image must have at least \(needed) bytes; give it that many."
    case .encodingFailed:
      "The image cannot be encoded as JPEG; its sides must be between 1 and 65500 pixels."
    case .outOfMemory: "There is not enough memory for a JPEG codec; close other programs."
    }
  }
}

/// A marker as it is written in the standard: FF and two digits.
private func hexadecimal(_ marker: UInt8) -> String {
  "FF" + (marker < 16 ? "0" : "") + String(marker, radix: 16, uppercase: true)
}
