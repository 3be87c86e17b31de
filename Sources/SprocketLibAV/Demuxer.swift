internal import CSprocketLibAV
internal import SprocketTimes

/// An open media file and one stream of it.
@safe
struct Demuxer: ~Copyable {
  private var media: OpenedMedia
  private(set) var stream: UnsafeMutablePointer<AVStream>
  private let wanted: Media
  private let isInterrupted: @Sendable () -> Bool

  /// What is wanted of a file: its pictures or its sound, the best or those of a stream.
  enum Media: Equatable {
    case video(stream: Int?)
    case sound(stream: Int?)

    var isVideo: Bool { if case .video = self { true } else { false } }
  }

  /// Opens a file and finds its video or sound. Nothing but that file is opened, whatever it says. For
  /// `readsAhead` see ``OpenedMedia``.
  ///
  /// The corresponding C functions are `avformat_open_input` and `avformat_find_stream_info`.
  init(
    _ path: String, _ wanted: Media = .video(stream: nil), readsAhead: Bool = true,
    isInterrupted: @escaping @Sendable () -> Bool = { false }
  ) throws(MediaError) {
    let file = try Self.open(path, wanted, readsAhead: readsAhead, isInterrupted)
    unsafe stream = unsafe try Self.find(wanted, in: file)
    media = file
    (self.wanted, self.isInterrupted) = (wanted, isInterrupted)
  }

  private static func open(
    _ path: String, _ wanted: Media, readsAhead: Bool = true,
    _ isInterrupted: @escaping @Sendable () -> Bool
  ) throws(MediaError) -> OpenedMedia {
    try OpenedMedia(
      path, wanted.isVideo ? .pictures : .sound, limit: MediaLimits.allocation,
      readsAhead: readsAhead, isInterrupted: isInterrupted)
  }

  private static func find(
    _ wanted: Media, in file: borrowing OpenedMedia
  ) throws(MediaError) -> UnsafeMutablePointer<AVStream> {
    let (index, missing) = unsafe choose(wanted, in: file.context)
    guard index >= 0, let stream = unsafe file.context.pointee.streams[index] else {
      throw file.failure(missing, "avformat_find_stream_info", 0)
    }
    // Pictures and sound share one clock, so the packets of both are read. An index that has all times of a
    // stream, as steps forward (MOV, MP4) or as counts (AVI), makes the other streams unnecessary.
    let name = unsafe String(cString: file.context.pointee.iformat.pointee.name)
    let isIndexed =
      unsafe (name.hasPrefix("mov,") || name == "avi") && stream.pointee.nb_frames > 0
    let all = unsafe streams(of: file.context)
    for place in unsafe all.indices {
      let other = unsafe all[place]
      let isNeeded = unsafe isPictures(other) || isSound(other)
      if unsafe other != stream && (isIndexed || !isNeeded) {
        unsafe other.pointee.discard = AVDISCARD_ALL
      }
    }
    return unsafe stream
  }

  private static func streams(
    of opened: UnsafeMutablePointer<AVFormatContext>
  ) -> [UnsafeMutablePointer<AVStream>] {
    unsafe (0..<Int(opened.pointee.nb_streams)).compactMap { unsafe opened.pointee.streams[$0] }
  }

  /// The stream's number, below 0 if it is not there, and the error that this is. What can be decoded comes
  /// before what cannot, then what is marked as default, then the largest pictures, or most channels, then
  /// the first.
  ///
  /// The corresponding C function is `avcodec_find_decoder`.
  static func choose(
    _ wanted: Media, in opened: UnsafeMutablePointer<AVFormatContext>
  ) -> (index: Int, missing: MediaError.Code) {
    let all = unsafe streams(of: opened)
    let known = unsafe all.filter { stream in
      unsafe wanted.isVideo ? isPictures(stream) : isSound(stream)
    }
    let numbers = unsafe known.map { unsafe Int($0.pointee.index) }
    switch wanted {
    case .video(let asked?):
      return (numbers.contains(asked) ? asked : -1, .noVideoThere(asked, known: numbers))
    case .sound(let asked?):
      return (numbers.contains(asked) ? asked : -1, .noSoundThere(asked, known: numbers))
    default: break
    }
    var best: (index: Int, rank: (Int, Int, Int))?
    for place in unsafe known.indices {
      let stream = unsafe known[place]
      let parameters = unsafe stream.pointee.codecpar.pointee
      let size =
        unsafe wanted.isVideo
        ? Int(parameters.width) * Int(parameters.height) : Int(parameters.ch_layout.nb_channels)
      let rank = unsafe (
        libav.avcodec_find_decoder(parameters.codec_id) == nil ? 0 : 1,
        stream.pointee.disposition & AV_DISPOSITION_DEFAULT == 0 ? 0 : 1, size
      )
      if best.map({ $0.rank < rank }) ?? true {
        best = unsafe (Int(stream.pointee.index), rank)
      }
    }
    return (best?.index ?? -1, wanted.isVideo ? .noVideo : .noSound)
  }

