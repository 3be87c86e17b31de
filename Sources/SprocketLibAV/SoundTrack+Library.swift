internal import CSprocketLibAV

extension SoundTrack {
  /// Most bytes of a name: QuickTime counts them in one byte.
  private static let nameBytes = 200

  /// The corresponding C types are `AVStream` and `AVCodecParameters`.
  func fill(_ stream: UnsafeMutablePointer<AVStream>) throws(MuxerError) {
    if let encoder {
      unsafe try encoder.fill(stream)
    } else {
      unsafe format.fill(stream.pointee.codecpar)
    }
    if let language {
      _ = unsafe libav.av_dict_set(&stream.pointee.metadata, "language", language, 0)
    }
    var text = name
    while text.utf8.count > Self.nameBytes { text.removeLast() }
    guard !text.isEmpty else { return }
    // MKV writes `title`; QuickTime has a name in its handler, and MP4's readers know no other.
    _ = unsafe libav.av_dict_set(&stream.pointee.metadata, "title", text, 0)
    _ = unsafe libav.av_dict_set(&stream.pointee.metadata, "handler_name", text, 0)
  }
}

extension SoundEncoder {
  /// The corresponding C function is `avcodec_parameters_from_context`.
  func fill(_ stream: UnsafeMutablePointer<AVStream>) throws(MuxerError) {
    let status = unsafe libav.avcodec_parameters_from_context(
      stream.pointee.codecpar, context.pointer)
    guard status >= 0 else {
      throw .refused(operation: "avcodec_parameters_from_context", status: status)
    }
  }
}

extension PCMFormat {
  func fill(_ parameters: UnsafeMutablePointer<AVCodecParameters>) {
    unsafe parameters.pointee.codec_type = AVMEDIA_TYPE_AUDIO
    unsafe parameters.pointee.codec_id =
      switch number {
      case .s16: AV_CODEC_ID_PCM_S16LE
      case .s24: AV_CODEC_ID_PCM_S24LE
      case .s32: AV_CODEC_ID_PCM_S32LE
      case .f32: AV_CODEC_ID_PCM_F32LE
      }
    unsafe parameters.pointee.sample_rate = Int32(rate)
    unsafe parameters.pointee.bits_per_coded_sample = Int32(number.bytes * 8)
    unsafe parameters.pointee.block_align = Int32(sampleBytes)
    unsafe parameters.pointee.bit_rate = Int64(rate * sampleBytes * 8)
    unsafe fill(&parameters.pointee.ch_layout)
  }

  /// Says where the channels are heard. Where that is not known, one and two are mono and stereo, and more
  /// are microphones of which nobody knows where they stand: these have no layout, or with `isNamed`, for
  /// what needs one, the usual layout of their number.
  ///
  /// The corresponding C function is `av_channel_layout_default`.
  func fill(_ layout: inout AVChannelLayout, isNamed: Bool = false) {
    if speakers.nonzeroBitCount == channels {
      unsafe layout.order = AV_CHANNEL_ORDER_NATIVE
      unsafe layout.nb_channels = Int32(channels)
      unsafe layout.u.mask = UInt64(speakers)
    } else if channels <= 2 || isNamed {
      unsafe libav.av_channel_layout_default(&layout, Int32(channels))
    } else {
      unsafe layout.order = AV_CHANNEL_ORDER_UNSPEC
      unsafe layout.nb_channels = Int32(channels)
    }
  }
}

/// The speakers of a layout, as ``PCMFormat`` has them; 0 where it has none, or such as no file of sound
/// names.
func speakers(_ layout: AVChannelLayout) -> UInt32 {
  guard unsafe layout.order == AV_CHANNEL_ORDER_NATIVE else { return 0 }
  return unsafe UInt32(exactly: layout.u.mask) ?? 0
}
