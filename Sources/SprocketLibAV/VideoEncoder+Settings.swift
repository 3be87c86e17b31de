internal import CSprocketLibAV
internal import SprocketPixels

// What an encoder is opened with.

extension VideoEncoderSettings {
  /// Throws where the machine has no such encoder, and for values that it does not take, whatever the
  /// pictures are. Opens nothing.
  public func check() throws(EncoderError) {
    let codec = unsafe try findEncoder()
    try check(unsafe String(cString: codec.pointee.name))
  }

  /// The corresponding C function is `avcodec_find_encoder_by_name`.
  func findEncoder() throws(EncoderError) -> UnsafePointer<AVCodec> {
    if let missing = LibAV.missing { throw .library(missing) }
    let names = Self.encoderNames(codec)
    guard
      let found = unsafe names.lazy.compactMap({ unsafe libav.avcodec_find_encoder_by_name($0) })
        .first,
      unsafe found.pointee.type == AVMEDIA_TYPE_VIDEO
    else { throw .missing(names) }
    return unsafe found
  }

  /// The corresponding C type is `AVCodecContext`.
  func fill(
    _ context: UnsafeMutablePointer<AVCodecContext>, _ encoder: String,
    _ description: MovieDescription
  ) throws(EncoderError) {
    let rate = description.rate.map { Double($0.numerator) / Double($0.denominator) } ?? 30
    unsafe context.pointee.flags |= AV_CODEC_FLAG_GLOBAL_HEADER
    unsafe context.pointee.gop_size = Int32(clamping: Int(min(max(rate * keySeconds, 1), 1e6)))
    unsafe context.pointee.thread_count = Int32(clamping: threads)
    if isLive { unsafe context.pointee.max_b_frames = 0 }
    let quality = quality ?? (bitRate == nil ? Self.usualQuality(encoder) : nil)
    try check(encoder)
    if let quality {
      unsafe try set(context, encoder, "crf", "\(quality)")
      if let bitRate {
        unsafe context.pointee.rc_max_rate = Int64(bitRate)
        unsafe context.pointee.rc_buffer_size = Int32(clamping: bitRate)
      }
    } else {
      let pixels = Double(description.width * description.height)
      unsafe context.pointee.bit_rate =
        bitRate.map { Int64($0) } ?? Int64(pixels * 30 * Self.usualBitsPerPixel)
    }
    if let preset = preset ?? Self.usualPreset(encoder, isLive: isLive) {
      unsafe try set(context, encoder, "preset", preset)
    }
    if let tune { unsafe try set(context, encoder, "tune", tune) }
    if let profile { unsafe try set(context, encoder, "profile", profile) }
    if let level { unsafe try set(context, encoder, "level", level) }
    if pass > 0 {
      unsafe context.pointee.flags |= pass == 1 ? AV_CODEC_FLAG_PASS1 : AV_CODEC_FLAG_PASS2
    }
    var own = description.hdr?.settings(of: encoder) ?? []
    switch encoder {
    case "libx264":
      if pass > 0 { unsafe try set(context, encoder, "stats", statistics) }
      // Tells the encoder before it is opened: what frames say later changes the pictures, and not
      // `pic_struct`, by which players and containers go.
      if description.display.fieldOrder == .bottomFirst { own.append("bff=1") }
    case "libx265":
      own.append("log-level=none")
      // Else a picture that is asked to be a key frame is one that players cannot begin at.
      unsafe try set(context, encoder, "forced-idr", "1")
      if pass > 0 { own += ["pass=\(pass)", "stats=\(statistics)"] }
    case "libsvtav1" where isLive: own.append("pred-struct=1")
    case "libsvtav1" where quality != nil:
      // Refused for live pictures, and for a bit rate: then pictures are counted.
      own.append("enable-force-key-frames=1")
    case "libvpx", "libvpx-vp9":
      // Their own default, `good`, is for files: one processor encodes some pictures of 1080p in a second.
      unsafe try set(context, encoder, "deadline", isLive ? "realtime" : "good")
      unsafe try set(context, encoder, "cpu-used", isLive ? "8" : "4")
      if isLive { unsafe try set(context, encoder, "lag-in-frames", "0") }
      if encoder == "libvpx-vp9" { unsafe try set(context, encoder, "row-mt", "1") }
    default: break
    }
    if let name = Self.ownSettings[encoder], !own.isEmpty {
      unsafe try set(context, encoder, name, own.joined(separator: ":"))
    }
  }

  /// The option that takes an encoder's settings by the encoder's own names.
  private static let ownSettings = [
    "libx264": "x264-params", "libx265": "x265-params", "libsvtav1": "svtav1-params",
  ]

  /// The corresponding C function is `av_opt_set`.
  private func set(
    _ context: UnsafeMutablePointer<AVCodecContext>, _ encoder: String, _ name: String,
    _ value: String
  ) throws(EncoderError) {
    guard unsafe libav.av_opt_set(context, name, value, AV_OPT_SEARCH_CHILDREN) >= 0 else {
      throw .setting(encoder: encoder, name: name, value: value, allowed: "")
    }
  }
}

extension MovieDescription {
  func fill(
    _ context: UnsafeMutablePointer<AVCodecContext>, width: Int, height: Int
  ) {
    unsafe context.pointee.width = Int32(width)
    unsafe context.pointee.height = Int32(height)
    unsafe context.pointee.color_range = libraryRange
    unsafe context.pointee.colorspace = matrix.number(codes.matrix)
    unsafe context.pointee.color_trc = transfer.number(codes.transfer)
    unsafe context.pointee.color_primaries = AVColorPrimaries(UInt32(codes.primaries))
    unsafe context.pointee.chroma_sample_location =
      switch chromaSite {
      case .left: AVCHROMA_LOC_LEFT
      case .center: AVCHROMA_LOC_CENTER
      case .topLeft: AVCHROMA_LOC_TOPLEFT
      case .unspecified, .other: AVCHROMA_LOC_UNSPECIFIED
      }
    if let pixelAspect = display.pixelAspect {
      unsafe context.pointee.sample_aspect_ratio = AVRational(
        num: Int32(clamping: pixelAspect.numerator), den: Int32(clamping: pixelAspect.denominator))
    }
    if let rate {
      unsafe context.pointee.framerate = AVRational(
        num: Int32(clamping: rate.numerator), den: Int32(clamping: rate.denominator))
    }
  }
}

/// Chooses key frames by the pictures' times. Encoders count pictures, and a camera may give fewer than it
/// promised.
struct KeyFrameInterval {
  /// Longest time from a key frame to the next.
  let ticks: Int64
  /// Most pictures from a key frame to the next: the encoder makes that one a key frame by itself.
  let pictures: Int
  private var key: Int64?
  private var latest: Int64 = 0
  private var count = 0

  init(ticks: Int64, pictures: Int) { (self.ticks, self.pictures) = (ticks, pictures) }

  /// Whether the picture of that time is a key frame. Called once for each picture.
  mutating func isDue(at tick: Int64) -> Bool {
    let step = tick &- latest
    latest = tick
    count += 1
    // The next picture is expected after as much time as this one; a quarter of that is jitter.
    if let key, count < pictures, (tick &- key) &+ step <= ticks &+ step / 4 { return false }
    (key, count) = (tick, 0)
    return true
  }
}
