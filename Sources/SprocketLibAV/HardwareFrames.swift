internal import CSprocketLibAV

/// Pictures in the memory of a graphics device, for encoders that take no others, such as `h264_vaapi`.
///
/// Cost: the device's driver copies each picture once.
@safe
final class HardwareFrames {
  /// What the encoder is sent.
  let format: AVPixelFormat
  /// What is uploaded.
  let uploaded: AVPixelFormat
  private let encoder: String
  private let device: Owned<AVBufferRef>
  private let pool: Owned<AVBufferRef>
  private let frame: Owned<AVFrame>

  /// Pictures that the device has memory for: those that an encoder refers to and waits for, 16 at most, and
  /// some on their way. Larger: more of the device's memory.
  private static let pictures: Int32 = 20

  /// Opens the first device of the encoder's kind. `nil` for encoders that take pictures from anywhere.
  ///
  /// The corresponding C functions are `avcodec_get_hw_config`, `av_hwdevice_ctx_create` and
  /// `av_hwframe_ctx_init`.
  init?(
    _ codec: UnsafePointer<AVCodec>, isDeep: Bool, width: Int, height: Int
  ) throws(EncoderError) {
    guard let config = unsafe Self.config(of: codec) else { return nil }
    encoder = unsafe String(cString: codec.pointee.name)
    format = unsafe config.pointee.pix_fmt
    uploaded = isDeep ? AV_PIX_FMT_P010LE : AV_PIX_FMT_NV12
    let type = unsafe config.pointee.device_type
    var opened: UnsafeMutablePointer<AVBufferRef>?
    var status = unsafe libav.av_hwdevice_ctx_create(&opened, type, nil, nil, 0)
    guard status >= 0, let device = unsafe Owned(opened, free: libav.av_buffer_unref) else {
      let kind = unsafe String(cString: libav.av_hwdevice_get_type_name(type)!)
      throw .noDevice(encoder: encoder, kind: kind, status: status)
    }
    guard
      let pool = unsafe Owned(
        libav.av_hwframe_ctx_alloc(device.pointer), free: libav.av_buffer_unref),
      let frame = unsafe Owned(libav.av_frame_alloc(), free: libav.av_frame_free)
    else { throw .refused(encoder: encoder, operation: "av_hwframe_ctx_alloc", status: 0) }
    let frames = unsafe UnsafeMutableRawPointer(pool.pointer.pointee.data)
      .assumingMemoryBound(to: AVHWFramesContext.self)
    unsafe frames.pointee.format = format
    unsafe frames.pointee.sw_format = uploaded
    unsafe (frames.pointee.width, frames.pointee.height) = (Int32(width), Int32(height))
    unsafe frames.pointee.initial_pool_size = Self.pictures
    status = unsafe libav.av_hwframe_ctx_init(pool.pointer)
    guard status >= 0 else {
      throw .refused(encoder: encoder, operation: "av_hwframe_ctx_init", status: status)
    }
    unsafe self.device = unsafe device
    unsafe self.pool = unsafe pool
    unsafe self.frame = unsafe frame
  }

  /// How the encoder takes pictures of a device; `nil` where it takes others.
  private static func config(of codec: UnsafePointer<AVCodec>) -> UnsafePointer<AVCodecHWConfig>? {
    var formats = unsafe codec.pointee.pix_fmts
    while let next = unsafe formats, unsafe next.pointee != AV_PIX_FMT_NONE {
      let description = unsafe libav.av_pix_fmt_desc_get(next.pointee)
      let isDevice =
        unsafe description.map { unsafe $0.pointee.flags & UInt64(AV_PIX_FMT_FLAG_HWACCEL) != 0 }
        ?? false
      if !isDevice { return nil }
      unsafe formats = unsafe next + 1
    }
    var index: Int32 = 0
    while let config = unsafe libav.avcodec_get_hw_config(codec, index) {
      if unsafe config.pointee.methods & Int32(AV_CODEC_HW_CONFIG_METHOD_HW_FRAMES_CTX) != 0 {
        return unsafe config
      }
      index += 1
    }
    return nil
  }

  /// Tells the encoder where its pictures are; before it is opened.
  func prepare(_ context: UnsafeMutablePointer<AVCodecContext>) throws(EncoderError) {
    unsafe context.pointee.pix_fmt = format
    unsafe context.pointee.hw_frames_ctx = unsafe libav.av_buffer_ref(pool.pointer)
    guard unsafe context.pointee.hw_frames_ctx != nil else {
      throw .refused(encoder: encoder, operation: "av_buffer_ref", status: 0)
    }
  }

  /// Copies a picture to the device; `body` gets it there, with the times of `source`.
  ///
  /// The corresponding C functions are `av_hwframe_get_buffer` and `av_hwframe_transfer_data`.
  func upload(
    _ source: UnsafeMutablePointer<AVFrame>,
    _ body: (UnsafeMutablePointer<AVFrame>) throws(EncoderError) -> Void
  ) throws(EncoderError) {
    let frame = unsafe frame.pointer
    defer { unsafe libav.av_frame_unref(frame) }
    var status = unsafe libav.av_hwframe_get_buffer(pool.pointer, frame, 0)
    if status >= 0 { status = unsafe libav.av_hwframe_transfer_data(frame, source, 0) }
    if status >= 0 { status = unsafe libav.av_frame_copy_props(frame, source) }
    guard status >= 0 else {
      throw .refused(encoder: encoder, operation: "av_hwframe_transfer_data", status: status)
    }
    unsafe try body(frame)
  }
}
