internal import CSprocketLibAV

/// A decoder for a stream.
@safe
struct Decoder: ~Copyable {
  private let context: Owned<AVCodecContext>

  /// What a decoder has for its caller.
  enum Output: Equatable { case frame, needsInput, corrupt, end, outOfMemory }

  /// Opens the stream's decoder with `threadCount` threads, 0 for as many as there are processors.
  ///
  /// The corresponding C function is `avcodec_open2`.
  init(
    _ stream: UnsafeMutablePointer<AVStream>, threadCount: Int, path: String
  ) throws(MediaError) {
    guard let codec = unsafe libav.avcodec_find_decoder(stream.pointee.codecpar.pointee.codec_id)
    else {
      throw MediaError(
        code: .unsupportedCodec, operation: "avcodec_find_decoder", status: 0, path: path)
    }
    guard
      let context = unsafe Owned(
        libav.avcodec_alloc_context3(codec), free: libav.avcodec_free_context)
    else {
      throw MediaError(
        code: .outOfMemory, operation: "avcodec_alloc_context3", status: 0, path: path)
    }
    let opened = unsafe context.pointer
    var status = unsafe libav.avcodec_parameters_to_context(opened, stream.pointee.codecpar)
    if status >= 0 {
      unsafe opened.pointee.thread_count = Int32(threadCount)
      unsafe opened.pointee.thread_type = FF_THREAD_FRAME | FF_THREAD_SLICE
      unsafe opened.pointee.max_pixels = MediaLimits.pixels
      unsafe opened.pointee.pkt_timebase = unsafe stream.pointee.time_base
      status = unsafe libav.avcodec_open2(opened, codec, nil)
    }
    guard status >= 0 else {
      throw MediaError(
        code: .unsupportedCodec, operation: "avcodec_open2", status: status, path: path)
    }
    unsafe self.context = unsafe context
  }

  /// Hands over a packet, or the end of the stream; returns whether the decoder took it. Throws where it had
  /// no memory for it.
  ///
  /// The corresponding C function is `avcodec_send_packet`.
  mutating func send(
    _ packet: UnsafeMutablePointer<AVPacket>?, path: String
  ) throws(MediaError) -> Bool {
    // What comes out of a damaged packet is marked on its way through the decoder.
    let isCorrupt = unsafe (packet?.pointee.flags ?? 0) & AV_PKT_FLAG_CORRUPT != 0
    unsafe context.pointer.pointee.reordered_opaque = isCorrupt ? 1 : 0
    let status = unsafe libav.avcodec_send_packet(context.pointer, packet)
    if status == -ENOMEM {
      throw MediaError(
        code: .outOfMemory, operation: "avcodec_send_packet", status: status, path: path)
    }
    return status >= 0 || status == SPROCKET_AVERROR_EOF
  }

  /// Bits that count in a number of sound, as far as the codec says; 0 if it does not.
  var soundBits: Int { unsafe Int(context.pointer.pointee.bits_per_raw_sample) }

  /// Forgets what it was handed: what comes next is from another place of the file.
  ///
  /// The corresponding C function is `avcodec_flush_buffers`.
  mutating func flush() { unsafe libav.avcodec_flush_buffers(context.pointer) }

  /// Takes the next frame.
  ///
  /// The corresponding C function is `avcodec_receive_frame`.
  mutating func receive(into frame: UnsafeMutablePointer<AVFrame>) -> Output {
    switch unsafe libav.avcodec_receive_frame(context.pointer, frame) {
    case 0: .frame
    case SPROCKET_AVERROR_EAGAIN: .needsInput
    case SPROCKET_AVERROR_EOF: .end
    case -ENOMEM: .outOfMemory
    default: .corrupt
    }
  }
}
