internal import CSprocketLibAV
public import SprocketPixels

/// Encodes pictures, for a ``Muxer`` to write.
///
/// Planes are read where they are: encoders copy what they keep. They are converted only where the encoder
/// has no such format (libswscale), and grey gets chroma that is constant.
///
/// Cost: this module allocates nothing per frame; libavcodec does.
@safe
public final class VideoEncoder {
  /// What the encoder is called in libavcodec.
  public let name: String
  /// How much it tries, as it calls that; `nil` where it has no word for it.
  public let preset: String?
  /// Size of the encoded picture: even, so that a last column or row may be missing.
  public let width: Int
  public let height: Int
  private var hasFrames = false
  /// `nil` in two passes: the first one's statistics say which pictures are key frames.
  private var keys: KeyFrameInterval?
  let context: Owned<AVCodecContext>
  private let frame: Owned<AVFrame>
  /// The copy that ``hold(_:_:_:)`` made.
  private var held: Owned<AVFrame>?
  /// What was received last.
  let packet: Owned<AVPacket>
  private var converter: EncoderConverter
  /// Where pictures go, for encoders of graphics devices.
  private let hardware: HardwareFrames?
  /// The encoder has copied a picture when it has given out what it can.
  private let copies: Bool

  /// Opens an encoder for pictures of that description, whose planes have the format `input`: a planar one.
  /// Times are counted in ticks.
  ///
  /// The corresponding C function is `avcodec_open2`.
  public init(
    _ description: MovieDescription, _ input: PixelFormat, _ settings: VideoEncoderSettings,
    ticksPerSecond: Int32
  ) throws(EncoderError) {
    let codec = unsafe try settings.findEncoder()
    let name = unsafe String(cString: codec.pointee.name)
    self.name = name
    preset =
      settings.preset ?? VideoEncoderSettings.usualPreset(name, isLive: settings.isLive)
    (width, height) = (description.width & ~1, description.height & ~1)
    guard width > 0, height > 0,
      let context = unsafe Owned(
        libav.avcodec_alloc_context3(codec), free: libav.avcodec_free_context),
      let frame = unsafe Owned(libav.av_frame_alloc(), free: libav.av_frame_free),
      let packet = unsafe Owned(libav.av_packet_alloc(), free: libav.av_packet_free)
    else { throw .refused(encoder: name, operation: "avcodec_alloc_context3", status: 0) }
    hardware = unsafe try HardwareFrames(
      codec, isDeep: input.isDeep && !name.hasPrefix("h264"), width: width, height: height)
    let output =
      unsafe hardware?.uploaded ?? EncoderConverter.output(of: codec, for: input, settings)
    converter = try EncoderConverter(
      input, to: output, width: width, height: height, encoder: name)
    unsafe description.fill(context.pointer, width: width, height: height)
    unsafe context.pointer.pointee.pix_fmt = output
    unsafe try hardware?.prepare(context.pointer)
    unsafe context.pointer.pointee.time_base = AVRational(num: 1, den: ticksPerSecond)
    unsafe try settings.fill(context.pointer, name, description)
    let isInterlaced = [.topFirst, .bottomFirst].contains(description.display.fieldOrder)
    keepsFields = !isInterlaced || Self.interlacing.contains(name)
    fieldOrder = isInterlaced && keepsFields ? description.display.fieldOrder : .unknown
    if fieldOrder != .unknown {
      unsafe context.pointer.pointee.flags |=
        AV_CODEC_FLAG_INTERLACED_DCT | AV_CODEC_FLAG_INTERLACED_ME
      unsafe context.pointer.pointee.field_order =
        fieldOrder == .topFirst ? AV_FIELD_TT : AV_FIELD_BB
    }
    let status = unsafe libav.avcodec_open2(context.pointer, codec, nil)
    guard status >= 0 else {
      throw .refused(encoder: name, operation: "avcodec_open2", status: status)
    }
    copies = Self.copying.contains(name)
    if settings.pass == 0 {
      keys = KeyFrameInterval(
        ticks: Int64(min(max(settings.keySeconds * Double(ticksPerSecond), 1), 1e15)),
        pictures: unsafe Int(context.pointer.pointee.gop_size))
    }
    unsafe self.context = unsafe context
    unsafe self.frame = unsafe frame
    unsafe self.packet = unsafe packet
  }

