internal import CSprocketLibAV

/// What no file may make us exceed.
enum MediaLimits {
  /// Pixels of a picture: 16,384 x 16,384, more than any camera has. More, and a few bytes of a header
  /// ask for gigabytes.
  static let pixels: Int64 = 1 << 28
  /// Bytes that libavutil gives out in one piece, for a picture or a file's index: a picture of that
  /// size in RGB. With more, a movie of a few hundred bytes may claim an index of 2 GB.
  static let allocation = 1 << 30
}

/// The containers that are read: those that keep pictures or sound in the file itself.
///
/// libavformat knows 350 more. Among them are playlists and lists of files, which name other files or
/// addresses to be opened (`hls`, `dash`, `concat`, `imf`, `sdp`, `rtsp`, `image2`, `webm_dash_manifest`,
/// `vobsub`), devices, containers of text alone, and games' formats that are hardly tested.
enum InputFormats {
  private static let containers: Set<String> = [
    "3dostr", "apng", "asf", "asf_o", "avi", "avs", "dv", "dxa", "ea", "film_cpk", "flic", "flv",
    "gif", "gxf", "ivf", "kux", "live_flv", "matroska", "mov", "mpeg", "mpegts", "mpjpeg", "mxf",
    "nsv", "nut", "nuv", "ogg", "r3d", "rm", "swf", "wtv", "yuv4mpegpipe",
  ]

  /// Encoded video without a container.
  private static let streams: Set<String> = [
    "av1", "avs2", "avs3", "cavsvideo", "dirac", "dnxhd", "h261", "h263", "h264", "hevc",
    "ingenient",
    "ipu", "m4v", "mjpeg", "mjpeg_2000", "mpegvideo", "obu", "vc1", "vc1test",
  ]

  /// Whether what is read by a format of those names has no times.
  static func isUntimed(_ names: String) -> Bool {
    let kind = String(names.prefix { $0 != "," })
    return images.contains(kind) || kind == "mpjpeg"
  }

  /// Returns true if the file says how long each picture lasts, so that the last one has a length, too.
  static func isAnimation(_ names: String) -> Bool { ["apng", "gif"].contains(names) }
  static func isPicture(_ names: String) -> Bool { pictures.contains(names) }

  /// One picture, or several one behind the other.
  private static let pictures: Set<String> = [
    "bmp_pipe", "dds_pipe", "dpx_pipe", "exr_pipe", "gem_pipe", "j2k_pipe", "jpeg_pipe",
    "jpegls_pipe", "jpegxl_pipe", "pam_pipe", "pbm_pipe", "pcx_pipe", "pfm_pipe", "pgm_pipe",
    "pgmyuv_pipe", "pgx_pipe", "phm_pipe", "png_pipe", "ppm_pipe", "psd_pipe", "qoi_pipe",
    "sgi_pipe", "sunrast_pipe", "tiff_pipe", "webp_pipe", "xbm_pipe", "xpm_pipe", "xwd_pipe",
  ]

  /// Pictures without a container for sound.
  private static let images = streams.union(pictures)

  /// Sound alone, or with a picture of its cover.
  private static let sounds: Set<String> = [
    "aac", "ac3", "aiff", "amr", "ape", "au", "caf", "dsf", "eac3", "flac", "mp3", "mpc", "mpc8",
    "tak",
    "tta", "w64", "wav", "wv",
  ]

  /// What names other files.
  static let playlists: Set<String> = [
    "concat", "dash", "hls", "imf", "rtsp", "sdp", "vobsub", "webm_dash_manifest",
  ]

  /// What a file may be.
  enum Taken { case pictures, sound, any }

  /// Finds out what the file is; throws what is not read. Sound is taken from files of sound, too.
  ///
  /// The corresponding C function is `av_probe_input_buffer2`.
  static func find(
    _ input: inout FileInput, isMovie: Bool, _ wanted: Taken = .pictures
  ) throws(MediaError) -> UnsafePointer<AVInputFormat> {
    func failure(_ code: MediaError.Code, _ status: Int32) -> MediaError {
      MediaError(
        code: code, operation: "av_probe_input_buffer2", status: status, path: input.path)
    }
    var refused = MediaError.Code.notMedia
    // The name's ending helps where contents are ambiguous; by an ending alone, `image2` would take
    // pictures, and look for more files by their names.
    for name in [input.path, ""] {
      var found: UnsafePointer<AVInputFormat>?
      let status = unsafe libav.av_probe_input_buffer2(input.handle, &found, name, nil, 0, 0)
      try input.checkInterruption()
      guard status >= 0, let format = unsafe found else {
        if let kind = pictureKind(input) { throw failure(.unreadPicture(kind), status) }
        throw failure(isMovie ? input.isStream ? .needsSeeking : .unfinished : refused, status)
      }
      // A format may have several names, separated by commas; the first is its own.
      let kind = unsafe String(String(cString: format.pointee.name).prefix { $0 != "," })
      let taken =
        switch wanted {
        case .pictures: containers.union(images)
        case .sound: containers.union(sounds)
        case .any: containers.union(sounds).union(images)
        }
      if kind == "webp_pipe", isFilm(input) { throw failure(.unreadPicture("animated WebP"), 0) }
      if taken.contains(kind) { return unsafe format }
      let isKnown = sounds.contains(kind) || images.contains(kind)
      // `image2` knows nothing but the name's ending.
      refused =
        isKnown
        ? wanted == .sound ? .noSound : .noVideo
        : kind == "image2" ? .notMedia : .otherContainer(kind)
    }
    if let kind = pictureKind(input) { throw failure(.unreadPicture(kind), 0) }
    throw failure(refused, 0)
  }

  /// Returns true if a WebP is animated (RFC 9649, 2.7). libavcodec does not read that.
  private static func isFilm(_ input: borrowing FileInput) -> Bool {
    // The first chunk stands behind the file's kind and length: its name, its length, and flags.
    guard let chunk = input.bytes(at: 12) else { return false }
    return String(decoding: chunk[0..<4], as: UTF8.self) == "VP8X" && chunk[8] & 2 != 0
  }

  /// The name of a picture's format that is not read; `nil` for all else. Asked where a file could not be
  /// opened.
  static func pictureKind(_ input: borrowing FileInput) -> String? {
    guard let bytes = input.bytes(at: 0), bytes.count >= 16 else { return nil }
    let word = String(decoding: bytes[4..<8], as: UTF8.self)
    let brand = String(decoding: bytes[8..<12], as: UTF8.self)
    if word == "ftyp", ["heic", "heix", "heim", "heis", "hevc", "mif1", "msf1"].contains(brand) {
      return "HEIC"
    }
    let order = String(decoding: bytes[0..<2], as: UTF8.self)
    if order == "II" && bytes[2] == 43 || order == "MM" && bytes[3] == 43 { return "BigTIFF" }
    // A Targa file has no mark at its beginning.
    return input.path.lowercased().hasSuffix(".tga") ? "Targa" : nil
  }
}
