internal import CSprocketLibAV
internal import SprocketPixels

/// Makes frames of formats that nobody here knows, and frames that are stored upside down, into ones
/// that can be handed out.
@safe
struct Converter: ~Copyable {
  private var context: OpaquePointer?
  /// The context that colour was last set for, and its range.
  private var prepared: (context: OpaquePointer?, isFull: Bool) = (nil, false)

  deinit { unsafe libav.sws_freeContext(context) }

  /// Converts `source` into `target`, which gets memory of its own if it has none that fits; returns
  /// whether it could.
  ///
  /// Colour keeps its meaning: YUV keeps its range and matrix; RGB becomes full range BT.601.
  ///
  /// The corresponding C functions are `sws_scale` and `av_frame_copy`.
  mutating func convert(
    _ source: UnsafeMutablePointer<AVFrame>, into target: UnsafeMutablePointer<AVFrame>
  ) -> Bool {
    let from = unsafe AVPixelFormat(source.pointee.format)
    let isKnown = PixelFormat(from) != nil
    let to = isKnown ? from : PixelFormat.nearest(from)
    let (width, height) = unsafe (source.pointee.width, source.pointee.height)
    let hasMemory =
      unsafe target.pointee.width == width && target.pointee.height == height
      && target.pointee.format == to.rawValue && target.pointee.data.0 != nil
    if !hasMemory {
      unsafe libav.av_frame_unref(target)
      unsafe target.pointee.width = width
      unsafe target.pointee.height = height
      unsafe target.pointee.format = to.rawValue
      guard unsafe libav.av_frame_get_buffer(target, 0) >= 0 else { return false }
    }
    if isKnown { return unsafe libav.av_frame_copy(target, source) >= 0 }

    unsafe context = unsafe libav.sws_getCachedContext(
      context, width, height, from, width, height, to, SPROCKET_SWS_EXACT, nil, nil, nil)
    guard unsafe context != nil else { return false }
    let isFull = unsafe Self.isFull(source)
    if unsafe prepared.context != context || prepared.isFull != isFull {
      let matrix = unsafe libav.sws_getCoefficients(SWS_CS_ITU601)
      let range: Int32 = isFull ? 1 : 0
      // 0, 1 << 16, 1 << 16: neutral brightness, contrast and saturation.
      _ = unsafe libav.sws_setColorspaceDetails(
        context, matrix, range, matrix, range, 0, 1 << 16, 1 << 16)
      unsafe prepared = (context, isFull)
    }
    return unsafe sprocket_sws_scale(libav.sws_scale, context, source, target) == height
  }

  /// Whether a frame's rows go downwards in memory; in some AVI files they do not.
  static func isUpright(_ frame: UnsafeMutablePointer<AVFrame>) -> Bool {
    let strides = unsafe frame.pointee.linesize
    return strides.0 >= 0 && strides.1 >= 0 && strides.2 >= 0
  }

  /// Whether a frame's samples are, or become, full range.
  static func isFull(_ frame: UnsafeMutablePointer<AVFrame>) -> Bool {
    unsafe frame.pointee.color_range == AVCOL_RANGE_JPEG
      || isRGB(AVPixelFormat(frame.pointee.format))
  }

  /// Whether a format of the library is made of red, green and blue, or of a palette of them.
  static func isRGB(_ format: AVPixelFormat) -> Bool {
    guard let flags = unsafe libav.av_pix_fmt_desc_get(format)?.pointee.flags else { return false }
    return flags & UInt64(AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL) != 0
  }
}