  deinit {
    // SVT-AV1 waits for ever when it is closed without a picture, or before it was told of the end.
    guard name == "libsvtav1" else { return }
    if !hasFrames {
      unsafe frame.pointer.pointee.width = Int32(width)
      unsafe frame.pointer.pointee.height = Int32(height)
      unsafe frame.pointer.pointee.format = unsafe context.pointer.pointee.pix_fmt.rawValue
      guard unsafe libav.av_frame_get_buffer(frame.pointer, 0) >= 0 else { return }
      _ = unsafe libav.avcodec_send_frame(context.pointer, frame.pointer)
    }
    _ = unsafe libav.avcodec_send_frame(context.pointer, nil)
    while unsafe libav.avcodec_receive_packet(context.pointer, packet.pointer) >= 0 {}
  }

  /// The next pictures have the format `input`, a planar one, and the same size and range as those before.
  ///
  /// The corresponding C function is `sws_getContext`.
  public func take(_ input: PixelFormat) throws(EncoderError) {
    guard input != converter.input else { return }
    converter = try EncoderConverter(
      input, to: converter.output, width: width, height: height, encoder: name)
  }

  /// Encoders that are known to copy.
  private static let copying: Set<String> = ["libx264", "libx265", "libsvtav1", "libopenh264"]

  /// Whether pictures of interlaced film stay such: their fields are encoded one in the other.
  public let keepsFields: Bool
  /// Whether samples of more than 8 bits become 8.
  public var isShallower: Bool {
    converter.input.isDeep
      && (unsafe libav.av_pix_fmt_desc_get(converter.output)?.pointee.comp.0.depth ?? 8) <= 8
  }
  /// Which field comes first, where frames are interlaced.
  private let fieldOrder: MediaDisplay.FieldOrder

  /// Encoders that are known to encode fields in a frame.
  private static let interlacing: Set<String> = ["libx264", "mpeg2video", "mpeg4"]

  /// By how many pictures one may come out behind those that are shown after it.
  var reorderedFrames: UInt64 { unsafe UInt64(max(0, context.pointer.pointee.has_b_frames)) }

  /// Memory that an encoder of such pictures takes, in bytes, as far as it grows with them.
  public static func memory(width: Int, height: Int, _ settings: VideoEncoderSettings) -> Int {
    // Pictures that wait to be looked at, references, and what the encoder makes of each: measured with
    // x264 at 1080p, 55 (live) and 110 pictures of 1.5 bytes per pixel; SVT-AV1 has twice as many.
    let pictures = (settings.isLive ? 60 : 120) * (settings.codec.contains("av1") ? 2 : 1)
    return pictures * width * height * 3 / 2
  }

  /// Sends a picture: its planes, or luma alone where it is grey. Ticks rise.
  ///
  /// The corresponding C function is `avcodec_send_frame`.
  public func send(
    _ luma: PlaneBytes, _ blue: PlaneBytes?, _ red: PlaneBytes?, tick: Int64, gap: Int64
  ) throws(EncoderError) {
    let frame = unsafe frame.pointer
    let size = unsafe converter.fill(frame, luma, blue, red)
    if copies, let data = unsafe frame.pointee.data.0 {
      // Without a buffer libavcodec would copy the picture, and so would the encoder after it.
      unsafe frame.pointee.buf.0 = unsafe libav.av_buffer_create(data, size, { _, _ in }, nil, 0)
    }
    defer { unsafe libav.av_frame_unref(frame) }
    unsafe try send(frame, tick, gap)
  }

