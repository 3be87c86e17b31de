internal import CSprocketLibAV
public import SprocketPixels

/// The kinds of movie files that ``Muxer`` writes.
public enum MovieContainer: String, CaseIterable, Sendable {
  case mov, mp4, mkv, webm

  /// From the ending of a file's name, in any case; `nil` for all others.
  public init?(path: String) {
    let name = path.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
    guard let point = name.lastIndex(of: "."), point != name.startIndex else { return nil }
    self.init(rawValue: name[name.index(after: point)...].lowercased())
  }

  /// Ticks of the file's clock in a second.
  public var ticksPerSecond: Int32 { isQuickTime ? 90000 : 1000 }

  /// Whether it can hold ``SoundTrack``s: MP4 has no PCM that players know, and WebM has none.
  public var holdsPCM: Bool { self == .mov || self == .mkv }

  /// Whether it can hold JPEG images: WebM has VP8, VP9 and AV1 alone.
  public var holdsJPEG: Bool { self != .webm }

  /// Its end is made by ``MovieIndex``, and until then it is fragments.
  var isQuickTime: Bool { self == .mov || self == .mp4 }

  /// It can say that pictures are turned. (This version of libavformat writes no projection into MKV.)
  public var keepsOrientation: Bool { isQuickTime }

  /// What HEVC is called in a MOV or MP4, "hvc1": Apple's players take no other.
  static let hevcTag: UInt32 = 0x3163_7668

  /// The library's name for it.
  var muxerName: String { self == .mkv ? "matroska" : rawValue }

  /// What the library is asked for a copy of packets.
  var copyOptions: [(String, String)] {
    isQuickTime ? [("movflags", "use_metadata_tags+write_colr"), ("strict", "-2")] : []
  }

  /// What the library is asked for.
  ///
  /// - MOV, MP4: an index that has no frames, then a fragment whenever we say so. Positions count from
  ///   the fragment, so that it does not matter where in the file it lies.
  ///   Encoded pictures may be shown before they are decoded.
  /// - MKV, WebM: clusters of a fragment's length at most. No checksums: they cost as much as all else
  ///   together.
  func options(isEncoded: Bool, fragment: Double) -> [(String, String)] {
    switch self {
    case .mov, .mp4:
      // libavformat calls FLAC and Opus in MP4 experimental; players support them since 2018.
      [
        (
          "movflags",
          "frag_custom+empty_moov+default_base_moof+use_metadata_tags+write_colr"
            + (isEncoded ? "+negative_cts_offsets" : "")
        ), ("strict", "-2"), ("avoid_negative_ts", "disabled"),
      ]
    case .mkv, .webm:
      [("cluster_time_limit", "\(max(1, Int(fragment * 1000)))"), ("write_crc32", "0")]
    }
  }
}

extension MovieContainer {
  /// The corresponding C function is `avformat_query_codec`.
  public func holds(_ encoder: VideoEncoder) -> Bool {
    holds(unsafe encoder.context.pointer.pointee.codec_id)
  }

  /// `format` is `.h264` or `.hevc`.
  ///
  /// The corresponding C function is `avformat_query_codec`.
  public func holds(packets format: PixelFormat) -> Bool {
    holds(format == .hevc ? AV_CODEC_ID_HEVC : AV_CODEC_ID_H264)
  }

  /// True without the library, or the encoder: whoever needs them is told.
  ///
  /// The corresponding C function is `avformat_query_codec`.
  public func holds(_ codec: SoundCodec) -> Bool {
    guard LibAV.missing == nil,
      let found = unsafe libav.avcodec_find_encoder_by_name(codec.encoderName)
    else { return true }
    return holds(unsafe found.pointee.id)
  }

  func holds(_ codec: AVCodecID) -> Bool {
    // The library says that a MOV holds these, and then refuses them.
    if self == .mov, [AV_CODEC_ID_AV1, AV_CODEC_ID_OPUS, AV_CODEC_ID_FLAC].contains(codec) {
      return false
    }
    guard let format = unsafe libav.av_guess_format(muxerName, nil, nil) else { return false }
    return unsafe libav.avformat_query_codec(format, codec, FF_COMPLIANCE_EXPERIMENTAL) == 1
  }
}

