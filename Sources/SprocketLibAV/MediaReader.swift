internal import CSprocketLibAV
internal import SprocketPixels

/// What ``MediaReader/nextFrame()`` found.
public enum DecodedUnit: ~Copyable {
  case frame(DecodedFrame)
  /// A packet that could not be decoded: there is no picture, but there would have been one.
  case corrupt
  case end
}

/// Reads the video of a file, encoded or decoded.
///
/// One stream of pictures is taken, all others are left out. Motion-JPEG is read as packets with
/// ``nextPacket()``, for the bytes are the camera's own; all else as frames with ``nextFrame()``. Do not
/// mix the two in one reader.
///
/// What is lent (packets and frames) may outlive the reader, and may end on any thread; the reader itself
/// serves one thread at a time. Nothing is printed on standard error.
///
/// Cost: after a few frames this module allocates nothing; libavformat allocates for every packet, and
/// libavcodec reuses its frames.
public struct MediaReader: ~Copyable {
  var demuxer: Demuxer
  var decoder: Decoder?
  private var converter: Converter
  private(set) var clock: MediaClock
  /// Times are made of it, whatever the library makes up.
  let chosenRate: MediaRational?
  private let pool: LentPool
  /// What is read and decoded before it is lent.
  let scratch: LentShell
  let isInterrupted: @Sendable () -> Bool
  var place = ReadingPlace()
  private let threadCount: Int
  /// Bytes of a JPEG's start marker.
  static let startMarkerBytes: Int32 = 2
  /// Thrown when the decoder has been drained.
  private var failure: MediaError?

  /// What is known of the file before anything is decoded.
  public let info: MediaInfo
  /// A frame that was decoded is not opaque, or the file says that its frames are not.
  public private(set) var hasTransparency = false

  /// Opens a file. `stream` is a number as ffprobe counts; `nil` for the stream that is marked as default, or
  /// else the largest. `rate` is that of a stream without times, and 25 where it is `nil`. `threadCount` is
  /// the decoder's, 0 for as many as there are processors. When `isInterrupted` says so, this and all else
  /// throws ``MediaError/Code/interrupted`` at the next opportunity.
  ///
  /// If `readsAhead` is false, and the file's header tells what its pictures are (``hasReadAhead``), nothing
  /// is decoded to know them, and the reader has ``firstPicture()`` alone.
  public init(
    path: String, stream: Int? = nil, rate: MediaRational? = nil, threadCount: Int = 0,
    readsAhead: Bool = true, isInterrupted: @escaping @Sendable () -> Bool = { false }
  ) throws(MediaError) {
    let demuxer = try Demuxer(
      path, .video(stream: stream), readsAhead: readsAhead, isInterrupted: isInterrupted)
    let info = MediaInfo(demuxer)
    guard Int64(info.width) * Int64(info.height) <= MediaLimits.pixels else {
      throw MediaError(
        code: .tooLarge(width: info.width, height: info.height), operation: "", status: 0,
        path: path)
    }
    let pool = LentPool()
    guard let scratch = pool.lend() else {
      throw MediaError(code: .outOfMemory, operation: "av_frame_alloc", status: 0, path: path)
    }
    self.info = info
    chosenRate = info.hasTimes ? nil : rate
    clock = MediaClock(
      rate: chosenRate ?? info.frameRate, start: info.hasTimes ? demuxer.startNanoseconds : 0)
    // Alpha of VP8 and VP9 in WebM, which libavcodec does not decode.
    hasTransparency = unsafe tag("alpha_mode", of: demuxer.stream) == "1"
    self.demuxer = demuxer
    self.isInterrupted = isInterrupted
    self.pool = pool
    self.scratch = scratch
    self.threadCount = threadCount
    converter = Converter()
  }

  /// Goes to the last key frame at or before a time on the file's clock, as far as its index is right.
  /// False where the file cannot do that: what comes next is then anywhere.
  public mutating func seek(toNanoseconds time: Int64) -> Bool {
    guard chosenRate == nil, demuxer.seek(toNanoseconds: time) else { return false }
    decoder?.flush()
    clock = MediaClock(rate: info.frameRate)
    failure = nil
    return true
  }

  /// What the file's clock did, where its times are not those that come out of here: sentences for a user.
  public var timeNotes: [String] { demuxer.timeNotes }

  /// The file was read as far as its pictures are known.
  public var hasReadAhead: Bool { demuxer.hasReadAhead }

  /// Bytes of the file.
  public var byteCount: Int64 { demuxer.byteCount }

  /// It is a pipe, which is read once, from its start to its end.
  public var isStream: Bool { demuxer.isStream }

  /// The error for a pipe from which a file has to be read a second time.
  public var needsSeeking: MediaError {
    MediaError(code: .needsSeeking, operation: "seek", status: 0, path: demuxer.path)
  }

  /// The next packet, `nil` at the end. A file that cannot be read any further throws; ask no more
  /// after that.
  public mutating func nextPacket() throws(MediaError) -> EncodedPacket? {
    let shell = try lend()
    let packet = unsafe shell.packet
    if place.held.take() != nil {
      unsafe libav.av_packet_move_ref(packet, scratch.packet)
    } else {
      repeat {
        unsafe libav.av_packet_unref(packet)
        guard unsafe try readPacket(into: packet) else { return nil }
      } while unsafe isCut && packet.pointee.size == Self.startMarkerBytes
    }
    // Such a stream has no times but those that libavformat makes up of each piece.
    let time = unsafe clock.time(
      given: chosenRate == nil && !isCut ? demuxer.time(of: packet) : nil)
    unsafe shell.pointer.pointee.time = time.nanoseconds
    unsafe shell.pointer.pointee.isTimeMade = time.isMade
    unsafe shell.pointer.pointee.isKeyframe = unsafe packet.pointee.flags & AV_PKT_FLAG_KEY != 0
    unsafe shell.pointer.pointee.isCorrupt =
      unsafe packet.pointee.flags & AV_PKT_FLAG_CORRUPT != 0
    return EncodedPacket(shell, EncodedContent())
  }

