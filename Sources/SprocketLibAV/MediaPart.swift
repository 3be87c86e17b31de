internal import CSprocketLibAV
internal import SprocketPixels
internal import SprocketTimes

/// A part of a file of pictures, with the sound of that time: found by reading the file without decoding its
/// pictures.
public struct MediaPart: Sendable {
  /// How pictures are coded: files of the same coding can be one track.
  struct Coding: Equatable, Sendable {
    var codec: UInt32
    var size: [Int32]
    /// Pixel format, range, primaries, transfer, matrix.
    var words: [UInt32]
    var parameters: [UInt8]
    var display: MediaDisplay
  }

  public let path: String
  /// When each picture is shown, nanoseconds on the file's clock, in order; at least one.
  public let times: [Int64]
  /// When the last one ends.
  public let end: Int64
  /// When the file's first picture is shown that can be decoded, from which parts are counted.
  public let zero: Int64
  /// The number of the stream of pictures: the one that `MediaReader` takes.
  public let stream: Int
  /// The codec's short name: "h264".
  public let codec: String
  /// The sound that can be decoded; `nil` if there is none.
  public let sound: PCMFormat?
  public let soundCodec: String?
  /// What the file says of itself, as ``MediaInfo/tags``.
  public let tags: [String: String]
  /// What of the file is no part of it, as sentences.
  public let notes: [String]
  /// Why its packets cannot be one film with those of others; `nil` if they can. The first part of a film
  /// needs no key at which decoders begin anew.
  let obstacle: String?
  let restartsDecoders: Bool
  let coding: Coding

  /// When the first picture is shown.
  public var start: Int64 { times[0] }
  /// Nanoseconds from the first picture to the end of the last one.
  public var length: Int64 { end.clampedDifference(start) }

  /// Reads the pictures of a file from `from` to before `until`, nanoseconds from its first one. `nil` if
  /// there are none in that time; throws where the file has none at all. Cost: as reading the file from the
  /// disk up to `until`.
  public init?(
    _ path: String, from: Int64 = 0, until: Int64 = .max,
    isInterrupted: @escaping @Sendable () -> Bool = { false }
  ) throws(MediaError) {
    var copy = try MediaCopy(path, isInterrupted: isInterrupted)
    let index = unsafe Demuxer.choose(.video(stream: nil), in: copy.media.context).index
    guard let track = copy.contents.tracks.first(where: { $0.index == index }), track.isReadable,
      let found = unsafe copy.media.context.pointee.streams[index]
    else { throw copy.media.failure(.noVideo, "av_read_frame", 0) }
    coding = unsafe Coding(found)
    (self.path, codec, stream) = (path, track.codec, index)
    tags = unsafe Demuxer.tags(of: copy.media.context)
    notes = copy.contents.leftOut(beside: index).map { "left out of \(path): \($0)" }
    zero = try copy.firstKey(of: index) ?? copy.firstPicture() ?? 0
    let range = zero.clampedSum(from)..<max(zero.clampedSum(until), zero.clampedSum(from))
    var pictures = MediaPictures()
    try copy.read(&pictures, in: range, of: track)
    guard let last = pictures.all.last else {
      if pictures.isUntimed { throw copy.media.failure(.untimed, "av_read_frame", 0) }
      return nil
    }
    // A photograph.
    if pictures.all.count == 1, pictures.next == nil,
      InputFormats.isPicture(
        unsafe String(cString: copy.media.context.pointee.iformat.pointee.name))
    {
      throw copy.media.failure(.noVideo, "av_read_frame", 0)
    }
    times = pictures.all.map(\.shown)
    // A picture that another one follows in the file is shown until then.
    end = min(pictures.next ?? last.shown.clampedSum(last.length), range.upperBound)
    (obstacle, restartsDecoders) = (pictures.obstacle, pictures.restartsDecoders)
    do throws(MediaError) {
      let reader = try SoundReader(path: path, isInterrupted: isInterrupted)
      (sound, soundCodec) = (reader.info.format, reader.info.codecName)
    } catch {
      if error.code == .interrupted { throw error }
      (sound, soundCodec) = (nil, nil)
    }
  }
}

/// The pictures of a part, as they are found.
private struct MediaPictures {
  struct Picture {
    var shown: Int64
    var length: Int64
    var isKey: Bool
    var restartsDecoders: Bool
  }

  /// At last in the order in which they are shown.
  var all: [Picture] = []
  /// When the first picture behind the part is shown, of those that were read.
  var next: Int64?
  /// A picture of the part was decoded behind one that is shown later than the part.
  var needsLater = false
  /// Packets do not say when their pictures are shown.
  var isUntimed = false

  /// Pictures further apart than this, in nanoseconds, have silence between them that no copy stores. Larger:
  /// longer silence is stored.
  private static let longestHole: Int64 = 10_000_000_000