/// What is known of a movie's pictures before the first.
public struct MovieDescription: Sendable {
  /// In pixels.
  public var width: Int
  /// In pixels.
  public var height: Int
  /// Nominal frames per second; `nil` where it is unknown.
  public var rate: MediaRational?
  public var range: MediaColor.Range
  public var matrix: MediaColor.Matrix
  public var transfer: MediaColor.Transfer
  /// Code points of ITU-T H.273 (tables 2 to 4) that the source file has; 2 means unspecified.
  public var codes: (primaries: UInt8, transfer: UInt8, matrix: UInt8)
  /// Place of chroma among luma in 4:2:0; unspecified for other formats.
  public var chromaSite = MediaColor.ChromaSite.unspecified
  /// Gray rather than YUV.
  public var isGray: Bool
  public var display: MediaDisplay
  /// `.h264` or `.hevc`, with the parameter sets that have start codes, for pictures of a camera's encoder;
  /// `nil` for JPEG images, and where an encoder says what it makes.
  public var packets: (format: PixelFormat, parameterSets: [UInt8])?
  /// For the container and for encoders that write it into pictures.
  public var hdr: HDRMetadata?

  public init(
    width: Int, height: Int, rate: MediaRational?, range: MediaColor.Range,
    matrix: MediaColor.Matrix, transfer: MediaColor.Transfer,
    codes: (primaries: UInt8, transfer: UInt8, matrix: UInt8) = (2, 2, 2), isGray: Bool,
    display: MediaDisplay = MediaDisplay(pixelAspect: nil, fieldOrder: .unknown)
  ) {
    self.width = width
    self.height = height
    self.rate = rate
    self.range = range
    self.matrix = matrix
    self.transfer = transfer
    self.codes = codes
    self.isGray = isGray
    self.display = display
  }

  /// The corresponding C type is `AVCodecParameters`.
  func fill(_ stream: UnsafeMutablePointer<AVStream>) {
    let parameters = unsafe stream.pointee.codecpar!
    unsafe parameters.pointee.codec_type = AVMEDIA_TYPE_VIDEO
    unsafe parameters.pointee.codec_id = codec
    unsafe parameters.pointee.width = Int32(width)
    unsafe parameters.pointee.height = Int32(height)
    unsafe parameters.pointee.color_range = libraryRange
    unsafe parameters.pointee.color_space = matrix.number(codes.matrix)
    unsafe parameters.pointee.color_trc = transfer.number(codes.transfer)
    unsafe parameters.pointee.color_primaries = AVColorPrimaries(UInt32(codes.primaries))
    if let rate {
      let value = AVRational(num: Int32(rate.numerator), den: Int32(rate.denominator))
      unsafe stream.pointee.avg_frame_rate = value
    }
  }

  private var codec: AVCodecID {
    packets.map { $0.format == .hevc ? AV_CODEC_ID_HEVC : AV_CODEC_ID_H264 } ?? AV_CODEC_ID_MJPEG
  }

  /// Tells the stream the parameter sets. False where there is no memory for them.
  func fillPackets(_ stream: UnsafeMutablePointer<AVStream>, _ container: MovieContainer) -> Bool {
    guard let sets = packets?.parameterSets else { return true }
    let parameters = unsafe stream.pointee.codecpar!
    // The library reads beyond the end.
    let room = sets.count + Int(AV_INPUT_BUFFER_PADDING_SIZE)
    guard let memory = unsafe libav.av_malloc(room) else { return false }
    unsafe memory.initializeMemory(as: UInt8.self, repeating: 0, count: room)
    unsafe sets.withUnsafeBytes {
      unsafe memory.copyMemory(from: $0.baseAddress!, byteCount: $0.count)
    }
    unsafe parameters.pointee.extradata = unsafe memory.assumingMemoryBound(to: UInt8.self)
    unsafe parameters.pointee.extradata_size = Int32(sets.count)
    if container.isQuickTime, unsafe parameters.pointee.codec_id == AV_CODEC_ID_HEVC {
      unsafe parameters.pointee.codec_tag = MovieContainer.hevcTag
    }
    return true
  }

  var libraryRange: AVColorRange {
    switch range {
    case .unspecified: AVCOL_RANGE_UNSPECIFIED
    case .limited: AVCOL_RANGE_MPEG
    case .full: AVCOL_RANGE_JPEG
    }
  }
}