  /// The numbers of the streams that are pictures, but for covers, or sound.
  private func numbers(where isWanted: (UnsafeMutablePointer<AVStream>) -> Bool) -> [Int] {
    unsafe Self.streams(of: context).filter { unsafe isWanted($0) }.map {
      unsafe Int($0.pointee.index)
    }
  }

  private var context: UnsafeMutablePointer<AVFormatContext> { unsafe media.context }

  /// The file.
  var path: String { media.path }
  /// Bytes of the file, when it was opened.
  var byteCount: Int64 { media.byteCount }
  var isStream: Bool { media.isStream }
  /// See ``OpenedMedia``.
  var hasReadAhead: Bool { media.hasReadAhead }
  func missingByteCount() -> Int64 { media.missingByteCount() }
  /// Throws if a stop was requested.
  func checkInterruption() throws(MediaError) { try media.checkInterruption() }

  /// The stream's first time as its beginning has it; 0 where that is not known, or is none.
  var startNanoseconds: Int64 {
    let start = unsafe stream.pointee.start_time
    guard start != SPROCKET_AV_NOPTS_VALUE else { return 0 }
    let time = unsafe wideNanoseconds(start, of: stream.pointee.time_base)
    return abs(time) <= Int128(TimeGate.latestStart) ? Int64(time) : 0
  }

  /// Reads the stream's next packet; returns whether there was one before the end.
  mutating func read(into packet: UnsafeMutablePointer<AVPacket>) throws(MediaError) -> Bool {
    while unsafe try media.read(into: packet) {
      if unsafe packet.pointee.stream_index == stream.pointee.index {
        guard let fault = unsafe media.encryption(packet) else { return true }
        unsafe libav.av_packet_unref(packet)
        throw fault
      }
      unsafe libav.av_packet_unref(packet)
    }
    return false
  }

  /// Goes to the last key frame at or before a time; returns whether the file could. Where times do not say
  /// where something is, all before it is read.
  mutating func seek(toNanoseconds time: Int64) -> Bool {
    guard media.isOrderedByTime else { return (try? skip(toNanoseconds: time)) ?? false }
    let ticks = unsafe rescaled(
      time, AVRational(num: 1, den: 1_000_000_000), to: stream.pointee.time_base)
    return unsafe media.seek(stream.pointee.index, ticks: ticks)
  }

  /// Reads to the last key frame at or before a time, from the file's beginning: once to find it, and once to
  /// be there.
  private mutating func skip(toNanoseconds time: Int64) throws(MediaError) -> Bool {
    guard !isStream, let packet = unsafe Owned(libav.av_packet_alloc(), free: libav.av_packet_free)
    else { return false }
    var (count, keys) = (0, 0)
    try reopen()
    while unsafe try read(into: packet.pointer) {
      defer {
        unsafe libav.av_packet_unref(packet.pointer)
        count += 1
      }
      guard let shown = unsafe self.time(of: packet.pointer) else { continue }
      // Pictures that are shown earlier may be decoded later.
      if shown > time.clampedSum(1_000_000_000) { break }
      if shown <= time, unsafe packet.pointer.pointee.flags & AV_PKT_FLAG_KEY != 0 { keys = count }
    }
    try reopen()
    for _ in 0..<keys {
      guard unsafe try read(into: packet.pointer) else { return false }
      unsafe libav.av_packet_unref(packet.pointer)
    }
    return true
  }