  /// Keeps a copy of a picture, for ``sendHeld(tick:gap:)``.
  ///
  /// The corresponding C function is `av_frame_copy`.
  public func hold(
    _ luma: PlaneBytes, _ blue: PlaneBytes?, _ red: PlaneBytes?
  ) throws(EncoderError) {
    let frame = unsafe frame.pointer
    _ = unsafe converter.fill(frame, luma, blue, red)
    defer { unsafe libav.av_frame_unref(frame) }
    if unsafe held == nil {
      unsafe held = unsafe try EncoderConverter.frame(
        AVPixelFormat(frame.pointee.format), width: width, height: height, name)
    }
    guard let held = unsafe held?.pointer else { return }
    // An encoder may still read the picture that was held before.
    var status = unsafe libav.av_frame_make_writable(held)
    if status >= 0 { status = unsafe libav.av_frame_copy(held, frame) }
    guard status >= 0 else {
      throw .refused(encoder: name, operation: "av_frame_copy", status: status)
    }
  }

  /// Sends the picture that is held, as often as wanted. Traps if there is none.
  public func sendHeld(tick: Int64, gap: Int64) throws(EncoderError) {
    guard let held = unsafe held?.pointer else { preconditionFailure("no picture is held") }
    unsafe try send(held, tick, gap)
  }

  private func send(
    _ frame: UnsafeMutablePointer<AVFrame>, _ tick: Int64, _ gap: Int64
  ) throws(EncoderError) {
    let context = unsafe context.pointer
    unsafe frame.pointee.pts = tick
    unsafe frame.pointee.pkt_duration = gap
    let isKey = keys?.isDue(at: tick) ?? false
    unsafe frame.pointee.pict_type = isKey ? AV_PICTURE_TYPE_I : AV_PICTURE_TYPE_NONE
    unsafe frame.pointee.interlaced_frame = fieldOrder == .unknown ? 0 : 1
    unsafe frame.pointee.top_field_first = fieldOrder == .topFirst ? 1 : 0
    unsafe frame.pointee.color_range = unsafe context.pointee.color_range
    unsafe frame.pointee.colorspace = unsafe context.pointee.colorspace
    unsafe frame.pointee.color_trc = unsafe context.pointee.color_trc
    unsafe frame.pointee.color_primaries = unsafe context.pointee.color_primaries
    if let hardware {
      unsafe try hardware.upload(frame) { frame throws(EncoderError) in unsafe try push(frame) }
    } else {
      unsafe try push(frame)
    }
  }

  private func push(_ frame: UnsafeMutablePointer<AVFrame>) throws(EncoderError) {
    let status = unsafe libav.avcodec_send_frame(context.pointer, frame)
    guard status >= 0 else {
      throw .refused(encoder: name, operation: "avcodec_send_frame", status: status)
    }
    hasFrames = true
  }

  /// No picture follows: what waits can be received.
  public func end() throws(EncoderError) {
    let status = unsafe libav.avcodec_send_frame(context.pointer, nil)
    guard status >= 0 || status == SPROCKET_AVERROR_EOF else {
      throw .refused(encoder: name, operation: "avcodec_send_frame", status: status)
    }
  }

  /// Receives the next encoded picture into ``packet``; false where there is none by now. After `send` it is
  /// called until it returns false: up to then the encoder may read the planes.
  ///
  /// The corresponding C function is `avcodec_receive_packet`.
  func receive() throws(EncoderError) -> Bool {
    let status = unsafe libav.avcodec_receive_packet(context.pointer, packet.pointer)
    if status == SPROCKET_AVERROR_EAGAIN || status == SPROCKET_AVERROR_EOF { return false }
    guard status >= 0 else {
      throw .refused(encoder: name, operation: "avcodec_receive_packet", status: status)
    }
    return true
  }

  /// The corresponding C function is `avcodec_parameters_from_context`.
  func fill(
    _ stream: UnsafeMutablePointer<AVStream>, _ container: MovieContainer
  ) throws(MuxerError) {
    let parameters = unsafe stream.pointee.codecpar!
    let status = unsafe libav.avcodec_parameters_from_context(parameters, context.pointer)
    guard status >= 0 else {
      throw .refused(operation: "avcodec_parameters_from_context", status: status)
    }
    if container.isQuickTime, unsafe parameters.pointee.codec_id == AV_CODEC_ID_HEVC {
      unsafe parameters.pointee.codec_tag = MovieContainer.hevcTag
    }
  }
}
