internal import CSprocketLibAV
internal import SprocketPixels

/// Gives an encoder planes that it takes: those that there are, or a conversion of them.
@safe
final class EncoderConverter {
  private let (width, height): (Int, Int)
  let input: PixelFormat
  let output: AVPixelFormat
  private var context: OpaquePointer?
  /// What is converted, with memory of its own.
  private var converted: Owned<AVFrame>?
  /// The source of a conversion.
  private var source: Owned<AVFrame>?
  /// Chroma of a grey picture: both planes are this one.
  private var neutral: Owned<AVFrame>?

  /// The format of an encoder that pictures of a planar format are sent in.
  ///
  /// The corresponding C function is `avcodec_find_best_pix_fmt_of_list`.
  static func output(
    of codec: UnsafePointer<AVCodec>, for input: PixelFormat, _ settings: VideoEncoderSettings
  ) -> AVPixelFormat {
    let isTen =
      input.isDeep && (settings.codec != "h264" || settings.profile?.hasPrefix("high10") == true)
    let common = isTen ? AV_PIX_FMT_YUV420P10LE : AV_PIX_FMT_YUV420P
    guard let formats = unsafe codec.pointee.pix_fmts else { return common }
    let wanted = settings.keepsSamples ? input.libraryFormat ?? common : common
    return unsafe libav.avcodec_find_best_pix_fmt_of_list(formats, wanted, 0, nil)
  }

  init(
    _ input: PixelFormat, to output: AVPixelFormat, width: Int, height: Int, encoder: String
  ) throws(EncoderError) {
    (self.input, self.output, self.width, self.height) = (input, output, width, height)
    let isSame = PixelFormat(output) == input
    let isGreyed = input == .grey && PixelFormat(output) == .i420
    if isGreyed {
      unsafe neutral = unsafe try Self.frame(
        AV_PIX_FMT_GRAY8, width: width / 2, height: height / 2, encoder)
    }
    if let plane = unsafe neutral?.pointer {
      unsafe plane.pointee.data.0?
        .update(repeating: 128, count: Int(plane.pointee.linesize.0) * (height / 2))
    }
    guard !isSame, !isGreyed else { return }
    guard let format = input.libraryFormat else {
      throw .refused(encoder: encoder, operation: "avcodec_find_best_pix_fmt_of_list", status: 0)
    }
    let (w, h) = (Int32(width), Int32(height))
    unsafe converted = unsafe try Self.frame(output, width: width, height: height, encoder)
    guard let source = unsafe Owned(libav.av_frame_alloc(), free: libav.av_frame_free),
      let context = unsafe libav.sws_getContext(
        w, h, format, w, h, output, SPROCKET_SWS_EXACT, nil, nil, nil)
    else { throw .refused(encoder: encoder, operation: "sws_getContext", status: 0) }
    unsafe (source.pointer.pointee.width, source.pointer.pointee.height) = (w, h)
    unsafe source.pointer.pointee.format = format.rawValue
    unsafe self.source = unsafe consume source
    unsafe self.context = unsafe context
    // Full range on both sides converts nothing but the layout, whatever the range is. Greys become luma.
    let matrix = unsafe libav.sws_getCoefficients(SWS_CS_ITU601)
    _ = unsafe libav.sws_setColorspaceDetails(context, matrix, 1, matrix, 1, 0, 1 << 16, 1 << 16)
  }

  /// A frame with memory.
  ///
  /// The corresponding C function is `av_frame_get_buffer`.
  static func frame(
    _ format: AVPixelFormat, width: Int, height: Int, _ encoder: String
  ) throws(EncoderError) -> Owned<AVFrame> {
    guard let owner = unsafe Owned(libav.av_frame_alloc(), free: libav.av_frame_free) else {
      throw .refused(encoder: encoder, operation: "av_frame_alloc", status: 0)
    }
    let frame = unsafe owner.pointer
    unsafe (frame.pointee.width, frame.pointee.height) = (Int32(width), Int32(height))
    unsafe frame.pointee.format = format.rawValue
    let status = unsafe libav.av_frame_get_buffer(frame, 0)
    guard status >= 0 else {
      throw .refused(encoder: encoder, operation: "av_frame_get_buffer", status: status)
    }
    return unsafe owner
  }

  deinit { unsafe libav.sws_freeContext(context) }

  /// Makes `frame` point to planes that the encoder takes. Returns the bytes of its first one.
  ///
  /// The corresponding C function is `sws_scale`.
  func fill(
    _ frame: UnsafeMutablePointer<AVFrame>, _ luma: PlaneBytes, _ blue: PlaneBytes?,
    _ red: PlaneBytes?
  ) -> Int {
    unsafe frame.pointee.width = Int32(width)
    unsafe frame.pointee.height = Int32(height)
    unsafe frame.pointee.format = output.rawValue
    guard let context = unsafe context else {
      unsafe point(frame, luma, blue, red)
      if let plane = unsafe neutral?.pointer {
        unsafe (frame.pointee.data.1, frame.pointee.data.2) = (
          plane.pointee.data.0, plane.pointee.data.0
        )
        unsafe (frame.pointee.linesize.1, frame.pointee.linesize.2) = (
          plane.pointee.linesize.0, plane.pointee.linesize.0
        )
      }
      return luma.byteCount
    }
    guard let from = unsafe source?.pointer, let to = unsafe converted?.pointer else { return 0 }
    unsafe point(from, luma, blue, red)
    _ = unsafe sprocket_sws_scale(libav.sws_scale, context, from, to)
    unsafe (frame.pointee.data, frame.pointee.linesize) = (to.pointee.data, to.pointee.linesize)
    return unsafe Int(to.pointee.linesize.0) * height
  }

  private func point(
    _ frame: UnsafeMutablePointer<AVFrame>, _ luma: PlaneBytes, _ blue: PlaneBytes?,
    _ red: PlaneBytes?
  ) {
    // The library does not change what it reads: it has no other type for it.
    func plane(_ index: Int, _ bytes: PlaneBytes) -> (UnsafeMutablePointer<UInt8>, Int32) {
      let size = input.planeSize(index, width: width, height: height)
      let (base, stride) = unsafe bytes.checked(size.bytesPerRow, size.rows)
      return unsafe (UnsafeMutablePointer(mutating: base), stride)
    }
    unsafe (frame.pointee.data.0, frame.pointee.linesize.0) = plane(0, luma)
    guard let blue, let red else { return }
    unsafe (frame.pointee.data.1, frame.pointee.linesize.1) = plane(1, blue)
    unsafe (frame.pointee.data.2, frame.pointee.linesize.2) = plane(2, red)
  }
}
