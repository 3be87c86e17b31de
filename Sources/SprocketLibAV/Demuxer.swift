internal import CSprocketLibAV

/// An open media file and one stream of it.
@safe
struct Demuxer: ~Copyable {
  // Declared before the file that it reads, because it must be closed first: values are destroyed in this
  // order.
  private let owner: Owned<AVFormatContext>
  private let input: FileInput
  let stream: UnsafeMutablePointer<AVStream>
  private var packetCount: Int64 = 0

  /// What is wanted of a file: its best video, or its sound, the best or that of a stream.
  enum Media: Equatable {
    case video
    case sound(stream: Int?)
  }

  /// Opens a file and finds its video or sound. Nothing but that file is opened, whatever it says.
  ///
  /// The corresponding C functions are `avformat_open_input`, `avformat_find_stream_info` and
  /// `av_find_best_stream`.
  init(
    _ path: String, _ media: Media = .video,
    isInterrupted: @escaping @Sendable () -> Bool = { false }
  ) throws(MediaError) {
    func failure(_ code: MediaError.Code, _ operation: String, _ status: Int32) -> MediaError {
      MediaError(
        code: isInterrupted() ? .interrupted : code, operation: operation, status: status,
        path: path)
    }
    var input = try FileInput(path, isInterrupted: isInterrupted)
    let isMovie = input.looksLikeMovie()
    let format = unsafe try InputFormats.find(
      &input, isMovie: isMovie, takesSound: media != .video)
    var context = unsafe input.makeContext()
    guard unsafe context != nil else { throw failure(.outOfMemory, "avformat_alloc_context", 0) }
    // This frees the context if it fails.
    var status = unsafe avformat_open_input(&context, path, format, nil)
    guard status >= 0,
      let owner = unsafe Owned(context, free: avformat_close_input)
    else {
      throw failure(isMovie ? .unfinished : .notMedia, "avformat_open_input", status)
    }
    let opened = unsafe owner.pointer
    status = unsafe Self.findStreams(opened)
    guard status >= 0, !isInterrupted() else {
      throw failure(.notMedia, "avformat_find_stream_info", status)
    }
    let (index, missing) = unsafe Self.choose(media, in: opened)
    guard index >= 0, let stream = unsafe opened.pointee.streams[index] else {
      throw failure(missing, "av_find_best_stream", Int32(min(index, 0)))
    }
    for other in unsafe 0..<Int(opened.pointee.nb_streams) where other != index {
      unsafe opened.pointee.streams[other]?.pointee.discard = AVDISCARD_ALL
    }
    self.input = input
    unsafe self.owner = unsafe owner
    unsafe self.stream = unsafe stream
  }

  /// The stream's number, below 0 if it is not there, and the error that this is.
  ///
  /// The corresponding C function is `av_find_best_stream`.
  private static func choose(
    _ media: Media, in opened: UnsafeMutablePointer<AVFormatContext>
  ) -> (index: Int, missing: MediaError.Code) {
    switch media {
    case .video:
      let index = unsafe Int(av_find_best_stream(opened, AVMEDIA_TYPE_VIDEO, -1, -1, nil, 0))
      let isCover =
        unsafe index >= 0
        && opened.pointee.streams[index]!.pointee.disposition & AV_DISPOSITION_ATTACHED_PIC != 0
      return (isCover ? -1 : index, .noVideo)
    case .sound(let asked):
      let known = unsafe soundStreams(of: opened)
      if let asked {
        return (known.contains(asked) ? asked : -1, .noSoundThere(asked, known: known))
      }
      return unsafe (
        Int(av_find_best_stream(opened, AVMEDIA_TYPE_AUDIO, -1, -1, nil, 0)), .noSound
      )
    }
  }

  /// The numbers of the streams that are sound.
  private static func soundStreams(of opened: UnsafeMutablePointer<AVFormatContext>) -> [Int] {
    unsafe (0..<Int(opened.pointee.nb_streams)).filter { index in
      unsafe opened.pointee.streams[index]?.pointee.codecpar.pointee.codec_type
        == AVMEDIA_TYPE_AUDIO
    }
  }

  private var context: UnsafeMutablePointer<AVFormatContext> { unsafe owner.pointer }

