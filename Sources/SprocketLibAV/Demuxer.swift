internal import CSprocketLibAV

/// An open file, as bytes.
@safe
struct FileInput: ~Copyable {
  var handle: UnsafeMutablePointer<AVIOContext>?
  let path: String

  /// Opens a file and checks that it is one, and has contents.
  ///
  /// The corresponding C function is `avio_open`.
  init(_ path: String) throws(MediaError) {
    var handle: UnsafeMutablePointer<AVIOContext>?
    // Without a protocol, "concat:a|b" or "http://..." would be more than a file.
    let status = unsafe avio_open(&handle, "file:" + path, AVIO_FLAG_READ)
    guard status >= 0, unsafe handle != nil else {
      let code: MediaError.Code =
        switch -status {
        case ENOENT, ENOTDIR: .notFound
        case EACCES, EPERM: .notPermitted
        case EISDIR: .isDirectory
        case ENOMEM: .outOfMemory
        default: .readFailed
        }
      throw MediaError(code: code, operation: "avio_open", status: status, path: path)
    }
    let size = unsafe avio_size(handle)
    guard size != 0 else {
      unsafe avio_closep(&handle)
      throw MediaError(code: .emptyFile, operation: "avio_size", status: 0, path: path)
    }
    unsafe self.handle = unsafe handle
    self.path = path
  }

  deinit {
    var handle = unsafe handle
    unsafe avio_closep(&handle)
  }

  /// Whether the file begins like a QuickTime or MP4 movie: with an atom of one of the known kinds.
  mutating func looksLikeMovie() -> Bool {
    guard let io = unsafe handle, unsafe io.pointee.seekable & AVIO_SEEKABLE_NORMAL != 0 else {
      return false
    }
    _ = unsafe avio_skip(io, 4)
    let kind = unsafe avio_rl32(io)
    _ = unsafe avio_seek(io, 0, SEEK_SET)
    return ["ftyp", "mdat", "wide", "free", "skip", "pnot"].contains { name in
      name.utf8.reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) } == kind
    }
  }
}

/// An open media file and its best video stream.
@safe
struct Demuxer: ~Copyable {
  private let input: FileInput
  private let context: UnsafeMutablePointer<AVFormatContext>
  let stream: UnsafeMutablePointer<AVStream>

  /// Opens a file and finds its video.
  ///
  /// The corresponding C functions are `avformat_open_input`, `avformat_find_stream_info` and
  /// `av_find_best_stream`.
  init(_ path: String) throws(MediaError) {
    func failure(_ code: MediaError.Code, _ operation: String, _ status: Int32) -> MediaError {
      MediaError(code: code, operation: operation, status: status, path: path)
    }
    var input = try FileInput(path)
    let isMovie = input.looksLikeMovie()
    var context = unsafe avformat_alloc_context()
    guard unsafe context != nil else { throw failure(.outOfMemory, "avformat_alloc_context", 0) }
    unsafe context?.pointee.pb = unsafe input.handle
    // This frees the context if it fails.
    var status = unsafe avformat_open_input(&context, path, nil, nil)
    guard status >= 0, let opened = unsafe context else {
      let code: MediaError.Code =
        status == -EISDIR ? .isDirectory : isMovie ? .unfinished : .notMedia
      throw failure(code, "avformat_open_input", status)
    }
    status = unsafe avformat_find_stream_info(opened, nil)
    guard status >= 0 else {
      unsafe avformat_close_input(&context)
      throw failure(.notMedia, "avformat_find_stream_info", status)
    }
    let index = unsafe av_find_best_stream(opened, AVMEDIA_TYPE_VIDEO, -1, -1, nil, 0)
    guard index >= 0, let stream = unsafe opened.pointee.streams[Int(index)],
      unsafe stream.pointee.disposition & AV_DISPOSITION_ATTACHED_PIC == 0
    else {
      unsafe avformat_close_input(&context)
      throw failure(.noVideo, "av_find_best_stream", min(index, 0))
    }
    for other in unsafe 0..<Int(opened.pointee.nb_streams) where other != Int(index) {
      unsafe opened.pointee.streams[other]?.pointee.discard = AVDISCARD_ALL
    }
    self.input = input
    unsafe self.context = unsafe opened
    unsafe self.stream = unsafe stream
  }

  deinit {
    var context: UnsafeMutablePointer<AVFormatContext>? = unsafe context
    unsafe avformat_close_input(&context)
  }

  /// The file.
  var path: String { input.path }

  /// Reads the video's next packet; returns whether there was one before the end.
  ///
  /// The corresponding C function is `av_read_frame`.
  mutating func read(into packet: UnsafeMutablePointer<AVPacket>) throws(MediaError) -> Bool {
    while true {
      let status = unsafe av_read_frame(context, packet)
      if status == SPROCKET_AVERROR_EOF {
        // The end, or a disk that fails: the library says so in the file's own handle alone.
        let failure = unsafe context.pointee.pb?.pointee.error ?? 0
        guard failure < 0, failure != SPROCKET_AVERROR_EOF else { return false }
        throw MediaError(
          code: .readFailed, operation: "av_read_frame", status: failure, path: path)
      }
      if status == SPROCKET_AVERROR_EAGAIN { continue }
      guard status >= 0 else {
        throw MediaError(code: .readFailed, operation: "av_read_frame", status: status, path: path)
      }
      if unsafe packet.pointee.stream_index == stream.pointee.index { return true }
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

  /// Whether there is sound beside the video.
  var hasSound: Bool {
    unsafe (0..<Int(context.pointee.nb_streams)).contains { index in
      unsafe context.pointee.streams[index]?.pointee.codecpar.pointee.codec_type
        == AVMEDIA_TYPE_AUDIO
    }
  }

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
