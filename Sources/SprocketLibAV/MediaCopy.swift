internal import CSprocketLibAV
internal import SprocketTimes

/// What a file holds, found by reading all of it without decoding.
public struct MediaContents: Sendable {
  public struct Track: Sendable {
    /// The number of the stream in its file, as ffprobe counts.
    public var index: Int
    public enum Kind: String, Sendable {
      case video, audio
      /// A ``TextTrack``.
      case reports
    }
    public var kind: Kind
    var isVideo: Bool { kind == .video }
    /// The codec's short name: "h264"; of one that is not known, what the file calls it.
    public var codec: String
    /// Whether there is a decoder for it.
    public var isReadable = true
    /// In pixels; 0 for sound.
    public var (width, height): (Int, Int)
    /// How the pixels of decoded pictures lie, by FFmpeg's name, such as `yuv420p10le`; `nil` for sound, and
    /// where nothing says it.
    public var pixelFormat: String?
    /// Of pictures, what makes them upright, as EXIF numbers it; `nil` for turns by other angles.
    public var orientation: Int? = 1
    /// Of sound, in Hz, and its channels; 0 for pictures.
    public var (rate, channels): (Int, Int)
    public var packets: UInt64 = 0
    /// Pictures that refer to no other.
    public var keys: UInt64 = 0
    public var bytes: UInt64 = 0
    /// When the first is shown or heard, and when the last ends, nanoseconds; `nil` where nothing came.
    public var start: Int64?
    public var end: Int64?
    /// Places where the next packet comes later than the last one lasts, and time that is missing there,
    /// nanoseconds. Of pictures half a frame more is no gap.
    public var gaps: UInt64 = 0
    public var missing: Int64 = 0
    /// Start and end of the latest packet in presentation order, nanoseconds. They are equal if the file does
    /// not give its duration.
    var lastStart: Int64 = 0
    var lastEnd: Int64?
    /// The latest pictures, in the order in which they are shown.
    var waiting: [(shown: Int64, length: Int64)] = []
    /// Of pictures, how long one usually lasts, nanoseconds; 0 where nothing says it.
    var usual: Int64 = 0
    /// Whether `usual` was compared with the first pictures' times.
    var isMeasured = false
    /// Of pictures that are copied: when the last is shown, and whether no more belong to the copy.
    var newest: Int64?
    var isOver = false
  }

  /// The container, by libavformat's name.
  public var container: String
  public var tracks: [Track]
  /// Parts of the file that are neither decoded nor copied: subtitles, chapters, data, covers, files.
  public var others: [String] = []
  /// Whether the packets have times.
  public var hasTimes: Bool { !InputFormats.isUntimed(container) }
  /// Why reading ended before the file's end; `nil` if it did not.
  public var failure: MediaError?
  /// Number of bytes missing at the end of a truncated file; 0 if it is complete or cannot tell.
  public var missingByteCount: Int64 = 0
  /// What was left out, and what the file's clock did: sentences for a user.
  public var notes: [String] = []
  /// Whether a copy has something of the time at which it was to begin, or later.
  public var reachesStart = false
}

/// Times of a stream of a copy.
struct CopiedTimes {
  var table: SampleTable
  var clock = LibraryClock()
  /// Its samples have no times of their own: a hole is closed.
  let isPCM: Bool
  /// Duration of the last packet, in ticks.
  var length: Int64 = 0
}

/// Reads a media file packet by packet, and writes the packets into another one, as they are.
@safe
public struct MediaCopy: ~Copyable {
  var media: OpenedMedia
  let packet: Owned<AVPacket>
  private let path: String
  private let isInterrupted: @Sendable () -> Bool
  /// Times of the packets of each stream, for a copy into MOV or MP4. The key is the number of the stream in
  /// the copy.
  var times: [Int: CopiedTimes] = [:]
  /// When the last packet of each stream of a copy into MKV is decoded, in its ticks.
  var decodes: [Int: Int64] = [:]
  /// By stream: when the first packet is shown, of those that do not say when they are decoded, and how many
  /// came.
  var undecoded: [Int: (first: Int64, count: Int64)] = [:]
  /// What was read by now.
  public var contents: MediaContents