  /// Opens the decoder; ``nextFrame()`` does so too, if this was not called.
  public mutating func prepareToDecode() throws(MediaError) {
    guard decoder == nil else { return }
    decoder = unsafe try Decoder(
      demuxer.stream, threadCount: threadCount, path: demuxer.path)
  }

  /// Decodes the packet of the last frame once more, after `change` to its bytes: the next page of a TIFF.
  /// ``nextFrame(unless:keepsPacket:)`` must have kept it.
  public mutating func decodeAgain(
    _ change: (inout MutableSpan<UInt8>) -> Void
  ) throws(MediaError) -> DecodedUnit {
    let packet = unsafe scratch.packet
    guard let data = unsafe packet.pointee.data, decoder != nil else { return .end }
    // The decoder of TIFF keeps what a page says, such as tiles.
    decoder = nil
    try prepareToDecode()
    var bytes = unsafe MutableSpan(_unsafeStart: data, count: Int(packet.pointee.size))
    change(&bytes)
    guard unsafe try decoder!.send(packet, place: 0, path: demuxer.path),
      unsafe decoder!.receive(into: scratch.frame) == .frame
    else { return .corrupt }
    return try decodedFrame()
  }

  /// The next frame, decoded. A file that cannot be read any further throws, after the frames before
  /// have come; ask no more after that. Packets that `isRefused` says so of are not decoded, but corrupt.
  /// `keepsPacket` is for ``decodeAgain(_:)``.
  public mutating func nextFrame(
    unless isRefused: (Span<UInt8>) -> Bool = { _ in false }, keepsPacket: Bool = false
  ) throws(MediaError) -> DecodedUnit {
    try prepareToDecode()
    while true {
      try demuxer.checkInterruption()
      switch unsafe decoder!.receive(into: scratch.frame) {
      case .frame: return try decodedFrame()
      case .corrupt:
        _ = clock.time(given: nil)
        return .corrupt
      case .end:
        if let failure { throw failure }
        return .end
      case .outOfMemory:
        throw MediaError(
          code: .outOfMemory, operation: "avcodec_receive_frame", status: -ENOMEM,
          path: demuxer.path)
      case .needsInput:
        guard try feed(unless: isRefused, keepsPacket: keepsPacket) else {
          _ = clock.time(given: nil)
          return .corrupt
        }
      }
    }
  }

  /// Hands the decoder the next packet, or the end; returns whether it took it.
  private mutating func feed(
    unless isRefused: (Span<UInt8>) -> Bool, keepsPacket: Bool
  ) throws(MediaError) -> Bool {
    var hasPacket = false
    let at = place.next
    unsafe libav.av_packet_unref(scratch.packet)
    do throws(MediaError) {
      hasPacket = unsafe try readPacket(into: scratch.packet)
    } catch { failure = error }
    let path = demuxer.path
    guard hasPacket else { return unsafe try decoder!.send(nil, place: 0, path: path) }
    let packet = unsafe scratch.packet
    let bytes = unsafe UnsafeBufferPointer(
      start: unsafe packet.pointee.data, count: Int(packet.pointee.size))
    defer { if !keepsPacket { unsafe libav.av_packet_unref(scratch.packet) } }
    if unsafe isRefused(Span(_unsafeElements: bytes)) { return false }
    return unsafe try decoder!.send(scratch.packet, place: at, path: path)
  }

  /// Lends what was just decoded.
  mutating func decodedFrame() throws(MediaError) -> DecodedUnit {
    let shell = try lend()
    let source = unsafe scratch.frame
    let ticks = unsafe source.pointee.best_effort_timestamp
    let time = clock.time(
      given: ticks == SPROCKET_AV_NOPTS_VALUE || chosenRate != nil
        ? nil : unsafe nanoseconds(ticks, of: demuxer.stream.pointee.time_base))
    unsafe shell.pointer.pointee.time = time.nanoseconds
    unsafe shell.pointer.pointee.isTimeMade = time.isMade
    unsafe shell.pointer.pointee.isKeyframe = unsafe source.pointee.key_frame != 0
    unsafe shell.pointer.pointee.isCorrupt =
      unsafe decoder!.takeComplaint() || source.pointee.decode_error_flags != 0
      || source.pointee.flags & AV_FRAME_FLAG_CORRUPT != 0
      || source.pointee.reordered_opaque & 1 != 0
    unsafe shell.pointer.pointee.place = unsafe Int(source.pointee.reordered_opaque >> 1)
    if !hasTransparency { hasTransparency = unsafe isTransparent(source) }
    guard let frame = unsafe converter.take(source, into: shell) else { return .corrupt }
    return .frame(frame)
  }

  private func lend() throws(MediaError) -> LentShell {
    guard let shell = pool.lend() else {
      throw MediaError(
        code: .outOfMemory, operation: "av_frame_alloc", status: 0, path: demuxer.path)
    }
    return shell
  }
}
