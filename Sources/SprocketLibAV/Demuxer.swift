internal import CSprocketLibAV

/// An open media file and one stream of it.
@safe
struct Demuxer: ~Copyable {
  private var media: OpenedMedia
  let stream: UnsafeMutablePointer<AVStream>

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
    let file = try OpenedMedia(
      path, media == .video ? .pictures : .sound, limit: MediaLimits.allocation,
      isInterrupted: isInterrupted)
    let opened = unsafe file.context
    let (index, missing) = unsafe Self.choose(media, in: opened)
    guard index >= 0, let stream = unsafe opened.pointee.streams[index] else {
      throw file.failure(missing, "av_find_best_stream", Int32(min(index, 0)))
    }
    for other in unsafe 0..<Int(opened.pointee.nb_streams) where other != index {
      unsafe opened.pointee.streams[other]?.pointee.discard = AVDISCARD_ALL
    }
    unsafe self.stream = unsafe stream
    self.media = file
  }

  /// The stream's number, below 0 if it is not there, and the error that this is.
  ///
  /// The corresponding C function is `av_find_best_stream`.
  private static func choose(
    _ media: Media, in opened: UnsafeMutablePointer<AVFormatContext>
  ) -> (index: Int, missing: MediaError.Code) {
    switch media {
    case .video:
      let index = unsafe Int(libav.av_find_best_stream(opened, AVMEDIA_TYPE_VIDEO, -1, -1, nil, 0))
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
        Int(libav.av_find_best_stream(opened, AVMEDIA_TYPE_AUDIO, -1, -1, nil, 0)), .noSound
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

  private var context: UnsafeMutablePointer<AVFormatContext> { unsafe media.context }

  /// The file.
  var path: String { media.path }
  /// Bytes of the file, when it was opened.
  var byteCount: Int64 { media.byteCount }
  var isStream: Bool { media.isStream }
  func missingByteCount() -> Int64 { media.missingByteCount() }
  /// Throws if a stop was requested.
  func checkInterruption() throws(MediaError) { try media.checkInterruption() }

  /// Reads the stream's next packet; returns whether there was one before the end.
  mutating func read(into packet: UnsafeMutablePointer<AVPacket>) throws(MediaError) -> Bool {
    while unsafe try media.read(into: packet) {
      if unsafe packet.pointee.stream_index == stream.pointee.index { return true }
      unsafe libav.av_packet_unref(packet)
    }
    return false
  }

  /// Goes to the last key frame at or before a time; returns whether the file could.
  ///
  /// The corresponding C function is `av_seek_frame`.
  mutating func seek(toNanoseconds time: Int64) -> Bool {
    let ticks = unsafe rescaled(
      time, AVRational(num: 1, den: 1_000_000_000), to: stream.pointee.time_base)
    return unsafe libav.av_seek_frame(context, stream.pointee.index, ticks, AVSEEK_FLAG_BACKWARD)
      >= 0
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
