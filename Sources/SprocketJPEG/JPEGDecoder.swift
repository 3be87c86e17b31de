internal import CSprocketJPEG
public import SprocketPixels

/// What a JPEG image's header says, as the decoder reads it.
public struct JPEGHeader: Equatable, Sendable {
  /// In pixels.
  public let width: Int
  /// In pixels.
  public let height: Int
  /// `nil` if the image has no planes that ``JPEGDecoder/decodePlanes(_:width:height:subsampling:y:u:v:)``
  /// could write: another subsampling, RGB, CMYK.
  public let subsampling: ChromaSubsampling?
}

/// Decodes JPEG images, one after the other.
///
/// One decoder serves one thread at a time; a worker makes its own and keeps it. Images without Huffman
/// tables (Motion-JPEG) are decoded with the standard ones.
///
/// ## Damage
///
/// libturbojpeg reports harmless oddities and real damage in one way, and only the first of an image.
/// Here, an image whose oddities ``JPEGStructure/isRepaired`` names is in order, and one with nothing but
/// *extraneous bytes* before a marker: many cameras pad their data (a whole camera would otherwise be
/// unusable, motion issue 65). Where more may be wrong, for example if these bytes differ, all picture data
/// is read a second time. All else
/// that the library says about picture data throws ``JPEGError/damagedData`` (the picture has been
/// written as far as possible) or ``JPEGError/undecodable``. What the library takes for a picture though
/// it cannot be one is found with ``verifies``.
///
/// An image of more than 500 scans is not decoded to its end (`TJFLAG_LIMITSCANS`): it would take minutes.
///
/// Transforms are the accurate integer ones, so that results equal those of other programs.
@safe
public struct JPEGDecoder: ~Copyable {
  private let handle: tjhandle
  private var scanCheck = ScanCheck()

  /// Reads all picture data a second time, of images about which the library does not complain, too: costs
  /// about as much as decoding luma.
  public var verifies = false

  /// The corresponding C function is `tjInitDecompress`.
  public init() throws(JPEGError) {
    guard let handle = unsafe tjInitDecompress() else { throw .outOfMemory }
    unsafe self.handle = unsafe handle
  }

  deinit { unsafe tjDestroy(handle) }

  /// Reads the header alone. A few microseconds; ``JPEGStructure`` says more and checks more.
  ///
  /// The corresponding C function is `tjDecompressHeader3`.
  public mutating func header(_ jpeg: Span<UInt8>) throws(JPEGError) -> JPEGHeader {
    try locate(jpeg).header
  }

  /// The header, and where the image begins, at which the library must be pointed: after a second start
  /// marker it reads no image more (libjpeg-turbo 2.1.5).
  private mutating func locate(
    _ jpeg: Span<UInt8>
  ) throws(JPEGError) -> (header: JPEGHeader, start: Int) {
    let start = try JPEGStructure(headerOf: jpeg).start
    return (try readHeader(jpeg.extracting(start..<jpeg.count)), start)
  }

  private mutating func readHeader(_ jpeg: Span<UInt8>) throws(JPEGError) -> JPEGHeader {
    var (width, height, subsampling, space): (Int32, Int32, Int32, Int32) = (0, 0, -1, -1)
    let result = unsafe jpeg.withUnsafeBufferPointer { bytes in
      unsafe tjDecompressHeader3(
        handle, bytes.baseAddress, UInt(bytes.count), &width, &height, &subsampling, &space)
    }
    if result != 0, width == 0 || complaint.error != nil {
      // A subsampling without a name is the header's error and not the image's.
      guard width > 0, height > 0, subsampling < 0 else { throw complaint.error ?? .undecodable }
    }
    guard width > 0, height > 0 else { throw .noFrameHeader }
    let hasPlanes = space == TJCS_YCbCr.rawValue || space == TJCS_GRAY.rawValue
    return JPEGHeader(
      width: Int(width), height: Int(height),
      subsampling: hasPlanes ? ChromaSubsampling(code: subsampling) : nil)
  }

