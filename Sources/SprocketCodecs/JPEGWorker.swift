internal import Glibc
internal import SprocketCore
internal import SprocketJPEG

/// A JPEG decoder, what it is to make of frames of one format, and memory for full luma that nobody
/// declared but that scaled luma is made from.
@safe
struct JPEGWorker: ~Copyable {
  enum Way {
    case image, fullLuma
    /// The decoder's own 1/8.
    case eighth
    /// Full luma, into memory of this worker.
    case hiddenLuma
  }

  var decoder: JPEGDecoder
  let subsampling: JPEGSubsampling
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

extension FrameUnpacker {
  /// False when the JPEG is damaged, or not of the size and subsampling that `format` says.
  func unpackJPEG(_ slot: UnsafeMutablePointer<FrameStorage>, _ format: FrameFormat) -> Bool {
    let count = unsafe slot.pointee.records[0].byteCount
    guard jpeg != nil, count > 0 else { return false }
    let bytes = unsafe Span(
      _unsafeStart: UnsafePointer(slot.pointee.source.planes[0].base), count: count)
    let version = unsafe slot.pointee.versions
    do throws(JPEGError) {
      let decoded =
        format.hasFieldImages
        ? unsafe try decodeFields(bytes, to: version, format)
        : unsafe try decode(bytes, to: version, format)
      guard let full = unsafe decoded else { return true }
      unsafe luma.scale(
        full, width: format.width, height: format.height, to: version, column: 0, row: 0,
        parts: parts)
      return true
    } catch {
      return false
    }
  }

  /// Decodes both fields, each into every other row; returns full luma to be scaled.
  private func decodeFields(
    _ bytes: Span<UInt8>, to version: UnsafeMutablePointer<VersionStorage>, _ format: FrameFormat
  ) throws(JPEGError) -> PlaneStorage? {
    guard let way = jpeg?.way, let subsampling = jpeg?.subsampling else { return nil }
    guard let fields = try FieldImages(bytes), fields.height == format.height else {
      throw .truncated
    }
    let planes = unsafe version.pointee.image.planes
    let luma = unsafe way == .image ? planes[0] : jpeg?.hiddenLuma ?? version.pointee.luma[0]
    let hasChroma = subsampling != .gray
    for index in 0..<2 {
      let isLower = (index == 0) == (format.presentation.fieldOrder == .bottomFirst)
      let image = bytes.extracting(index == 0 ? fields.firstRange : fields.secondRange)
      let height = (format.height + (isLower ? 0 : 1)) / 2
      let y = unsafe luma.jpegTarget.field(startsAtSecondRow: isLower)
      if way == .image {
        unsafe try jpeg?.decoder.decodePlanes(
          image, width: format.width, height: height, subsampling: subsampling, y: y,
          u: hasChroma ? planes[1].jpegTarget.field(startsAtSecondRow: isLower) : nil,
          v: hasChroma ? planes[2].jpegTarget.field(startsAtSecondRow: isLower) : nil)
      } else {
        try jpeg?.decoder.decodeLuma(
          image, width: format.width, height: height, subsampling: subsampling, into: y)
      }
    }
    if way == .image { unsafe version.pointee.luma[0] = unsafe planes[0] }
    return unsafe luma
  }

  /// Decodes what is declared; returns full luma to be scaled.
  private func decode(
    _ bytes: Span<UInt8>, to version: UnsafeMutablePointer<VersionStorage>, _ format: FrameFormat
  ) throws(JPEGError) -> PlaneStorage? {
    guard let way = jpeg?.way, let subsampling = jpeg?.subsampling else { return nil }
    let (width, height) = (format.width, format.height)
    switch way {
    case .image:
      let planes = unsafe version.pointee.image.planes
      let hasChroma = subsampling != .gray
      unsafe try jpeg?.decoder.decodePlanes(
        bytes, width: width, height: height, subsampling: subsampling, y: planes[0].jpegTarget,
        u: hasChroma ? planes[1].jpegTarget : nil, v: hasChroma ? planes[2].jpegTarget : nil)
      unsafe version.pointee.luma[0] = unsafe planes[0]
      return unsafe planes[0]
    case .fullLuma, .hiddenLuma:
      let plane = unsafe jpeg?.hiddenLuma ?? version.pointee.luma[0]
      unsafe try jpeg?.decoder.decodeLuma(
        bytes, width: width, height: height, subsampling: subsampling, into: plane.jpegTarget)
      return unsafe plane
    case .eighth:
      let plane = unsafe version.pointee.luma[Int(LumaScale.eighth.rawValue)]
      unsafe try jpeg?.decoder.decodeLuma(
        bytes, width: width, height: height, subsampling: subsampling, scale: .eighth,
        into: plane.jpegTarget)
      return nil
    }
  }
}