  var restartsDecoders: Bool { all.first?.restartsDecoders ?? false }

  var obstacle: String? {
    if isUntimed { return "does not say when its pictures are shown" }
    if needsLater || all.first?.isKey != true {
      return "begins or ends between pictures that need each other"
    }
    let hasHole = zip(all, all.dropFirst()).contains {
      $1.shown.clampedDifference($0.shown) > Self.longestHole
    }
    return hasHole ? "has a hole of more than 10 s" : nil
  }
}

extension MediaContents {
  /// What is beside a stream of pictures and one of sound.
  fileprivate func leftOut(beside stream: Int) -> [String] {
    var found = others
    let films = tracks.count { $0.isVideo && $0.index != stream }
    let sounds = tracks.count { $0.kind == .audio }
    if films > 0 { found.append(films == 1 ? "another film" : "\(films) other films") }
    if sounds > 1 { found.append(sounds == 2 ? "another sound" : "\(sounds - 1) other sounds") }
    if tracks.contains(where: { $0.kind == .reports }) { found.append("its reports") }
    return found
  }
}

extension MediaPart.Coding {
  init(_ stream: UnsafeMutablePointer<AVStream>) {
    let parameters = unsafe stream.pointee.codecpar.pointee
    codec = unsafe parameters.codec_id.rawValue
    size = unsafe [parameters.width, parameters.height]
    words = unsafe [
      UInt32(bitPattern: parameters.format), parameters.color_range.rawValue,
      parameters.color_primaries.rawValue, parameters.color_trc.rawValue,
      parameters.color_space.rawValue,
    ]
    self.parameters =
      unsafe parameters.extradata.map { bytes in
        unsafe (0..<Int(parameters.extradata_size)).map { unsafe bytes[$0] }
      } ?? []
    display = unsafe MediaDisplay(stream)
  }
}

extension MediaCopy {
  /// When the first picture is shown from which decoding can begin; `nil` if a hidden picture comes before
  /// it, or if there is none. The file is left at its beginning.
  fileprivate mutating func firstKey(of index: Int) throws(MediaError) -> Int64? {
    var found: Int64?
    while unsafe try media.read(into: packet.pointer) {
      defer { unsafe libav.av_packet_unref(packet.pointer) }
      guard unsafe Int(packet.pointer.pointee.stream_index) == index,
        unsafe packet.pointer.pointee.flags & AV_PKT_FLAG_KEY != 0
      else { continue }
      let isHidden = unsafe packet.pointer.pointee.flags & AV_PKT_FLAG_DISCARD != 0
      found = unsafe isHidden ? nil : times(of: packet.pointer)?.shown
      break
    }
    try reopen()
    return found
  }

  /// Reads the pictures of a track that are shown in that time.
  fileprivate mutating func read(
    _ pictures: inout MediaPictures, in range: Range<Int64>, of track: MediaContents.Track
  ) throws(MediaError) {
    var hasKey = false
    while unsafe try media.read(into: packet.pointer) {
      defer { unsafe libav.av_packet_unref(packet.pointer) }
      guard unsafe Int(packet.pointer.pointee.stream_index) == track.index,
        unsafe !isTorn(packet.pointer)
      else { continue }
      let stream = unsafe stream(of: packet.pointer)
      let (flags, pts, dts) = unsafe (
        packet.pointer.pointee.flags, packet.pointer.pointee.pts, packet.pointer.pointee.dts
      )
      // Nothing can be decoded before the first key.
      hasKey = hasKey || flags & AV_PKT_FLAG_KEY != 0
      let isOrdered = unsafe stream.pointee.codecpar.pointee.video_delay <= 0
      pictures.isUntimed =
        pictures.isUntimed || pts == SPROCKET_AV_NOPTS_VALUE && (dts == pts || !isOrdered)
      guard hasKey, flags & AV_PKT_FLAG_DISCARD == 0, unsafe packet.pointer.pointee.size > 0,
        let (shown, decoded) = unsafe times(of: packet.pointer)
      else { continue }
      guard shown < range.upperBound else {
        pictures.next = min(pictures.next ?? shown, shown)
        if dts != SPROCKET_AV_NOPTS_VALUE, decoded >= range.upperBound { break }
        continue
      }
      guard shown >= range.lowerBound else { continue }
      pictures.needsLater = pictures.needsLater || pictures.next != nil
      let said = unsafe nanoseconds(
        max(0, packet.pointer.pointee.duration), of: stream.pointee.time_base)
      pictures.all.append(
        MediaPictures.Picture(
          shown: shown, length: said > 0 ? said : track.usual,
          isKey: unsafe flags & AV_PKT_FLAG_KEY != 0 && isWholeKey(packet.pointer, of: stream),
          restartsDecoders: unsafe SprocketLibAV.restartsDecoders(packet.pointer, of: stream)))
    }
    pictures.all.sort { $0.shown < $1.shown }
  }
}