  /// Decodes luma alone, in full or scaled down, into `plane`.
  ///
  /// `width` and `height` are those of the image, in pixels; the plane gets `scale.scaled(width)` by
  /// `scale.scaled(height)` samples. A scaled sample is close to the mean of the pixels that it stands
  /// for: at 1/8 it is their mean but for rounding, and but for samples that full decoding clips at 0
  /// or 255. An image of another size, or of another `subsampling` where that is given, throws
  /// ``JPEGError/unexpectedImage(width:height:)``.
  ///
  /// The corresponding C function is `tjDecompress2`.
  public mutating func decodeLuma(
    _ jpeg: Span<UInt8>, width: Int, height: Int, subsampling: ChromaSubsampling? = nil,
    scale: JPEGScale = .full, into plane: MutablePlaneBytes
  ) throws(JPEGError) {
    let (header, start) = try locate(jpeg)
    let jpeg = jpeg.extracting(start..<jpeg.count)
    guard header.width == width, header.height == height,
      subsampling == nil || header.subsampling == subsampling
    else {
      throw .unexpectedImage(width: header.width, height: header.height)
    }
    let (outputWidth, outputHeight) = (scale.scaled(width), scale.scaled(height))
    let (base, stride) = unsafe plane.checked(outputWidth, outputHeight)
    let result = unsafe jpeg.withUnsafeBufferPointer { bytes in
      unsafe tjDecompress2(
        handle, bytes.baseAddress, UInt(bytes.count), base, Int32(outputWidth), stride,
        Int32(outputHeight), Int32(TJPF_GRAY.rawValue), TJFLAG_LIMITSCANS)
    }
    try check(jpeg, hasComplaint: result != 0)
  }

  /// Decodes the planes as they are in the image, without conversion.
  ///
  /// Samples are full range, with the matrix of BT.601 (JFIF). The planes must have room for
  /// ``ChromaSubsampling/planeWidth(_:imageWidth:)`` by ``ChromaSubsampling/planeHeight(_:imageHeight:)``
  /// samples, which for odd sizes is a little more than the image. `u` and `v` are not used for gray.
  /// With a `scale`, the planes are those of an image of `scale.scaled(width)` by `scale.scaled(height)`,
  /// which the transform makes of fewer of its coefficients.
  ///
  /// The corresponding C function is `tjDecompressToYUVPlanes`.
  public mutating func decodePlanes(
    _ jpeg: Span<UInt8>, width: Int, height: Int, subsampling: ChromaSubsampling,
    scale: JPEGScale = .full, y: MutablePlaneBytes, u: MutablePlaneBytes? = nil,
    v: MutablePlaneBytes? = nil
  ) throws(JPEGError) {
    let (header, start) = try locate(jpeg)
    let jpeg = jpeg.extracting(start..<jpeg.count)
    guard let found = header.subsampling else { throw .unsupportedSubsampling }
    guard header.width == width, header.height == height, found == subsampling else {
      throw .unexpectedImage(width: header.width, height: header.height)
    }
    let (outputWidth, outputHeight) = (scale.scaled(width), scale.scaled(height))
    var table = PlaneTable(
      PlaneBytes(y), u.map { PlaneBytes($0) }, v.map { PlaneBytes($0) }, subsampling,
      width: outputWidth, height: outputHeight)
    let result = unsafe jpeg.withUnsafeBufferPointer { bytes in
      unsafe table.call { planes, strides in
        unsafe tjDecompressToYUVPlanes(
          handle, bytes.baseAddress, UInt(bytes.count), planes, Int32(outputWidth), strides,
          Int32(outputHeight), TJFLAG_LIMITSCANS)
      }
    }
    try check(jpeg, hasComplaint: result != 0)
  }

  /// The library's words for its last complaint on the calling thread. Allocates.
  ///
  /// The corresponding C function is `tjGetErrorStr2`.
  public var lastMessage: String { unsafe String(cString: tjGetErrorStr2(handle)) }