  /// Opens a file of pictures or sound.
  public init(
    _ path: String, isInterrupted: @escaping @Sendable () -> Bool = { false }
  ) throws(MediaError) {
    let media = try OpenedMedia(path, .any, isInterrupted: isInterrupted)
    guard let packet = unsafe Owned(libav.av_packet_alloc(), free: libav.av_packet_free) else {
      throw media.failure(.outOfMemory, "av_packet_alloc", 0)
    }
    let context = unsafe media.context
    let container = unsafe String(cString: context.pointee.iformat.pointee.name)
    var tracks: [MediaContents.Track] = []
    var others: [String] = []
    let chapters = unsafe context.pointee.nb_chapters
    for index in unsafe 0..<Int(context.pointee.nb_streams) {
      guard let stream = unsafe context.pointee.streams[index] else { continue }
      if var track = unsafe MediaContents.Track(stream) {
        // Their pictures last as long as they say.
        if InputFormats.isAnimation(container) { track.usual = 0 }
        tracks.append(track)
      } else if unsafe chapters == 0 || !Self.isChapters(stream) {
        others.append(unsafe MediaContents.nameOfOther(stream))
      }
    }
    if chapters > 0 { others.append(chapters == 1 ? "a chapter" : "\(chapters) chapters") }
    guard !tracks.isEmpty else { throw media.failure(.noVideo, "avformat_find_stream_info", 0) }
    contents = MediaContents(container: container, tracks: tracks)
    contents.others = others
    contents.missingByteCount = media.missingByteCount()
    unsafe self.packet = unsafe packet
    self.media = media
    (self.path, self.isInterrupted) = (path, isInterrupted)
  }

  /// Returns true for QuickTime's chapters, which are a track of data called "text".
  private static func isChapters(_ stream: UnsafeMutablePointer<AVStream>) -> Bool {
    unsafe stream.pointee.codecpar.pointee.codec_type == AVMEDIA_TYPE_DATA
      && stream.pointee.codecpar.pointee.codec_tag == 0x7478_6574
  }

  /// Goes back to the beginning.
  mutating func reopen() throws(MediaError) {
    media = try OpenedMedia(path, .any, isInterrupted: isInterrupted)
  }

  /// Reads to the end, or to what cannot be read; `contents` has then all that is there.
  public mutating func scan() {
    do throws(MediaError) {
      while unsafe try media.read(into: packet.pointer) {
        if let fault = unsafe media.encryption(packet.pointer) { note(fault) }
        // What an edit list leaves out is not shown.
        if unsafe packet.pointer.pointee.flags & AV_PKT_FLAG_DISCARD == 0 {
          unsafe note(packet.pointer)
        }
        unsafe libav.av_packet_unref(packet.pointer)
      }
    } catch {
      contents.failure = error
    }
    for place in contents.tracks.indices { contents.tracks[place].finish() }
    contents.notes += media.timeNotes
  }

  /// Notes once what concerns a whole stream.
  private mutating func note(_ fault: MediaError) {
    let text = "\(fault)"
    if !contents.notes.contains(text) { contents.notes.append(text) }
  }

  /// Copies pictures, sound and reports from the key frame at or before `from` until `end` (nanoseconds from
  /// the first picture, as readers of pictures count), into a plain file that begins with that picture. What
  /// cannot be read ends the copy, and `contents.failure` says why.
  ///
  /// The corresponding C function is `av_interleaved_write_frame`.
  public mutating func copy(
    into container: MovieContainer, from: Int64 = 0, until end: Int64 = .max,
    output: any MuxerOutput
  ) throws(MuxerError) {
    let bridge = MuxerBridge(output)
    let handle = try MuxerHandle(container.muxerName, bridge)
    let streams = try addStreams(to: handle, container)
    try handle.writeHeader([], container.copyOptions)
    if container.isQuickTime { unsafe prepareTimes(handle.context) }
    var (zero, start) = begin(from: from, until: end)
    let asked = zero.clampedSum(from)
    let last = end == .max ? end : zero.clampedSum(end)
    while contents.failure == nil {
      do throws(MediaError) {
        guard unsafe try media.read(into: packet.pointer) else { break }
      } catch {
        contents.failure = error
        break
      }
      defer { unsafe libav.av_packet_unref(packet.pointer) }
      // The pictures that an edit list shows need the hidden key frame before them.
      if from == 0, unsafe isHiddenKey(packet.pointer), !contents.reachesStart,
        let times = unsafe times(of: packet.pointer)
      {
        start = min(start, times.shown)
      }
      unsafe packet.pointer.pointee.flags &= ~AV_PKT_FLAG_DISCARD
      guard unsafe belongs(packet.pointer, from: start, until: last),
        let target = streams[unsafe Int(packet.pointer.pointee.stream_index)]
      else { continue }
      if let fault = unsafe media.encryption(packet.pointer) {
        contents.failure = fault
        break
      }
      unsafe note(packet.pointer)
      let isLate = unsafe times(of: packet.pointer).map { $0.shown >= asked } ?? false
      contents.reachesStart = contents.reachesStart || isLate
      do throws(MuxerError) {
        unsafe try write(packet.pointer, to: target, handle, from: start)
      } catch {
        throw bridge.hasFailed ? .output : error
      }
      if bridge.hasFailed { throw .output }
    }
    for place in contents.tracks.indices {
      contents.tracks[place].finish()
      contents.tracks[place].begin(at: start)
    }
    noteChanges()
    try Self.end(handle, bridge, container, times)
  }

