internal import CSprocketLibAV

extension SoundTrack {
  /// Most bytes of a name: QuickTime counts them in one byte.
  private static let nameBytes = 200

  /// The corresponding C types are `AVStream` and `AVCodecParameters`.
  func fill(
    _ stream: UnsafeMutablePointer<AVStream>, _ container: MovieContainer
  ) throws(MuxerError) {
    if let encoder {
      unsafe try encoder.fill(stream)
    } else {
      unsafe format.fill(stream.pointee.codecpar)
    }
    unsafe container.setLanguage(language, of: stream)
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

  /// Sets the channel layout from `speakers`. If the speakers are unknown, one channel becomes mono and two
  /// become stereo. More channels get no layout; with `isNamed`, for codecs that need a layout, they get the
  /// usual layout of their number.
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

extension MovieContainer {
  /// Says in which language a stream is. For MOV libavformat knows each language by one of its names.
  func setLanguage(_ language: String?, of stream: UnsafeMutablePointer<AVStream>) {
    guard let language else { return }
    let name = self == .mov ? Self.movLanguages[language] ?? language : language
    _ = unsafe libav.av_dict_set(&stream.pointee.metadata, "language", name, 0)
  }

  /// The other names of ISO 639-2, and the ones that libavformat takes for MOV (its `mov_mdhd_language_map`).
  private static let movLanguages = [
    "bod": "tib", "cym": "wel", "cze": "ces", "deu": "ger", "ell": "gre", "eus": "baq",
    "fas": "per",
    "fre": "fra", "hye": "arm", "isl": "ice", "kat": "geo", "mkd": "mac", "msa": "may",
    "mya": "bur",
    "nld": "dut", "rum": "ron", "slo": "slk", "sqi": "alb", "swe": "sve", "zho": "chi",
  ]
}