  /// Throws what the library's complaint about an image means, if it has one, and what a look at all of the
  /// picture data finds, if it is needed.
  private mutating func check(_ jpeg: Span<UInt8>, hasComplaint: Bool) throws(JPEGError) {
    var isSuspect = verifies
    if hasComplaint {
      switch complaint {
      case .mayHideMore: isSuspect = true
      case .extraneous(let count):
        // libjpeg-turbo reads a Huffman code that does not exist as 0, without a warning. The bytes that it
        // then leaves over are picture data, not padding.
        isSuspect = isSuspect || !Self.isPadding(jpeg, count)
      case .error(let error): throw error
      }
    }
    guard isSuspect else { return }
    guard let structure = try? JPEGStructure(parsing: jpeg),
      scanCheck.isWhole(jpeg, structure, isStrict: verifies || structure.lacksEnd)
    else { throw .damagedData }
  }

  /// Whether the last `count` bytes before the end marker have one value. Many cameras pad images like that.
  private static func isPadding(_ jpeg: Span<UInt8>, _ count: Int) -> Bool {
    let end = jpeg.count - 2
    guard count <= end, jpeg[end] == 0xFF, jpeg[end + 1] == 0xD9 else { return false }
    for index in (end - count)..<end where jpeg[index] != jpeg[end - 1] { return false }
    return true
  }

  /// What the library's last complaint about an image means.
  private enum Complaint {
    /// Number of bytes left over before the end marker. The library warns of them after all other warnings.
    case extraneous(Int)
    /// Harmless in itself.
    case mayHideMore
    case error(JPEGError)

    var error: JPEGError? { if case .error(let error) = self { error } else { nil } }
  }

  /// `tjGetErrorCode` does not serve: it says "warning" also for an error that follows a warning. The
  /// texts are those of libjpeg's `jerror.h`, the same since 1991.
  private var complaint: Complaint {
    guard let message = unsafe tjGetErrorStr2(handle) else { return .error(.undecodable) }
    if unsafe begins(message, "Corrupt JPEG data: ") {
      if unsafe contains(message, " extraneous bytes before marker ") {
        return unsafe contains(message, "marker 0xd9")
          ? .extraneous(number(message, behind: 19)) : .mayHideMore
      }
      return unsafe contains(message, "bad ICC marker") ? .mayHideMore : .error(.damagedData)
    }
    // The end marker is missing, and all picture data may be there. Baseline images need not tell of
    // coefficients.
    let isOddity =
      unsafe begins(message, "Premature end of JPEG file") || begins(message, "Warning: ")
      || begins(message, "Invalid JPEG file structure: two SOI markers")
      || begins(message, "Invalid SOS parameters for sequential JPEG")
      || begins(message, "Unknown Adobe color transform")
    if isOddity { return .mayHideMore }
    return .error(
      unsafe begins(message, "Inconsistent progression sequence") ? .damagedData : .undecodable)
  }
}

/// Reads a decimal number that begins at character `start`.
private func number(_ text: UnsafePointer<CChar>, behind start: Int) -> Int {
  var (at, number) = unsafe (text + start, 0)
  while unsafe 48...57 ~= at.pointee, number < 1 << 32 {
    unsafe number = 10 * number + Int(at.pointee) - 48
    unsafe at += 1
  }
  return number
}

/// Whether a C string begins with `prefix`. No memory is allocated.
private func begins(_ text: UnsafePointer<CChar>, _ prefix: StaticString) -> Bool {
  for index in 0..<prefix.utf8CodeUnitCount {
    // A terminating zero differs from every character of the prefix, so nothing is read beyond it.
    if unsafe UInt8(bitPattern: text[index]) != prefix.utf8Start[index] { return false }
  }
  return true
}

/// Whether a C string contains `part`.
private func contains(_ text: UnsafePointer<CChar>, _ part: StaticString) -> Bool {
  var at = unsafe text
  while unsafe at.pointee != 0 {
    if unsafe begins(at, part) { return true }
    unsafe at += 1
  }
  return false
}
