internal import CSprocketLibAV

/// Encodes sound as FLAC, without loss, into a file of its own.
///
/// What is cut off can be read up to its last whole second: only the end of the recording writes its length
/// and checksum into the file's beginning.
///
/// Cost: this module allocates nothing per block; libavcodec and libavformat do.
@safe
public struct FLACWriter: ~Copyable {
  private let handle: MuxerHandle
  private let bridge: MuxerBridge
  private let encoder: Owned<AVCodecContext>
  /// The samples of the next block.
  private let block: Owned<AVFrame>
  private let format: PCMFormat
  /// Samples of a whole block, and how many the next has by now.
  private let blockSamples: Int
  private var filled = 0
  /// Samples that were encoded, and the first of the second under way.
  private var encoded: UInt64 = 0

  /// Of the samples written, how many of the first the output took.
  public private(set) var durableSamples: UInt64 = 0
  /// The file's length up to there, in bytes.
  public private(set) var durableEnd: Int64 = 0

  /// FLAC has whole numbers of up to 24 bits here.
  public static func holds(_ number: PCMFormat.Number) -> Bool { number == .s16 || number == .s24 }

  /// FLAC's header says a rate in Hz up to 65535, or in tens of them.
  public static func holds(rate: Int) -> Bool {
    rate <= 65_535 || rate % 10 == 0 && rate <= 655_350
  }

  /// Writes the beginning of the file. `tags` are names without spaces, and values. Traps for a format that
  /// FLAC does not hold.
  ///
  /// The corresponding C function is `avcodec_open2`.
  public init(
    _ format: PCMFormat, tags: [(name: String, value: String)] = [], output: any MuxerOutput
  ) throws(MuxerError) {
    precondition(Self.holds(format.number) && Self.holds(rate: format.rate), "ask `holds` before")
    av_log_set_level(AV_LOG_QUIET)
    let encoder = unsafe try Self.makeEncoder(format)
    let bridge = MuxerBridge(output)
    let handle = try MuxerHandle("flac", bridge)
    let stream = unsafe try handle.addStream()
    let status = unsafe avcodec_parameters_from_context(stream.pointee.codecpar, encoder.pointer)
    guard status >= 0 else {
      throw .refused(operation: "avcodec_parameters_from_context", status: status)
    }
    unsafe stream.pointee.time_base = AVRational(num: 1, den: Int32(format.rate))
    try handle.writeHeader(tags, [])
    guard bridge.flush() else { throw .output }
    let blockSamples = unsafe Int(encoder.pointer.pointee.frame_size)
    let block = unsafe try Self.makeBlock(encoder.pointer, format, samples: blockSamples)
    self.blockSamples = blockSamples
    unsafe self.block = unsafe block
    unsafe self.encoder = unsafe encoder
    self.bridge = bridge
    self.handle = handle
    self.format = format
    durableEnd = bridge.end
  }

  /// A frame with room for that many samples.
  ///
  /// The corresponding C function is `av_frame_get_buffer`.
  private static func makeBlock(
    _ encoder: UnsafeMutablePointer<AVCodecContext>, _ format: PCMFormat, samples: Int
  ) throws(MuxerError) -> Owned<AVFrame> {
    guard let block = unsafe Owned(av_frame_alloc(), free: av_frame_free) else {
      throw .refused(operation: "av_frame_alloc", status: 0)
    }
    let frame = unsafe block.pointer
    unsafe frame.pointee.nb_samples = Int32(samples)
    unsafe frame.pointee.format = unsafe encoder.pointee.sample_fmt.rawValue
    unsafe frame.pointee.sample_rate = Int32(format.rate)
    unsafe PCMFormat.fill(&frame.pointee.ch_layout, channels: format.channels)
    guard unsafe av_frame_get_buffer(frame, 0) >= 0 else {
      throw .refused(operation: "av_frame_get_buffer", status: 0)
    }
    return unsafe block
  }

