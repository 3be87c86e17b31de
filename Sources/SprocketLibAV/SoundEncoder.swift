internal import CSprocketLibAV

/// Encodes sound for a track that begins with the first sample, without an edit list.
///
/// Encoders delay sound: the first packet of AAC holds silence only. Zeros are fed first, so that the delay
/// is a whole number of packets, and these packets are left out. Each packet then has the time of its
/// samples. The price: the first 20 ms fade in.
///
/// Cost: this module allocates nothing per block; libavcodec does.
@safe
public final class SoundEncoder {
  let format: PCMFormat
  let context: Owned<AVCodecContext>
  /// The samples of the next block.
  private let block: Owned<AVFrame>
  private let packet: Owned<AVPacket>
  let name: String
  /// Samples of a packet.
  let packetSamples: Int
  private var filled = 0
  /// Samples that were sent, zeros counted.
  private var sent: Int64 = 0
  /// Zeros before the first sample.
  private let lead: Int
  /// Packets that are still to be left out.
  private var leftOut: Int
  /// Samples in the packets that were given out.
  private(set) var encoded: UInt64 = 0
  /// Samples that were written.
  private var written: UInt64 = 0
  /// The packets say where the channels are heard, if the format does. Otherwise the channels have the usual
  /// places of their number.
  public let keepsSpeakers: Bool

  /// Files say how much of the first packet is to be left out; of ours nothing is.
  private static func clearDelay(
    _ context: UnsafeMutablePointer<AVCodecContext>, _ codec: SoundCodec
  ) {
    unsafe context.pointee.initial_padding = 0
    guard codec == .opus, unsafe context.pointee.extradata_size >= 12,
      let header = unsafe context.pointee.extradata
    else { return }
    unsafe (header[10], header[11]) = (0, 0)
  }

  /// FLAC's header says a rate in Hz up to 65535, or in tens of them.
  public static func holds(rate: Int) -> Bool {
    rate <= 65_535 || rate % 10 == 0 && rate <= 655_350
  }

  /// `bitRate` is for all channels together; `nil` for the usual one.
  ///
  /// The corresponding C function is `avcodec_open2`.
  public init(
    _ codec: SoundCodec, _ format: PCMFormat, bitRate: Int? = nil
  ) throws(EncoderError) {
    if let missing = LibAV.missing { throw .library(missing) }
    let name = codec.encoderName
    guard let found = unsafe libav.avcodec_find_encoder_by_name(name) else {
      throw .missing([name])
    }
    guard
      let owner = unsafe Owned(
        libav.avcodec_alloc_context3(found), free: libav.avcodec_free_context),
      let block = unsafe Owned(libav.av_frame_alloc(), free: libav.av_frame_free),
      let packet = unsafe Owned(libav.av_packet_alloc(), free: libav.av_packet_free)
    else { throw .refused(encoder: name, operation: "avcodec_alloc_context3", status: 0) }
    let context = unsafe owner.pointer
    unsafe context.pointee.sample_rate = Int32(format.rate)
    unsafe context.pointee.sample_fmt = Self.sampleFormat(codec, format.number)
    unsafe context.pointee.time_base = AVRational(num: 1, den: Int32(format.rate))
    unsafe context.pointee.flags |= AV_CODEC_FLAG_GLOBAL_HEADER
    if codec == .flac {
      unsafe context.pointee.bits_per_raw_sample = Int32(min(24, format.number.bytes * 8))
    }
    if let rate = bitRate ?? codec.usualBitRate.map({ $0 * format.channels }) {
      unsafe context.pointee.bit_rate = Int64(rate)
    }
    var format = format
    if codec == .aac { format.speakers = Self.surround(format.speakers) }
    let speakers = format.speakers
    var status = unsafe Self.open(context, found, codec, &format)
    keepsSpeakers = format.speakers == speakers
    guard status >= 0 else {
      throw .refused(encoder: name, operation: "avcodec_open2", status: status)
    }
    packetSamples = unsafe max(1, Int(context.pointee.frame_size))
    let delay = unsafe Int(context.pointee.initial_padding)
    lead = (packetSamples - delay % packetSamples) % packetSamples
    leftOut = (lead + delay) / packetSamples
    let frame = unsafe block.pointer
    unsafe frame.pointee.nb_samples = Int32(packetSamples)
    unsafe frame.pointee.format = unsafe context.pointee.sample_fmt.rawValue
    unsafe frame.pointee.sample_rate = Int32(format.rate)
    status = unsafe libav.av_channel_layout_copy(
      &frame.pointee.ch_layout, &context.pointee.ch_layout)
    if status >= 0 { status = unsafe libav.av_frame_get_buffer(frame, 0) }
    guard status >= 0 else {
      throw .refused(encoder: name, operation: "av_frame_get_buffer", status: status)
    }
    (self.name, self.format) = (name, format)
    unsafe self.block = unsafe block
    unsafe self.packet = unsafe packet
    unsafe self.context = unsafe owner
    unsafe Self.clearDelay(context, codec)
    if lead > 0 {
      _ = unsafe libav.av_samples_set_silence(
        frame.pointee.extended_data, 0, Int32(lead), Int32(format.channels),
        context.pointee.sample_fmt)
      filled = lead
    }
  }

