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
  /// When the file's first picture is shown, from which parts are counted.
  public let zero: Int64
  /// The codec's short name: "h264".
  public let codec: String
  /// The sound that can be decoded; `nil` if there is none.
  public let sound: PCMFormat?
  public let soundCodec: String?
  /// Whether all pictures can be decoded without others of the file.
  public let isWhole: Bool
  let coding: Coding
  let stream: Int

  /// When the first picture is shown.
  public var start: Int64 { times[0] }
  /// Nanoseconds from the first picture to the end of the last one.
  public var length: Int64 { end.clampedDifference(start) }

  /// Reads the pictures of a file from `from` to before `until`, nanoseconds from its first one. `nil` if
  /// there are none in that time; throws where the file has none at all. Cost: as reading the file from the
  /// disk.
  public init?(
    _ path: String, from: Int64 = 0, until: Int64 = .max,
    isInterrupted: @escaping @Sendable () -> Bool = { false }
  ) throws(MediaError) {
    var copy = try MediaCopy(path, isInterrupted: isInterrupted)
    guard let track = copy.contents.tracks.first(where: { $0.isVideo && $0.isReadable }),
      let found = unsafe copy.media.context.pointee.streams[track.index]
    else { throw copy.media.failure(.noVideo, "av_read_frame", 0) }
    coding = unsafe Coding(found)
    (self.path, codec, stream) = (path, track.codec, track.index)
    zero = copy.firstPicture() ?? 0
    let range = zero.clampedSum(from)..<max(zero.clampedSum(until), zero.clampedSum(from))
    let pictures = try copy.pictures(in: range, of: track)
    guard let last = pictures.all.last else { return nil }
    times = pictures.all.map(\.shown)
    end = min(last.shown.clampedSum(last.length), until == .max ? .max : range.upperBound)
    isWhole = pictures.isWhole
    do throws(MediaError) {
      let reader = try SoundReader(path: path, isInterrupted: isInterrupted)
      (sound, soundCodec) = (reader.info.format, reader.info.codecName)
    } catch {
      if error.code == .interrupted { throw error }
      (sound, soundCodec) = (nil, nil)
    }
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
  fileprivate struct Picture {
    var shown: Int64
    var length: Int64
    var isKey: Bool
  }

  /// The pictures of a track in that time, in the order in which they are shown, and whether they can be
  /// decoded without others.
  fileprivate mutating func pictures(
    in range: Range<Int64>, of track: MediaContents.Track
  ) throws(MediaError) -> (all: [Picture], isWhole: Bool) {
    var all: [Picture] = []
    // A picture of the range may need one that is decoded before it and shown behind the range.
    var (sawLater, needsLater) = (false, false)
    while unsafe try media.read(into: packet.pointer) {
      defer { unsafe libav.av_packet_unref(packet.pointer) }
      let flags = unsafe packet.pointer.pointee.flags
      guard unsafe Int(packet.pointer.pointee.stream_index) == track.index,
        flags & AV_PKT_FLAG_DISCARD == 0, unsafe !isTorn(packet.pointer),
        let (shown, decoded) = unsafe times(of: packet.pointer)
      else { continue }
      if decoded >= range.upperBound { break }
      if shown >= range.upperBound {
        sawLater = true
        continue
      }
      guard shown >= range.lowerBound else { continue }
      needsLater = needsLater || sawLater
      let base = unsafe stream(of: packet.pointer).pointee.time_base
      let said = unsafe nanoseconds(max(0, packet.pointer.pointee.duration), of: base)
      all.append(
        Picture(
          shown: shown, length: said > 0 ? said : track.usual,
          isKey: flags & AV_PKT_FLAG_KEY != 0))
    }
    all.sort { $0.shown < $1.shown }
    return (all, !needsLater && all.first?.isKey == true)
  }
}
