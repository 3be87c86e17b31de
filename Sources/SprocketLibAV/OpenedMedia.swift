internal import CSprocketLibAV
internal import SprocketTimes

/// An open media file. Its streams are known, and the times of its packets have passed a ``TimeGate``.
@safe
struct OpenedMedia: ~Copyable {
  // Declared before the file that it reads, because it must be closed first: values are destroyed in this
  // order.
  private let owner: Owned<AVFormatContext>
  private let input: FileInput
  private let isMovie: Bool
  private var packetCount: Int64 = 0
  private var gate = TimeGate()
  /// Streams are known from packets, not from the file's header alone.
  let hasReadAhead: Bool
  /// Times of the packet that was read last, before the gate, in ticks.
  private(set) var ownTimes = (pts: SPROCKET_AV_NOPTS_VALUE, dts: SPROCKET_AV_NOPTS_VALUE)

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
  /// most `limit` bytes in one piece, if that is given. If `readsAhead` is false, and the file's header tells
  /// what its pictures are, no packet is read: pixel format, order of pictures and fields are not known then.
  ///
  /// The corresponding C functions are `av_max_alloc`, `avformat_open_input` and `avformat_find_stream_info`.
  init(
    _ path: String, _ taken: InputFormats.Taken, limit: Int? = nil, readsAhead: Bool = true,
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
      if let kind = InputFormats.pictureKind(input) {
        throw failure(.unreadPicture(kind), "avformat_open_input", status)
      }
      throw failure(
        isMovie ? input.isStream ? .needsSeeking : .unfinished : .notMedia, "avformat_open_input",
        status)
    }
    let hasReadAhead = unsafe readsAhead || !Self.tellsPictures(owner.pointer)
    if hasReadAhead { status = unsafe Self.findStreams(owner.pointer) }
    guard status >= 0, !isInterrupted() else {
      throw failure(.notMedia, "avformat_find_stream_info", status)
    }
    self.input = input
    self.hasReadAhead = hasReadAhead
    self.isMovie = isMovie
    unsafe self.owner = unsafe owner
  }

  func failure(_ code: MediaError.Code, _ operation: String, _ status: Int32) -> MediaError {
    MediaError(code: code, operation: operation, status: status, path: path)
  }

  /// Whether the header tells codec, size and rate of all pictures.
  private static func tellsPictures(_ opened: UnsafeMutablePointer<AVFormatContext>) -> Bool {
    let name = unsafe String(cString: opened.pointee.iformat.pointee.name)
    guard name.hasPrefix("mov,") || name.hasPrefix("matroska") else { return false }
    return unsafe (0..<Int(opened.pointee.nb_streams)).allSatisfy { index in
      guard let stream = unsafe opened.pointee.streams[index], unsafe isPictures(stream) else {
        return true
      }
      let parameters = unsafe stream.pointee.codecpar.pointee
      return unsafe [AV_CODEC_ID_H264, AV_CODEC_ID_HEVC].contains(parameters.codec_id)
        && parameters.width > 0 && parameters.height > 0 && stream.pointee.avg_frame_rate.num > 0
        && stream.pointee.avg_frame_rate.den > 0
    }
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
  mutating func read(into packet: UnsafeMutablePointer<AVPacket>) throws(MediaError) -> Bool {
    guard unsafe try readRaw(into: packet) else { return false }
    ownTimes = unsafe (packet.pointee.pts, packet.pointee.dts)
    unsafe passTimes(of: packet)
    return true
  }

  /// Returns an error if a packet is encrypted, which its side data tells; `nil` for all others.
  func encryption(_ packet: UnsafeMutablePointer<AVPacket>) -> MediaError? {
    for index in unsafe 0..<Int(packet.pointee.side_data_elems)
    where unsafe packet.pointee.side_data[index].type == AV_PKT_DATA_ENCRYPTION_INFO {
      return unsafe failure(
        .encrypted(stream: Int(packet.pointee.stream_index)), "av_read_frame", 0)
    }
    return nil
  }

  /// The corresponding C function is `av_read_frame`.
  private mutating func readRaw(
    into packet: UnsafeMutablePointer<AVPacket>
  ) throws(MediaError) -> Bool {
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

  // MARK: Times

  /// What its clock did, for a user.
  var timeNotes: [String] { gate.notes(of: path) }

  /// Whether times say where in the file something is: clocks that wrap may begin anew anywhere, and a file
  /// that claims to last longer than a gap may has a jump.
  var isOrderedByTime: Bool {
    let hasJumps = unsafe context.pointee.iformat.pointee.flags & AVFMT_TS_DISCONT != 0
    let most = TimeGate.longestGap / 1_000_000_000 * Int64(AV_TIME_BASE)
    let duration = unsafe context.pointee.duration
    let wraps = unsafe (0..<Int(context.pointee.nb_streams)).contains { index in
      guard let stream = unsafe context.pointee.streams[index], unsafe isTimed(stream) else {
        return false
      }
      return unsafe turn(of: stream) != nil
    }
    return !hasJumps && !wraps && (duration == SPROCKET_AV_NOPTS_VALUE || duration < most)
  }

  /// Seeks to the key frame at or before a time of one stream. Stream -1 stands for the whole file, and then
  /// a tick is a microsecond. The result is right only if ``isOrderedByTime`` is true.
  ///
  /// The corresponding C function is `av_seek_frame`.
  mutating func seek(_ stream: Int32, ticks: Int64) -> Bool {
    guard unsafe libav.av_seek_frame(context, stream, ticks, AVSEEK_FLAG_BACKWARD) >= 0 else {
      return false
    }
    (gate, packetCount) = (TimeGate(), 0)
    return true
  }

  /// Goes to a position in the file; false if its format does not allow that.
  ///
  /// The corresponding C function is `av_seek_frame`.
  mutating func seek(toByte position: Int64) -> Bool {
    let flags = unsafe context.pointee.iformat.pointee.flags
    guard flags & AVFMT_NO_BYTE_SEEK == 0,
      unsafe libav.av_seek_frame(context, -1, position, AVSEEK_FLAG_BYTE) >= 0
    else { return false }
    (gate, packetCount) = (TimeGate(), 0)
    return true
  }

  /// Nanoseconds after which a stream's clock begins again; `nil` if it does not.
  private func turn(of stream: UnsafeMutablePointer<AVStream>) -> Int128? {
    let bits = unsafe stream.pointee.pts_wrap_bits
    guard (1..<60).contains(bits) else { return nil }
    return unsafe wideNanoseconds(1 << Int64(bits), of: stream.pointee.time_base)
  }

  /// Whether the packets of a stream have times; covers and fonts have none.
  private func isTimed(_ stream: UnsafeMutablePointer<AVStream>) -> Bool {
    unsafe isPictures(stream) || isSound(stream)
  }

  /// Gives a packet the times that the gate made of its own.
  private mutating func passTimes(of packet: UnsafeMutablePointer<AVPacket>) {
    let number = unsafe Int(packet.pointee.stream_index)
    guard let stream = unsafe context.pointee.streams[number] else { return }
    let isTimed = unsafe isTimed(stream)
    let base = unsafe stream.pointee.time_base
    let (pts, dts) = unsafe (packet.pointee.pts, packet.pointee.dts)
    let none = SPROCKET_AV_NOPTS_VALUE
    // Pictures that are shown in another order than they are decoded go back and forth.
    let isOrdered = unsafe stream.pointee.codecpar.pointee.video_delay == 0
    let own = dts != none ? dts : isOrdered ? pts : none
    guard isTimed, own != none else {
      let offset = gate.offset(ofStream: number)
      if pts != none { unsafe packet.pointee.pts = moved(pts, by: offset, base) }
      if dts != none { unsafe packet.pointee.dts = moved(dts, by: offset, base) }
      return
    }
    let came = wideNanoseconds(own, of: base)
    let length = unsafe nanoseconds(max(0, packet.pointee.duration), of: base)
    let ahead = pts == none ? 0 : wideNanoseconds(pts, of: base) - came
    let isFar = abs(ahead) > Int128(TimeGate.longestGap)
    let passed = unsafe gate.pass(
      came, length: max(0, length), stream: number, turn: turn(of: stream),
      ahead: isFar ? 0 : Int64(ahead))
    guard Int128(passed.time) != came || isFar else { return }
    // Keeps the presentation time. Behind a jump in Matroska, libavformat sets the decode time to it, so that
    // decode times go back.
    let isKept = passed.verdict != .repaired || isOrdered
    let time = rescaled(passed.time, AVRational(num: 1, den: 1_000_000_000), to: base)
    if dts != none { unsafe packet.pointee.dts = time }
    guard pts != none else { return }
    unsafe packet.pointee.pts =
      isFar ? time : moved(pts, by: isKept ? Int128(passed.time) - came : passed.offset, base)
  }

  /// Adds `offset` to a time, and limits the sum to `TimeGate.limit`.
  private func moved(_ ticks: Int64, by offset: Int128, _ base: AVRational) -> Int64 {
    let own = wideNanoseconds(ticks, of: base)
    let time = TimeGate.bounded(own + offset)
    if Int128(time) == own { return ticks }
    return rescaled(time, AVRational(num: 1, den: 1_000_000_000), to: base)
  }
}

/// Whether a stream is moving pictures; a cover is not.
func isPictures(_ stream: UnsafeMutablePointer<AVStream>) -> Bool {
  unsafe stream.pointee.codecpar.pointee.codec_type == AVMEDIA_TYPE_VIDEO
    && stream.pointee.disposition & AV_DISPOSITION_ATTACHED_PIC == 0
}

func isSound(_ stream: UnsafeMutablePointer<AVStream>) -> Bool {
  unsafe stream.pointee.codecpar.pointee.codec_type == AVMEDIA_TYPE_AUDIO
}
