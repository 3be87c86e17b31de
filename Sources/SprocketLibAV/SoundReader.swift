internal import CSprocketLibAV

/// What is known of a file's sound.
public struct SoundInfo: Sendable {
  /// The number of the stream in its file, as ffprobe counts.
  public let streamIndex: Int
  /// The numbers of all streams that are sound.
  public let streams: [Int]
  /// The codec's short name: "aac", "pcm_s16le".
  public let codecName: String
  /// Of what ``SoundReader`` gives: it holds the decoded samples exactly, but for doubles and 64 bits, which
  /// become `f32`. Any rate and count of channels above 0.
  public let format: PCMFormat
  /// As the file's header says; `nil` if unknown.
  public let durationNanoseconds: Int64?
  /// Tags of the file, as ``MediaInfo/tags``.
  public let tags: [String: String]
  /// Number of bytes missing at the end of a truncated file; 0 if it is complete or cannot tell.
  public let missingByteCount: Int64
}

/// Samples that follow each other in a file.
public struct SoundBlock: Equatable, Sendable {
  /// At least one.
  public var count: Int
  /// When the first was heard, on the file's clock: that of ``LentMedia/timeNanoseconds`` of its pictures.
  public var timeNanoseconds: Int64
  /// Samples that are missing just before: those of packets that were lost or could not be decoded.
  public var missing: UInt64
  /// Time does not go on from the samples before: it goes back, or on after more than an hour.
  public var isRestarted: Bool
}

/// Reads and decodes one stream of a file's sound, of any kind that libavcodec decodes.
///
/// Samples that encoders put before and behind the sound are left out, and edit lists applied, as libavformat
/// and libavcodec do by themselves. A damaged packet is left out; if the file has times, the samples that it
/// had are missing then.
///
/// For one thread at a time. Nothing is printed on standard error.
///
/// Cost: this module allocates nothing per block; libavformat and libavcodec do.
@safe
public struct SoundReader: ~Copyable {
  private var demuxer: Demuxer
  private var decoder: Decoder
  private let packet: Owned<AVPacket>
  private let frame: Owned<AVFrame>
  private let conversion: SoundConversion
  private var clock: SoundClock
  /// Where the frame's samples are, how many it has, and how many were taken.
  private var place = SoundClock.Place(time: 0)
  private var count = 0
  private var taken = 0
  /// Thrown when the decoder has been drained.
  private var failure: MediaError?

  /// Packets that could not be decoded, or only in part.
  public private(set) var damagedPackets: UInt64 = 0
  public let info: SoundInfo

  /// Opens a file, and decodes its first samples. `stream` is a number as ffprobe counts, `nil` for the best.
  /// When `isInterrupted` says so, this and all else throws ``MediaError/Code/interrupted`` at the next
  /// opportunity.
  public init(
    path: String, stream: Int? = nil, isInterrupted: @escaping @Sendable () -> Bool = { false }
  ) throws(MediaError) {
    var demuxer = try Demuxer(path, .sound(stream: stream), isInterrupted: isInterrupted)
    var decoder = unsafe try Self.makeDecoder(demuxer.stream, path)
    guard let packet = unsafe Owned(libav.av_packet_alloc(), free: libav.av_packet_free),
      let frame = unsafe Owned(libav.av_frame_alloc(), free: libav.av_frame_free)
    else {
      throw MediaError(code: .outOfMemory, operation: "av_frame_alloc", status: 0, path: path)
    }
    var damaged: UInt64 = 0
    var failure: MediaError?
    let isDecoded = unsafe try Self.decode(
      &demuxer, &decoder, packet.pointer, frame.pointer, &damaged, &failure)
    guard isDecoded,
      let conversion = unsafe SoundConversion(frame.pointer, bits: decoder.soundBits)
    else {
      throw failure ?? MediaError(code: .noSamples, operation: "", status: 0, path: path)
    }
    let stream = unsafe demuxer.stream.pointee
    var format = conversion.format
    format.speakers = unsafe speakers(frame.pointer.pointee.ch_layout)
    var tags = demuxer.tags
    if let language = unsafe tag("language", of: demuxer.stream), language != "und" {
      tags["language"] = language
    }
    info = SoundInfo(
      streamIndex: unsafe Int(stream.index), streams: demuxer.soundStreams,
      codecName: unsafe String(cString: libav.avcodec_get_name(stream.codecpar.pointee.codec_id)!),
      format: format, durationNanoseconds: demuxer.durationNanoseconds, tags: tags,
      missingByteCount: demuxer.missingByteCount())
    clock = SoundClock(
      rate: Int32(conversion.format.rate), tick: unsafe nanoseconds(1, of: stream.time_base))
    self.conversion = conversion
    self.failure = failure
    damagedPackets = damaged
    self.demuxer = demuxer
    self.decoder = decoder
    unsafe self.packet = unsafe packet
    unsafe self.frame = unsafe frame
    begin()
  }

