internal import CSprocketLibAV
public import SprocketPixels

/// What is known of a file's video before anything is decoded.
public struct MediaInfo: Sendable {
  /// The number of the stream in its file, as ffprobe counts.
  public let streamIndex: Int
  /// The numbers of all streams that are pictures, but for covers.
  public let streams: [Int]
  /// The codec's short name: "mjpeg", "h264", "rawvideo".
  public let codecName: String
  /// Whether every packet is one JPEG image.
  public let isMJPEG: Bool
  /// In pixels.
  public let width: Int
  /// In pixels.
  public let height: Int
  /// What decoded frames will be, after conversion where that is needed; `nil` if the file does not say.
  public let pixelFormat: PixelFormat?
  /// Whether decoded frames are converted by libswscale, which costs time.
  public let isConverted: Bool
  public let color: MediaColor
  public let display: MediaDisplay
  /// HDR metadata of the container. The pictures may have more.
  public let hdr: HDRMetadata?
  /// Which field comes first where a packet is two JPEG images and nobody says more: FFmpeg takes what
  /// capture cards call MJPG for bottom first, all else for top first.
  public let firstField: MediaDisplay.FieldOrder
  /// Seconds per tick of the stream's clock.
  public let timeBase: MediaRational
  /// Frames per second on average; `nil` if unknown.
  public let frameRate: MediaRational?
  /// As the file's header says, which need not be what is in it; `nil` if unknown.
  public let frameCount: Int?
  /// As the file's header says; `nil` if unknown.
  public let durationNanoseconds: Int64?
  /// What the file says of itself, by the library's names: title, make, date and so on.
  public let tags: [String: String]
  /// Whether the file has times. Encoded video without a container has none; the library makes them up.
  public let hasTimes: Bool
  /// Whether there is sound beside the video.
  public let hasSound: Bool
  /// Number of bytes missing at the end of a truncated file; 0 if it is complete or cannot tell.
  public let missingByteCount: Int64

  /// The corresponding C types are `AVStream` and `AVCodecParameters`.
  init(_ demuxer: borrowing Demuxer) {
    let stream = unsafe demuxer.stream.pointee
    let parameters = unsafe stream.codecpar.pointee
    streamIndex = unsafe Int(stream.index)
    streams = demuxer.videoStreams
    codecName = unsafe String(cString: libav.avcodec_get_name(parameters.codec_id)!)
    isMJPEG = unsafe parameters.codec_id == AV_CODEC_ID_MJPEG
    width = unsafe Int(parameters.width)
    height = unsafe Int(parameters.height)
    let format = unsafe AVPixelFormat(parameters.format)
    let known = PixelFormat(format)
    isConverted = known == nil && format != AV_PIX_FMT_NONE
    pixelFormat =
      format == AV_PIX_FMT_NONE
      ? nil : known ?? PixelFormat(PixelFormat.nearest(format))
    var color = unsafe MediaColor(
      range: parameters.color_range, matrix: parameters.color_space,
      transfer: parameters.color_trc, primaries: parameters.color_primaries,
      chromaSite: parameters.chroma_location, format: format)
    if isConverted, pixelFormat?.isRGB == true { (color.range, color.matrix) = (.full, .bt601) }
    self.color = color
    display = unsafe MediaDisplay(demuxer.stream)
    hdr = unsafe HDRMetadata(demuxer.stream)
    // "MJPG", from its last byte.
    firstField = unsafe parameters.codec_tag == 0x4750_4A4D ? .bottomFirst : .topFirst
    timeBase = unsafe MediaRational(stream.time_base)
    // The fastest rate of an animation is its clock's.
    let rates =
      unsafe demuxer.isAnimation
      ? [stream.avg_frame_rate] : [stream.avg_frame_rate, stream.r_frame_rate]
    frameRate = rates.first { $0.num > 0 && $0.den > 0 }.map { MediaRational($0) }
    frameCount = unsafe stream.nb_frames > 0 ? Int(stream.nb_frames) : nil
    durationNanoseconds = demuxer.durationNanoseconds
    tags = demuxer.tags
    hasTimes = demuxer.hasTimes
    hasSound = !demuxer.soundStreams.isEmpty
    missingByteCount = demuxer.missingByteCount()
  }
}
