internal import SprocketCore
internal import SprocketJPEG
internal import SprocketPixels

extension FrameUnpacker {
  /// False when the JPEG is damaged, or not of the size and subsampling that `format` says.
  func unpackJPEG(_ slot: UnsafeMutablePointer<FrameStorage>, _ format: FrameFormat) -> Bool {
    let count = unsafe slot.pointee.records[.source].byteCount
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

  /// Decodes both fields, each into every other row; returns the full luma, from which smaller scales are
  /// made.
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
      let y = unsafe luma.paddedTarget.field(startsAtSecondRow: isLower)
      if way == .image {
        unsafe try jpeg?.decoder.decodePlanes(
          image, width: format.width, height: height, subsampling: subsampling, y: y,
          u: hasChroma ? planes[1].paddedTarget.field(startsAtSecondRow: isLower) : nil,
          v: hasChroma ? planes[2].paddedTarget.field(startsAtSecondRow: isLower) : nil)
      } else {
        try jpeg?.decoder.decodeLuma(
          image, width: format.width, height: height, subsampling: subsampling, into: y)
      }
    }
    if way == .image { unsafe version.pointee.luma[0] = unsafe planes[0] }
    return unsafe luma
  }

  /// Decodes the declared parts; returns the full luma, from which smaller scales are made.
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
        bytes, width: width, height: height, subsampling: subsampling, y: planes[0].paddedTarget,
        u: hasChroma ? planes[1].paddedTarget : nil, v: hasChroma ? planes[2].paddedTarget : nil)
      unsafe version.pointee.luma[0] = unsafe planes[0]
      return unsafe planes[0]
    case .reducedImage(let scale):
      let planes = unsafe version.pointee.image.planes
      let hasChroma = subsampling != .gray
      unsafe try jpeg?.decoder.decodePlanes(
        bytes, width: width, height: height, subsampling: subsampling, scale: scale,
        y: planes[0].paddedTarget, u: hasChroma ? planes[1].paddedTarget : nil,
        v: hasChroma ? planes[2].paddedTarget : nil)
      return nil
    case .fullLuma, .hiddenLuma:
      let plane = unsafe jpeg?.hiddenLuma ?? version.pointee.luma[0]
      unsafe try jpeg?.decoder.decodeLuma(
        bytes, width: width, height: height, subsampling: subsampling, into: plane.paddedTarget)
      return unsafe plane
    case .eighth:
      let plane = unsafe version.pointee.luma[Int(LumaScale.eighth.rawValue)]
      unsafe try jpeg?.decoder.decodeLuma(
        bytes, width: width, height: height, subsampling: subsampling, scale: .eighth,
        into: plane.paddedTarget)
      return nil
    }
  }
}