  private static func makeEncoder(_ format: PCMFormat) throws(MuxerError) -> Owned<AVCodecContext> {
    guard let codec = unsafe avcodec_find_encoder(AV_CODEC_ID_FLAC),
      let owner = unsafe Owned(avcodec_alloc_context3(codec), free: avcodec_free_context)
    else { throw .refused(operation: "avcodec_alloc_context3", status: 0) }
    let encoder = unsafe owner.pointer
    unsafe encoder.pointee.sample_rate = Int32(format.rate)
    unsafe encoder.pointee.sample_fmt =
      format.number == .s16 ? AV_SAMPLE_FMT_S16 : AV_SAMPLE_FMT_S32
    unsafe encoder.pointee.bits_per_raw_sample = Int32(format.number.bytes * 8)
    unsafe encoder.pointee.time_base = AVRational(num: 1, den: Int32(format.rate))
    unsafe PCMFormat.fill(&encoder.pointee.ch_layout, channels: format.channels)
    let status = unsafe avcodec_open2(encoder, codec, nil)
    guard status >= 0 else { throw .refused(operation: "avcodec_open2", status: status) }
    return unsafe owner
  }

  /// Adds samples, whole ones, interleaved.
  public mutating func write(_ samples: Span<UInt8>) throws(MuxerError) {
    precondition(samples.count % format.sampleBytes == 0, "give whole samples")
    let count = samples.count / format.sampleBytes
    var done = 0
    while done < count {
      let next = min(count - done, blockSamples - filled)
      fill(samples.extracting(done * format.sampleBytes..<(done + next) * format.sampleBytes))
      filled += next
      done += next
      if filled == blockSamples { try encode() }
    }
  }

  /// Puts samples into the block, as the encoder takes them: of 24 bits it wants the upper ones of 32.
  private func fill(_ samples: Span<UInt8>) {
    let data = unsafe block.pointer.pointee.data.0!
    if format.number == .s16 {
      unsafe samples.withUnsafeBytes { source in
        guard let start = source.baseAddress else { return }
        unsafe UnsafeMutableRawPointer(data + filled * format.sampleBytes)
          .copyMemory(from: start, byteCount: source.count)
      }
      return
    }
    let start = unsafe data + filled * format.channels * 4
    for index in 0..<samples.count / 3 {
      unsafe start[4 * index] = 0
      for byte in 0..<3 { unsafe start[4 * index + 1 + byte] = samples[3 * index + byte] }
    }
  }

  /// Encodes the block, however full it is.
  ///
  /// The corresponding C function is `avcodec_send_frame`.
  private mutating func encode() throws(MuxerError) {
    let frame = unsafe block.pointer
    unsafe frame.pointee.nb_samples = Int32(filled)
    unsafe frame.pointee.pts = Int64(encoded)
    encoded += UInt64(filled)
    filled = 0
    unsafe try send(frame)
    // The encoder may have kept the memory.
    let status = unsafe av_frame_make_writable(frame)
    try check(status, "av_frame_make_writable")
    if encoded - durableSamples >= UInt64(format.rate) { try handOn() }
  }

  /// Encodes a frame, or with none what the encoder still has, and writes what that gives.
  private func send(_ frame: UnsafeMutablePointer<AVFrame>?) throws(MuxerError) {
    try check(unsafe avcodec_send_frame(encoder.pointer, frame), "avcodec_send_frame")
    while true {
      let status = unsafe avcodec_receive_packet(encoder.pointer, handle.packet)
      if status == SPROCKET_AVERROR_EAGAIN || status == SPROCKET_AVERROR_EOF { return }
      try check(status, "avcodec_receive_packet")
      let written = unsafe av_write_frame(handle.context, handle.packet)
      unsafe av_packet_unref(handle.packet)
      try check(written, "av_write_frame")
    }
  }

  private mutating func handOn() throws(MuxerError) {
    unsafe avio_flush(handle.context.pointee.pb)
    _ = bridge.flush()
    try check(0, "avio_flush")
    durableSamples = encoded
    durableEnd = bridge.end
  }

  /// Ends the file.
  ///
  /// The corresponding C function is `av_write_trailer`.
  public mutating func finish() throws(MuxerError) {
    if filled > 0 { try encode() }
    unsafe try send(nil)
    try check(unsafe av_write_trailer(handle.context), "av_write_trailer")
    try handOn()
  }

  private func check(_ status: Int32, _ operation: String) throws(MuxerError) {
    if bridge.hasFailed { throw .output }
    if status < 0 { throw .refused(operation: operation, status: status) }
  }
}