  private static func makeDecoder(
    _ stream: UnsafeMutablePointer<AVStream>, _ path: String
  ) throws(MediaError) -> Decoder {
    do throws(MediaError) {
      return unsafe try Decoder(stream, threadCount: 1, path: path)
    } catch {
      guard error.code == .unsupportedCodec else { throw error }
      throw MediaError(
        code: .unsupportedSound, operation: error.operation, status: error.status, path: path)
    }
  }

  /// What the file's clock did, as ``MediaReader/timeNotes``.
  public var timeNotes: [String] { demuxer.timeNotes }

  /// Goes to a second before a time on the file's clock, or before that. False where the file cannot do that:
  /// what comes next is then anywhere.
  public mutating func seek(toNanoseconds time: Int64) -> Bool {
    // What decoders need of the sound before: two blocks of AAC, ten of MP3, 80 ms of Opus.
    let early = time.clampedDifference(1_000_000_000)
    guard demuxer.hasIndex, demuxer.seek(toNanoseconds: early) else {
      return false
    }
    decoder.flush()
    clock = SoundClock(rate: clock.rate, tick: clock.tick)
    (count, taken, failure) = (0, 0, nil)
    return true
  }

  /// The samples that come next, at most `limit` of them; `take` takes them. `nil` at the end. A file that
  /// cannot be read any further throws, after the samples before have come; ask no more after that.
  public mutating func next(atMost limit: Int) throws(MediaError) -> SoundBlock? {
    while taken == count {
      guard
        unsafe try Self.decode(
          &demuxer, &decoder, packet.pointer, frame.pointer, &damagedPackets, &failure)
      else {
        if let failure { throw failure }
        return nil
      }
      guard unsafe SoundConversion(frame.pointer, bits: decoder.soundBits) == conversion else {
        let seconds = Int(place.time / 1_000_000_000)
        throw MediaError(
          code: .changedSound(seconds: seconds), operation: "", status: 0, path: demuxer.path)
      }
      begin()
    }
    let isFirst = taken == 0
    let later = nanoseconds(
      Int64(taken), of: AVRational(num: 1, den: Int32(info.format.rate)))
    return SoundBlock(
      count: min(limit, count - taken), timeNanoseconds: place.time.clampedSum(later),
      missing: isFirst ? place.missing : 0, isRestarted: isFirst && place.isRestarted)
  }

  /// Takes the first `samples` of those that come next; `bytes` has room for them.
  public mutating func take(_ samples: Int, into bytes: inout MutableSpan<UInt8>) {
    unsafe conversion.store(frame.pointer, taken..<taken + samples, into: &bytes)
    leave(samples)
  }

  /// Takes the first `samples` of those that come next, and gives them to nobody.
  public mutating func leave(_ samples: Int) {
    precondition(samples <= count - taken, "take at most what comes next")
    taken += samples
  }

  /// A frame was decoded: finds out where it belongs.
  private mutating func begin() {
    let ticks = unsafe frame.pointer.pointee.best_effort_timestamp
    let given =
      ticks == SPROCKET_AV_NOPTS_VALUE
      ? nil : unsafe nanoseconds(ticks, of: demuxer.stream.pointee.time_base)
    count = unsafe Int(frame.pointer.pointee.nb_samples)
    taken = 0
    place = clock.place(given: given, count: count)
  }

  /// Decodes the next frame that has samples; returns whether there was one before the end.
  private static func decode(
    _ demuxer: inout Demuxer, _ decoder: inout Decoder, _ packet: UnsafeMutablePointer<AVPacket>,
    _ frame: UnsafeMutablePointer<AVFrame>, _ damaged: inout UInt64, _ failure: inout MediaError?
  ) throws(MediaError) -> Bool {
    while true {
      try demuxer.checkInterruption()
      switch unsafe decoder.receive(into: frame) {
      case .frame:
        if unsafe frame.pointee.decode_error_flags != 0 { damaged += 1 }
        if unsafe frame.pointee.nb_samples > 0 { return true }
      case .corrupt: damaged += 1
      case .end: return false
      case .outOfMemory:
        throw MediaError(
          code: .outOfMemory, operation: "avcodec_receive_frame", status: -ENOMEM,
          path: demuxer.path)
      case .needsInput:
        var hasPacket = false
        do throws(MediaError) {
          hasPacket = unsafe try demuxer.read(into: packet)
        } catch { failure = error }
        defer { unsafe libav.av_packet_unref(packet) }
        if unsafe try !decoder.send(hasPacket ? packet : nil, place: 0, path: demuxer.path) {
          damaged += 1
        }
      }
    }
  }
}
