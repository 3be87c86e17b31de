internal import Glibc
internal import SprocketCore
internal import SprocketJPEG
internal import SprocketPixels

/// A JPEG decoder, what it is to make of frames of one format, and memory for full luma that nobody
/// declared but that scaled luma is made from.
@safe
struct JPEGWorker: ~Copyable {
  enum Way: Equatable {
    case image, fullLuma
    /// An image that the decoder's transform reduces.
    case reducedImage(JPEGScale)
    /// The decoder's own 1/8.
    case eighth
    /// Full luma, into memory of this worker.
    case hiddenLuma
  }

  var decoder: JPEGDecoder
  let subsampling: ChromaSubsampling
  let way: Way
  private let memory: UnsafeMutablePointer<UInt8>?
  private let width: Int
  private let height: Int

  /// `nil` if JPEG has no planes like those of `image`.
  init?(format: FrameFormat, image: PixelFormat, parts: FrameParts) throws(JPEGError) {
    guard let subsampling = image.subsampling else { return nil }
    let decoder = try JPEGDecoder()
    let needed = Self.workingBytes(format, parts)
    let memory = unsafe needed > 0 ? pictureMemory(needed) : nil
    if needed > 0, unsafe memory == nil { throw .outOfMemory }
    self.decoder = decoder
    self.subsampling = subsampling
    (width, height) = (format.width, format.height)
    way = Self.way(format, parts)
    unsafe self.memory = unsafe memory
  }

  deinit { unsafe free(memory) }

  private static func way(_ format: FrameFormat, _ parts: FrameParts) -> Way {
    // The decoder's 1/8 averages boxes of 8x8 samples of one encoded image. These are the boxes of
    // the picture only if the size is a multiple of 8 and the image is not a single field.
    let isWholeBoxes =
      format.width % 8 == 0 && format.height % 8 == 0 && !format.hasFieldImages
    if parts.contains(.image) { return .image }
    if !parts.isDisjoint(with: .anyReducedImage) {
      return .reducedImage(JPEGScale(rawValue: parts.imageScale.divisor) ?? .full)
    }
    if parts.contains(.luma(.full)) { return .fullLuma }
    return parts.intersection(.anyLuma) == .luma(.eighth) && isWholeBoxes ? .eighth : .hiddenLuma
  }

  /// Bytes that such a worker allocates for itself. Two spare rows, since turbojpeg writes whole blocks.
  static func workingBytes(_ format: FrameFormat, _ parts: FrameParts) -> Int {
    way(format, parts) == .hiddenLuma ? format.width * (format.height + 2) : 0
  }

  /// Full luma that nobody declared.
  var hiddenLuma: PlaneStorage? {
    unsafe memory.map {
      unsafe PlaneStorage(base: $0, stride: width, bytesPerRow: width, rows: height)
    }
  }
}