  /// Writes the index of a file whose packets have these times.
  static func end(
    _ handle: borrowing MuxerHandle, _ bridge: MuxerBridge, _ container: MovieContainer,
    _ times: [Int: CopiedTimes]
  ) throws(MuxerError) {
    guard bridge.gatherAll() else { throw .output }
    let status = unsafe libav.av_write_trailer(handle.context)
    unsafe libav.avio_flush(handle.context.pointee.pb)
    if container.isQuickTime {
      bridge.changeGathered { MovieIndex.describe(text: TextTrack.type, in: retimed($0, times)) }
    }
    guard bridge.flush() else { throw .output }
    guard status >= 0 else { throw .refused(operation: "av_write_trailer", status: status) }
  }

  /// Says how the copy differs from the file.
  private mutating func noteChanges() {
    contents.notes += media.timeNotes
    if !contents.others.isEmpty {
      contents.notes.append("left out: \(contents.others.joined(separator: ", "))")
    }
    if !contents.hasTimes, let track = contents.tracks.first(where: \.isVideo),
      let start = track.start, let end = track.end, end > start
    {
      let rate = Double(track.packets) * 1e9 / Double(end.clampedDifference(start))
      contents.notes.append("it has no times: \(Int64(rate.rounded())) frames/s are assumed")
    }
  }

  /// A table for each stream of a copy.
  mutating func prepareTimes(_ copy: UnsafeMutablePointer<AVFormatContext>) {
    for number in unsafe 0..<Int(copy.pointee.nb_streams) {
      guard let stream = unsafe copy.pointee.streams[number],
        case let base = unsafe stream.pointee.time_base, base.num == 1
      else { continue }
      // The library counts samples of sound that have a size each, whatever their times are.
      let isPCM =
        unsafe libav.av_get_exact_bits_per_sample(stream.pointee.codecpar.pointee.codec_id) > 0
        && stream.pointee.codecpar.pointee.codec_type == AVMEDIA_TYPE_AUDIO
      times[number] = CopiedTimes(table: SampleTable(ticksPerSecond: base.den), isPCM: isPCM)
    }
  }

  /// The time from which `from` and `end` count, and that of the first packet that is copied; the file is set
  /// there. All of a file begins with whatever comes first in it.
  private mutating func begin(from: Int64, until end: Int64) -> (zero: Int64, start: Int64) {
    let said = unsafe media.context.pointee.start_time
    let time =
      said == SPROCKET_AV_NOPTS_VALUE
      ? 0 : nanoseconds(said, of: AVRational(num: 1, den: 1_000_000))
    // Such a file begins at 0, see ``TimeGate``.
    let first = abs(max(time, -.max)) > TimeGate.latestStart ? 0 : time
    guard from > 0 || end < .max else { return (first, first) }
    let zero = firstPicture() ?? first
    guard from > 0 else { return (zero, first) }
    let asked = zero.clampedSum(from)
    let isMovie = contents.tracks.contains(where: \.isVideo)
    return (zero, seekKey(before: asked, from: zero) ?? (isMovie ? zero : asked))
  }

  /// The index that the library wrote, with the times that it could not be handed.
  private static func retimed(_ index: [UInt8], _ times: [Int: CopiedTimes]) -> [UInt8] {
    guard times.values.contains(where: \.clock.isShifted) else { return index }
    let count = (times.keys.max() ?? -1) + 1
    let tables = (0..<count).map { number -> SampleTable? in
      guard let times = times[number], !times.isPCM else { return nil }
      var table = times.table
      table.close(nominal: times.length > 0 ? UInt64(times.length) : nil)
      return table
    }
    return MovieIndex.retime(index, tables: tables)
  }
}