  /// A way to find a packet.
  enum Way { case time, position }

  /// Goes near a packet by what was read of it; false if the file cannot. Where that led to is not known.
  mutating func seek(_ way: Way, pts: Int64, dts: Int64, position: Int64) -> Bool {
    switch way {
    case .time:
      let usesPTS = unsafe context.pointee.iformat.pointee.flags & AVFMT_SEEK_TO_PTS != 0
      let ticks = usesPTS && pts != SPROCKET_AV_NOPTS_VALUE ? pts : dts
      guard media.isOrderedByTime, ticks != SPROCKET_AV_NOPTS_VALUE else { return false }
      return unsafe media.seek(stream.pointee.index, ticks: ticks)
    case .position:
      return position >= 0 && media.seek(toByte: position)
    }
  }

  /// Times of the packet that was read last, as the file has them, in ticks.
  var ownPTS: Int64 { media.ownTimes.pts }
  var ownDTS: Int64 { media.ownTimes.dts }

  /// Opens the file again: what is read next is at its start.
  mutating func reopen() throws(MediaError) {
    let file = try Self.open(path, wanted, isInterrupted)
    unsafe stream = unsafe try Self.find(wanted, in: file)
    media = file
  }

  /// The numbers of the streams that are sound.
  var soundStreams: [Int] { unsafe numbers(where: isSound) }
  /// The numbers of the streams that are pictures.
  var videoStreams: [Int] { unsafe numbers(where: isPictures) }
  /// What the file's clock did, for a user.
  var timeNotes: [String] { media.timeNotes }

  /// Whether the file says where its packets are; else a place is guessed, or read up to.
  var hasIndex: Bool { unsafe context.pointee.iformat.pointee.flags & AVFMT_GENERIC_INDEX == 0 }

  var isAnimation: Bool {
    InputFormats.isAnimation(unsafe String(cString: context.pointee.iformat.pointee.name))
  }

  /// What the file says of itself, but for how it is stored.
  var tags: [String: String] { unsafe Self.tags(of: context) }

  /// What an open file says of itself, but for how it is stored.
  ///
  /// The corresponding C function is `av_dict_get`.
  static func tags(of context: UnsafeMutablePointer<AVFormatContext>) -> [String: String] {
    var tags: [String: String] = [:]
    var entry: UnsafeMutablePointer<AVDictionaryEntry>?
    while true {
      unsafe entry = unsafe libav.av_dict_get(
        context.pointee.metadata, "", entry, AV_DICT_IGNORE_SUFFIX)
      guard let found = unsafe entry else { break }
      let (key, value) = unsafe (
        String(cString: found.pointee.key), String(cString: found.pointee.value)
      )
      // Long values are data of programs, and a movie's header with them exceeds the buffer that holds it.
      if !ownTags.contains(key.lowercased()), tags.count < 64, value.utf8.count <= 512 {
        tags[key] = key.lowercased() == "comment" ? withoutOwnWords(value) : value
      }
    }
    return tags
  }

  /// A comment without what a WAV of ours says in it of its first sample.
  private static func withoutOwnWords(_ comment: String) -> String {
    comment.split(separator: " ", omittingEmptySubsequences: false)
      .filter { !$0.hasPrefix("captured_ns=") && !$0.hasPrefix("captured_clock=") }
      .joined(separator: " ")
  }

  /// What a muxer writes itself, and what our movies say of their first frame.
  private static let ownTags: Set<String> = [
    "major_brand", "minor_version", "compatible_brands", "encoder", "duration", "captured_ns",
    "captured_clock", "timecode",
  ]

  /// Whether the file has times.
  var hasTimes: Bool {
    let names = unsafe String(cString: context.pointee.iformat.pointee.name)
    return !InputFormats.isUntimed(names)
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

/// Returns the value of a stream's tag; `nil` if the stream has no such tag.
///
/// The corresponding C function is `av_dict_get`.
func tag(_ name: String, of stream: UnsafeMutablePointer<AVStream>) -> String? {
  unsafe libav.av_dict_get(stream.pointee.metadata, name, nil, 0).map {
    unsafe String(cString: $0.pointee.value)
  }
}
