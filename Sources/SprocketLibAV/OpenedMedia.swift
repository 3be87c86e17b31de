internal import CSprocketLibAV

/// An open media file. Its streams are known.
@safe
struct OpenedMedia: ~Copyable {
  // Declared before the file that it reads, because it must be closed first: values are destroyed in this
  // order.
  private let owner: Owned<AVFormatContext>
  private let input: FileInput
  private let isMovie: Bool
  private var packetCount: Int64 = 0

  var context: UnsafeMutablePointer<AVFormatContext> { unsafe owner.pointer }
  var path: String { input.path }
  /// Bytes of the file, when it was opened; of a pipe, those that came.
  var byteCount: Int64 { input.byteCount }
  var isStream: Bool { input.isStream }
  /// See ``FileInput/missingByteCount()``.
  func missingByteCount() -> Int64 { input.missingByteCount() }
  /// Throws when somebody asked to stop.
  func checkInterruption() throws(MediaError) { try input.checkInterruption() }

  /// Opens a file. Nothing but that file is opened, whatever it says. From then on the library allocates at
  /// most `limit` bytes in one piece, if that is given.
  ///
  /// The corresponding C functions are `av_max_alloc`, `avformat_open_input` and `avformat_find_stream_info`.
  init(
    _ path: String, _ taken: InputFormats.Taken, limit: Int? = nil,
    isInterrupted: @escaping @Sendable () -> Bool
  ) throws(MediaError) {
    func failure(_ code: MediaError.Code, _ operation: String, _ status: Int32) -> MediaError {
      MediaError(
        code: isInterrupted() ? .interrupted : code, operation: operation, status: status,
        path: path)
    }
    var input = try FileInput(path, isInterrupted: isInterrupted)
    if let limit { libav.av_max_alloc(limit) }
    let isMovie = input.looksLikeMovie()
    let format = unsafe try InputFormats.find(&input, isMovie: isMovie, taken)
    var context = unsafe input.makeContext()
    guard unsafe context != nil else { throw failure(.outOfMemory, "avformat_alloc_context", 0) }
    // This frees the context if it fails.
    var status = unsafe libav.avformat_open_input(&context, path, format, nil)
    guard status >= 0,
      let owner = unsafe Owned(context, free: libav.avformat_close_input)
    else {
      throw failure(
        isMovie ? input.isStream ? .needsSeeking : .unfinished : .notMedia, "avformat_open_input",
        status)
    }
    status = unsafe Self.findStreams(owner.pointer)
    guard status >= 0, !isInterrupted() else {
      throw failure(.notMedia, "avformat_find_stream_info", status)
    }
    self.input = input
    self.isMovie = isMovie
    unsafe self.owner = unsafe owner
  }

  func failure(_ code: MediaError.Code, _ operation: String, _ status: Int32) -> MediaError {
    MediaError(code: code, operation: operation, status: status, path: path)
  }

  /// Reads as far as needed to know the streams, with the limit on pictures that ``Decoder`` has.
  ///
  /// The corresponding C function is `avformat_find_stream_info`.
  private static func findStreams(_ opened: UnsafeMutablePointer<AVFormatContext>) -> Int32 {
    let count = unsafe Int(opened.pointee.nb_streams)
    var options = unsafe [OpaquePointer?](repeating: nil, count: count)
    for index in unsafe options.indices {
      _ = unsafe libav.av_dict_set_int(&options[index], "max_pixels", MediaLimits.pixels, 0)
    }
    let status = unsafe libav.avformat_find_stream_info(opened, &options)
    for index in unsafe options.indices { unsafe libav.av_dict_free(&options[index]) }
    return status
  }

  /// Reads the next packet of any stream; returns whether there was one before the end.
  ///
  /// The corresponding C function is `av_read_frame`.
  mutating func read(into packet: UnsafeMutablePointer<AVPacket>) throws(MediaError) -> Bool {
    while true {
      try checkInterruption()
      let status = unsafe libav.av_read_frame(context, packet)
      if status == SPROCKET_AVERROR_EOF {
        // The end, or a disk that fails: the library says so in the file's own handle alone.
        let failed = unsafe context.pointee.pb?.pointee.error ?? 0
        guard failed < 0, failed != SPROCKET_AVERROR_EOF else { return false }
        try checkInterruption()
        throw failure(.readFailed, "av_read_frame", failed)
      }
      if status == SPROCKET_AVERROR_EAGAIN { continue }
      guard status >= 0 else {
        try checkInterruption()
        let isLate = input.isStream && isMovie && packetCount == 0
        throw failure(
          status == -ENOMEM ? .outOfMemory : isLate ? .needsSeeking : .readFailed, "av_read_frame",
          status)
      }
      packetCount += 1
      guard packetCount <= mostPackets else { throw failure(.tooManyFrames, "av_read_frame", 0) }
      return true
    }
  }

  /// A packet takes a byte of its file at least. More than that, an index of a few bytes tells of the same
  /// bytes again and again, without end.
  private var mostPackets: Int64 { 100_000 + byteCount }
}