  /// Reads as far as needed to know the streams, with the limit on pictures that ``Decoder`` has.
  ///
  /// The corresponding C function is `avformat_find_stream_info`.
  private static func findStreams(_ opened: UnsafeMutablePointer<AVFormatContext>) -> Int32 {
    let count = unsafe Int(opened.pointee.nb_streams)
    var options = unsafe [OpaquePointer?](repeating: nil, count: count)
    for index in unsafe options.indices {
      unsafe av_dict_set_int(&options[index], "max_pixels", MediaLimits.pixels, 0)
    }
    let status = unsafe avformat_find_stream_info(opened, &options)
    for index in unsafe options.indices { unsafe av_dict_free(&options[index]) }
    return status
  }

  /// The file.
  var path: String { input.path }
  /// Bytes of the file, when it was opened.
  var byteCount: Int64 { input.byteCount }
  /// Throws when somebody asked to stop.
  func checkInterruption() throws(MediaError) { try input.checkInterruption() }

  /// A frame takes a byte of its file at least. More than that, an index of a few bytes tells of the same
  /// bytes again and again, without end.
  private var mostPackets: Int64 { 100_000 + byteCount }

  /// Reads the stream's next packet; returns whether there was one before the end.
  ///
  /// The corresponding C function is `av_read_frame`.
  mutating func read(into packet: UnsafeMutablePointer<AVPacket>) throws(MediaError) -> Bool {
    while true {
      try checkInterruption()
      let status = unsafe av_read_frame(context, packet)
      if status == SPROCKET_AVERROR_EOF {
        // The end, or a disk that fails: the library says so in the file's own handle alone.
        let failure = unsafe context.pointee.pb?.pointee.error ?? 0
        guard failure < 0, failure != SPROCKET_AVERROR_EOF else { return false }
        try checkInterruption()
        throw MediaError(
          code: .readFailed, operation: "av_read_frame", status: failure, path: path)
      }
      if status == SPROCKET_AVERROR_EAGAIN { continue }
      guard status >= 0 else {
        try checkInterruption()
        throw MediaError(
          code: status == -ENOMEM ? .outOfMemory : .readFailed, operation: "av_read_frame",
          status: status, path: path)
      }
      if unsafe packet.pointee.stream_index == stream.pointee.index {
        packetCount += 1
        guard packetCount <= mostPackets else {
          throw MediaError(
            code: .tooManyFrames, operation: "av_read_frame", status: 0, path: path)
        }
        return true
      }
      unsafe av_packet_unref(packet)
    }
  }

  /// Goes to the last key frame at or before a time; returns whether the file could.
  ///
  /// The corresponding C function is `av_seek_frame`.
  mutating func seek(toNanoseconds time: Int64) -> Bool {
    let ticks = unsafe av_rescale_q(
      time, AVRational(num: 1, den: 1_000_000_000), stream.pointee.time_base)
    return unsafe av_seek_frame(context, stream.pointee.index, ticks, AVSEEK_FLAG_BACKWARD) >= 0
  }

  /// The numbers of the streams that are sound.
  var soundStreams: [Int] { unsafe Self.soundStreams(of: context) }

  /// Whether the file says where its packets are; else a place is guessed, or read up to.
  var hasIndex: Bool { unsafe context.pointee.iformat.pointee.flags & AVFMT_GENERIC_INDEX == 0 }

  /// In nanoseconds; `nil` if the file does not say.
  var durationNanoseconds: Int64? {
    if unsafe stream.pointee.duration > 0 {
      return unsafe nanoseconds(stream.pointee.duration, of: stream.pointee.time_base)
    }
    guard unsafe context.pointee.duration > 0 else { return nil }
    return unsafe nanoseconds(
      context.pointee.duration, of: AVRational(num: 1, den: Int32(AV_TIME_BASE)))
  }

  /// A packet's time in nanoseconds, `nil` if it has none.
  func time(of packet: UnsafeMutablePointer<AVPacket>) -> Int64? {
    let pts = unsafe packet.pointee.pts
    let ticks = unsafe pts == SPROCKET_AV_NOPTS_VALUE ? packet.pointee.dts : pts
    guard ticks != SPROCKET_AV_NOPTS_VALUE else { return nil }
    return unsafe nanoseconds(ticks, of: stream.pointee.time_base)
  }
}