  /// Opens an encoder. One that does not have the places of the channels is opened without them, and `format`
  /// says so.
  ///
  /// The corresponding C function is `avcodec_open2`.
  private static func open(
    _ context: UnsafeMutablePointer<AVCodecContext>, _ encoder: UnsafePointer<AVCodec>,
    _ codec: SoundCodec, _ format: inout PCMFormat
  ) -> Int32 {
    // FLAC can leave the speakers unknown. The other codecs need a channel layout.
    let isNamed = codec != .flac
    unsafe format.fill(&context.pointee.ch_layout, isNamed: isNamed)
    let status = unsafe libav.avcodec_open2(context, encoder, nil)
    guard status < 0, format.speakers != 0 else { return status }
    format.speakers = 0
    unsafe format.fill(&context.pointee.ch_layout, isNamed: isNamed)
    return unsafe libav.avcodec_open2(context, encoder, nil)
  }

  private static func sampleFormat(_ codec: SoundCodec, _ number: PCMFormat.Number)
    -> AVSampleFormat
  {
    switch codec {
    case .aac: AV_SAMPLE_FMT_FLTP
    case .opus: number == .s16 ? AV_SAMPLE_FMT_S16 : AV_SAMPLE_FMT_FLT
    case .flac: number == .s16 ? AV_SAMPLE_FMT_S16 : AV_SAMPLE_FMT_S32
    }
  }

  /// Adds samples, whole ones, interleaved. Packets that are complete go to `take`.
  func write(
    _ samples: Span<UInt8>,
    _ take: (UnsafeMutablePointer<AVPacket>, Int64) throws(MuxerError) -> Void
  ) throws(MuxerError) {
    let count = samples.count / format.sampleBytes
    written += UInt64(count)
    var done = 0
    while done < count {
      let next = min(count - done, packetSamples - filled)
      fill(samples.extracting(done * format.sampleBytes..<(done + next) * format.sampleBytes))
      filled += next
      done += next
      if filled == packetSamples { unsafe try encode(take) }
    }
  }

  /// Leaves out samples, which are silence as those before and behind them: packets have later times from
  /// now on.
  func skip(samples: Int) {
    encoded += UInt64(samples)
    written += UInt64(samples)
  }

  /// Gives out what waits.
  func finish(
    _ take: (UnsafeMutablePointer<AVPacket>, Int64) throws(MuxerError) -> Void
  ) throws(MuxerError) {
    if filled > 0 { unsafe try encode(take) }
    unsafe try send(nil, take)
  }

  /// Encodes the block, however full it is.
  private func encode(
    _ take: (UnsafeMutablePointer<AVPacket>, Int64) throws(MuxerError) -> Void
  ) throws(MuxerError) {
    let frame = unsafe block.pointer
    unsafe frame.pointee.nb_samples = Int32(filled)
    unsafe frame.pointee.pts = sent
    sent += Int64(filled)
    filled = 0
    unsafe try send(frame, take)
    // The encoder may have kept the memory.
    unsafe frame.pointee.nb_samples = Int32(packetSamples)
    let status = unsafe libav.av_frame_make_writable(frame)
    guard status >= 0 else {
      throw .refused(operation: "av_frame_make_writable", status: status)
    }
  }

