internal import CSprocketLibAV

/// A decoder for a stream.
@safe
struct Decoder: ~Copyable {
  private let context: Owned<AVCodecContext>
  /// Number of errors that the library logged for the current packet; `nil` for codecs that return an error
  /// code for all damage.
  private let complaints: UnsafeMutablePointer<Int32>?

  /// What a decoder has for its caller.
  enum Output: Equatable { case frame, needsInput, corrupt, end, outOfMemory }

  /// Opens the stream's decoder with `threadCount` threads, 0 for as many as there are processors.
  init(
    _ stream: UnsafeMutablePointer<AVStream>, threadCount: Int, path: String
  ) throws(MediaError) {
    unsafe try self.init(
      stream.pointee.codecpar.pointee.codec_id, stream, threadCount: threadCount, path: path)
  }

  /// Opens a decoder of packets. If `isPrompt`, a picture comes out with its packet.
  init(_ codec: AVCodecID, isPrompt: Bool, path: String) throws(MediaError) {
    unsafe try self.init(codec, nil, threadCount: 0, isPrompt: isPrompt, path: path)
  }

  /// The corresponding C function is `avcodec_open2`.
  private init(
    _ id: AVCodecID, _ stream: UnsafeMutablePointer<AVStream>?, threadCount: Int,
    isPrompt: Bool = false, path: String
  ) throws(MediaError) {
    guard let codec = unsafe libav.avcodec_find_decoder(id) else {
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
    let isLogged = Self.logged.contains(id)
    var status: Int32 = 0
    if let stream = unsafe stream {
      status = unsafe libav.avcodec_parameters_to_context(opened, stream.pointee.codecpar)
      unsafe opened.pointee.pkt_timebase = unsafe stream.pointee.time_base
    }
    if status >= 0 {
      unsafe opened.pointee.thread_count = isLogged ? 1 : Int32(threadCount)
      unsafe opened.pointee.thread_type =
        isPrompt ? FF_THREAD_SLICE : FF_THREAD_FRAME | FF_THREAD_SLICE
      if isPrompt { unsafe opened.pointee.flags |= AV_CODEC_FLAG_LOW_DELAY }
      unsafe opened.pointee.max_pixels = MediaLimits.pixels
      status = unsafe libav.avcodec_open2(opened, codec, nil)
    }
    guard status >= 0 else {
      throw MediaError(
        code: .unsupportedCodec, operation: "avcodec_open2", status: status, path: path)
    }
    unsafe self.context = unsafe context
    unsafe complaints = isLogged ? .allocate(capacity: 1) : nil
    unsafe complaints?.initialize(to: 0)
    unsafe opened.pointee.opaque = unsafe UnsafeMutableRawPointer(complaints)
  }

  deinit {
    // The context is freed after the counter: it must not point to it.
    unsafe context.pointer.pointee.opaque = nil
    unsafe complaints?.deallocate()
  }

  /// Picture codecs whose decoders return a damaged picture without an error code; they only log an error.
  private static let logged: [AVCodecID] = [
    AV_CODEC_ID_APNG, AV_CODEC_ID_GIF, AV_CODEC_ID_PNG, AV_CODEC_ID_TIFF,
  ]

  /// Counts an error that a decoder logs. No lock: decoders of `logged` codecs run on the caller's thread.
  static func note(logged owner: UnsafeMutableRawPointer?, _ level: Int32) {
    guard level <= AV_LOG_ERROR, let owner = unsafe owner,
      unsafe owner.load(as: UnsafeRawPointer?.self) == UnsafeRawPointer(libav.avcodec_get_class())
    else { return }
    let context = unsafe owner.assumingMemoryBound(to: AVCodecContext.self)
    unsafe context.pointee.opaque?.assumingMemoryBound(to: Int32.self).pointee &+= 1
  }

  /// Whether the library has logged an error since the last call.
  mutating func takeComplaint() -> Bool {
    guard let complaints = unsafe complaints, unsafe complaints.pointee != 0 else { return false }
    unsafe complaints.pointee = 0
    return true
  }

  /// Hands over a packet, or the end of the stream; returns whether the decoder took it. Throws where it had
  /// no memory for it. `place` is the packet's in its file: what comes out of it has it in
  /// `reordered_opaque`, times two.
  ///
  /// The corresponding C function is `avcodec_send_packet`.
  mutating func send(
    _ packet: UnsafeMutablePointer<AVPacket>?, place: Int, path: String
  ) throws(MediaError) -> Bool {
    // What comes out of a damaged packet is marked on its way through the decoder.
    let isCorrupt = unsafe (packet?.pointee.flags ?? 0) & AV_PKT_FLAG_CORRUPT != 0
    unsafe context.pointer.pointee.reordered_opaque = Int64(place) << 1 | (isCorrupt ? 1 : 0)
    // Errors that are still counted belong to an earlier packet, which gave no frame.
    _ = takeComplaint()
    let status = unsafe libav.avcodec_send_packet(context.pointer, packet)
    if status == -ENOMEM {
      throw MediaError(
        code: .outOfMemory, operation: "avcodec_send_packet", status: status, path: path)
    }
    return status >= 0 || status == SPROCKET_AVERROR_EOF
  }

  /// Whether pictures come out in another order than their packets, so far.
  var reorders: Bool { unsafe context.pointer.pointee.has_b_frames > 0 }

  /// Bits that count in a number of sound, as far as the codec says; 0 if it does not.
  var soundBits: Int { unsafe Int(context.pointer.pointee.bits_per_raw_sample) }

  /// Forgets what it was handed: what comes next is from another place of the file.
  ///
  /// The corresponding C function is `avcodec_flush_buffers`.
  mutating func flush() { unsafe libav.avcodec_flush_buffers(context.pointer) }

  /// Leaves out pictures to which no other refers, of codecs whose decoders then give the same others.
  mutating func setSkips(_ skips: Bool) {
    let canSkip = unsafe [AV_CODEC_ID_H264, AV_CODEC_ID_HEVC].contains(
      context.pointer.pointee.codec_id)
    unsafe context.pointer.pointee.skip_frame =
      skips && canSkip ? AVDISCARD_NONREF : AVDISCARD_DEFAULT
  }

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