  /// Encodes a frame, or with none what the encoder still has. `take` gets the packets, each with the
  /// number of the sample that it begins with.
  ///
  /// The corresponding C functions are `avcodec_send_frame` and `avcodec_receive_packet`.
  private func send(
    _ frame: UnsafeMutablePointer<AVFrame>?,
    _ take: (UnsafeMutablePointer<AVPacket>, Int64) throws(MuxerError) -> Void
  ) throws(MuxerError) {
    let packet = unsafe packet.pointer
    var status = unsafe libav.avcodec_send_frame(context.pointer, frame)
    guard status >= 0 else { throw .refused(operation: "avcodec_send_frame", status: status) }
    while true {
      status = unsafe libav.avcodec_receive_packet(context.pointer, packet)
      if status == SPROCKET_AVERROR_EAGAIN || status == SPROCKET_AVERROR_EOF { return }
      guard status >= 0 else {
        throw .refused(operation: "avcodec_receive_packet", status: status)
      }
      defer { unsafe libav.av_packet_unref(packet) }
      if leftOut > 0 {
        leftOut -= 1
        continue
      }
      // At the end encoders give more than was written; FLAC's, what its file is to begin with.
      let length = min(written - encoded, UInt64(packetSamples))
      guard unsafe length > 0 || packet.pointee.size == 0 else { continue }
      unsafe packet.pointee.duration = Int64(length)
      let first = Int64(encoded)
      encoded += length
      unsafe try take(packet, first)
    }
  }

  /// Puts samples into the block, as the encoder takes them.
  private func fill(_ samples: Span<UInt8>) {
    let frame = unsafe block.pointer
    let type = unsafe AVSampleFormat(frame.pointee.format)
    let isPlanar = libav.av_sample_fmt_is_planar(type) != 0
    let count = samples.count / format.number.bytes
    for index in 0..<count {
      let plane = isPlanar ? index % format.channels : 0
      let at = isPlanar ? filled + index / format.channels : filled * format.channels + index
      guard let data = unsafe frame.pointee.extended_data[plane] else { return }
      let target = UnsafeMutableRawPointer(data)
      let bits = number(samples, index)
      switch type {
      case AV_SAMPLE_FMT_S16:
        unsafe target.storeBytes(
          of: UInt16(truncatingIfNeeded: bits), toByteOffset: 2 * at, as: UInt16.self)
      case AV_SAMPLE_FMT_S32:
        // Of 24 bits the upper ones of 32.
        unsafe target.storeBytes(
          of: whole(bits) << 8, toByteOffset: 4 * at, as: UInt32.self)
      default:
        unsafe target.storeBytes(of: float(bits), toByteOffset: 4 * at, as: Float.self)
      }
    }
  }

  private func number(_ samples: Span<UInt8>, _ index: Int) -> UInt32 {
    let bytes = format.number.bytes
    var bits: UInt32 = 0
    for byte in 0..<bytes { bits |= UInt32(samples[index * bytes + byte]) << UInt32(8 * byte) }
    return bits
  }

  /// A sample rounded to 24 bits, the most that this FLAC encoder takes.
  private func whole(_ bits: UInt32) -> UInt32 {
    let nearest: Int64
    switch format.number {
    case .s16, .s24: return bits
    case .s32: nearest = (Int64(Int32(bitPattern: bits)) + 128) >> 8
    case .f32: nearest = Int64((float(bits) * 0x1p23).rounded())
    }
    return UInt32(truncatingIfNeeded: min(nearest, 0x7F_FFFF))
  }

  /// Full scale is from -1 to 1. What is no number is silence, and what is louder is clipped: encoders fail
  /// otherwise.
  private func float(_ bits: UInt32) -> Float {
    switch format.number {
    case .s16: return Float(Int16(truncatingIfNeeded: bits)) * 0x1p-15
    case .s24: return Float(Int32(bitPattern: bits << 8)) * 0x1p-31
    case .s32: return Float(Int32(bitPattern: bits)) * 0x1p-31
    case .f32:
      let value = Float(bitPattern: bits)
      return value.isFinite ? max(-1, min(1, value)) : 0
    }
  }
}
