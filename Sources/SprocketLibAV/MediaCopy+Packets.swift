internal import CSprocketLibAV
internal import SprocketPixels

extension MediaContents.Track {
  /// `nil` for what is neither pictures nor sound nor reports, and for covers.
  init?(_ stream: UnsafeMutablePointer<AVStream>) {
    let parameters = unsafe stream.pointee.codecpar.pointee
    let kind = unsafe parameters.codec_type
    switch kind {
    case AVMEDIA_TYPE_VIDEO: self.kind = .video
    case AVMEDIA_TYPE_AUDIO: self.kind = .audio
    default:
      guard unsafe TextTrack.matches(stream) else { return nil }
      self.kind = .reports
    }
    guard unsafe stream.pointee.disposition & AV_DISPOSITION_ATTACHED_PIC == 0 else { return nil }
    index = unsafe Int(stream.pointee.index)
    if self.kind == .reports {
      codec = "json"
    } else {
      codec = unsafe Self.codecName(parameters)
      isReadable = unsafe libav.avcodec_find_decoder(parameters.codec_id) != nil
    }
    (width, height) = unsafe (Int(parameters.width), Int(parameters.height))
    (rate, channels) = unsafe (
      Int(parameters.sample_rate), Int(parameters.ch_layout.nb_channels)
    )
    guard isVideo else { return }
    orientation = unsafe MediaDisplay(stream).orientation
    pixelFormat = unsafe libav.av_get_pix_fmt_name(AVPixelFormat(parameters.format)).map {
      unsafe String(cString: $0)
    }
    // The rate that all times are multiples of, unless it is far from the mean.
    let mean = unsafe av_q2d(stream.pointee.avg_frame_rate)
    let base = unsafe av_q2d(stream.pointee.r_frame_rate)
    let frames = base >= mean && base <= 2 * mean ? base : mean
    // From one picture in 24 days, as far as gaps are kept.
    if frames > 4.8e-7, frames < 1e6 { usual = Int64(1e9 / frames) }
  }

  /// The codec's short name, or what the file calls one that is not known: four letters, or a number.
  fileprivate static func codecName(_ parameters: AVCodecParameters) -> String {
    guard unsafe parameters.codec_id == AV_CODEC_ID_NONE else {
      return unsafe String(cString: libav.avcodec_get_name(parameters.codec_id)!)
    }
    let tag = unsafe parameters.codec_tag
    let letters = (0..<4).map { UInt8(truncatingIfNeeded: tag >> (8 * $0)) }
    let isText = letters.allSatisfy { 0x20...0x7E ~= $0 }
    return isText ? String(decoding: letters, as: UTF8.self) : "0x" + String(tag, radix: 16)
  }

  /// Counts a packet, whose times are in nanoseconds.
  mutating func note(shown: Int64, length: Int64, byteCount: Int, isKey: Bool) {
    packets += 1
    if isKey { keys += 1 }
    bytes += UInt64(byteCount)
    start = min(start ?? shown, shown)
    // A file says that a picture lasts until the next one, even after a gap.
    let length = isVideo && usual > 0 ? usual : length
    end = max(end ?? shown, shown.clampedSum(length))
    switch kind {
    case .video:
      waiting.insert((shown, length), at: waiting.firstIndex { $0.shown > shown } ?? waiting.count)
      if !isMeasured, waiting.count > Self.measured { measure() }
      if isMeasured, waiting.count > Self.mostReordered { noteOrdered() }
    case .audio: noteGap(before: shown, length, tolerance: Self.soundGap)
    case .reports: break
    }
  }

  /// At the end: looks at the pictures that wait.
  mutating func finish() {
    if !isMeasured { measure() }
    while !waiting.isEmpty { noteOrdered() }
  }

  /// Counts times from `start`, nanoseconds, as a copy does that begins there.
  mutating func begin(at start: Int64) {
    self.start = self.start?.clampedDifference(start)
    end = end?.clampedDifference(start)
  }

  /// Replaces `usual` by the median distance of the first pictures if that is shorter, for a hole in the film
  /// makes the mean distance far too long; or clearly longer, for a file may say the rate that its camera
  /// promised, and not the one that it gave.
  private mutating func measure() {
    isMeasured = true
    let steps = zip(waiting, waiting.dropFirst()).map { $1.shown.clampedDifference($0.shown) }
      .filter { $0 > 0 }
    let median = steps.sorted().dropFirst(steps.count / 2).first ?? 0
    // A quarter: less is how times are rounded.
    let isSlower = steps.count >= Self.fewest && median - usual > usual / 4
    guard median > 0, usual > 0, median < usual || isSlower else { return }
    for index in waiting.indices { waiting[index].length = median }
    end = end.map { $0 - usual + median }
    usual = median
  }

  /// Number of pictures from which `measure` takes the median. Larger: each of these costs more time.
  private static let measured = 128

  /// Distances from which their median may be longer than what the file says. Larger: longer films of few
  /// pictures have a gap at each. Smaller: a film of a few pictures around a gap has none.
  private static let fewest = 8

  /// Pictures are decoded in another order than they are shown.
  private mutating func noteOrdered() {
    let (shown, length) = waiting.removeFirst()
    noteGap(before: shown, length, tolerance: usual / 2)
  }

  private mutating func noteGap(before shown: Int64, _ length: Int64, tolerance: Int64) {
    if let lastEnd, lastEnd > lastStart {
      let late = shown.clampedDifference(lastEnd)
      if late > tolerance {
        gaps += 1
        missing = missing.clampedSum(late)
      }
    }
    (lastStart, lastEnd) = (shown, shown.clampedSum(length))
  }

  /// Pictures that may be decoded before one that is shown earlier: H.264 and HEVC have 16 at most. Larger:
  /// more time per picture.
  static let mostReordered = 16

  /// Nanoseconds by which sound may come late without a gap: files of whole milliseconds round. Larger:
  /// smaller gaps are not told.
  private static let soundGap: Int64 = 2_000_000
}

extension MediaContents {
  /// Describes a stream that is no track.
  static func nameOfOther(_ stream: UnsafeMutablePointer<AVStream>) -> String {
    let parameters = unsafe stream.pointee.codecpar.pointee
    let kind =
      switch unsafe parameters.codec_type {
      case AVMEDIA_TYPE_SUBTITLE: "subtitles"
      case AVMEDIA_TYPE_ATTACHMENT: "an attached file"
      case AVMEDIA_TYPE_VIDEO: "a cover"
      default: "a track of data"
      }
    return unsafe "\(kind) (\(Track.codecName(parameters)))"
  }
}

extension MediaCopy {
  /// The stream that a packet belongs to.
  func stream(of packet: UnsafeMutablePointer<AVPacket>) -> UnsafeMutablePointer<AVStream> {
    // The library checks the number.
    unsafe media.context.pointee.streams[Int(packet.pointee.stream_index)]!
  }

  /// When a packet is decoded or shown, nanoseconds; of one that says only one of these, that.
  func times(of packet: UnsafeMutablePointer<AVPacket>) -> (shown: Int64, decoded: Int64)? {
    let (pts, dts) = unsafe (packet.pointee.pts, packet.pointee.dts)
    let none = SPROCKET_AV_NOPTS_VALUE
    guard pts != none || dts != none else { return nil }
    let base = unsafe stream(of: packet).pointee.time_base
    return (
      nanoseconds(pts == none ? dts : pts, of: base), nanoseconds(dts == none ? pts : dts, of: base)
    )
  }

  mutating func note(_ packet: UnsafeMutablePointer<AVPacket>) {
    let number = unsafe Int(packet.pointee.stream_index)
    guard let place = contents.tracks.firstIndex(where: { $0.index == number }) else { return }
    let times =
      unsafe times(of: packet) ?? (contents.tracks[place].end ?? 0, contents.tracks[place].end ?? 0)
    let length = unsafe nanoseconds(
      max(0, packet.pointee.duration), of: stream(of: packet).pointee.time_base)
    let (early, late) = unsafe skipped(packet, contents.tracks[place].rate)
    unsafe contents.tracks[place].note(
      shown: times.0.clampedSum(early), length: max(0, length - early - late),
      byteCount: Int(packet.pointee.size), isKey: packet.pointee.flags & AV_PKT_FLAG_KEY != 0)
  }

  /// How much of a packet's sound is not heard at its beginning and its end, nanoseconds: what encoders put
  /// before and behind the sound. Eight bytes say so, two counts of samples.
  private func skipped(_ packet: UnsafeMutablePointer<AVPacket>, _ rate: Int) -> (Int64, Int64) {
    for index in unsafe 0..<Int(packet.pointee.side_data_elems) {
      let side = unsafe packet.pointee.side_data[index]
      guard unsafe rate > 0 && side.type == AV_PKT_DATA_SKIP_SAMPLES && side.size >= 8,
        let data = unsafe side.data
      else { continue }
      let words = (0..<2).map { word in
        (0..<4).reduce(UInt32(0)) { sum, byte in
          unsafe sum | UInt32(data[4 * word + byte]) << UInt32(8 * byte)
        }
      }
      return (
        Int64(words[0]) * 1_000_000_000 / Int64(rate), Int64(words[1]) * 1_000_000_000 / Int64(rate)
      )
    }
    return (0, 0)
  }

  /// Whether a packet is a key frame of pictures that an edit list hides.
  func isHiddenKey(_ packet: UnsafeMutablePointer<AVPacket>) -> Bool {
    let both = AV_PKT_FLAG_KEY | AV_PKT_FLAG_DISCARD
    let number = unsafe Int(packet.pointee.stream_index)
    return unsafe packet.pointee.flags & both == both
      && contents.tracks.contains { $0.index == number && $0.isVideo }
  }

  /// Whether a packet is incomplete because the file is truncated. A PCM packet is cut to whole samples and
  /// kept.
  func isTorn(_ packet: UnsafeMutablePointer<AVPacket>) -> Bool {
    guard contents.missingByteCount > 0, unsafe packet.pointee.flags & AV_PKT_FLAG_CORRUPT != 0
    else { return false }
    let parameters = unsafe stream(of: packet).pointee.codecpar.pointee
    let sample = unsafe Int(
      libav.av_get_exact_bits_per_sample(parameters.codec_id) / 8 * parameters.ch_layout.nb_channels
    )
    guard sample > 0 else { return true }
    unsafe libav.av_shrink_packet(packet, packet.pointee.size / Int32(sample) * Int32(sample))
    return unsafe packet.pointee.size == 0
  }

  /// Adds a stream for each track; by the number of the input's.
  ///
  /// The corresponding C function is `avcodec_parameters_copy`.
  mutating func addStreams(
    to handle: borrowing MuxerHandle, _ container: MovieContainer
  ) throws(MuxerError) -> [Int: Int] {
    var numbers: [Int: Int] = [:]
    for track in contents.tracks {
      let codec = unsafe media.context.pointee.streams[track.index]?.pointee.codecpar.pointee
        .codec_id
      guard track.kind == .reports || codec != AV_CODEC_ID_NONE else {
        let kind = track.isVideo ? "pictures" : "sound"
        contents.notes.append(
          "stream \(track.index), \(kind) of the codec \(track.codec), is left out: it is not known how to "
            + "copy that")
        contents.tracks.removeAll { $0.index == track.index }
        continue
      }
      guard let from = unsafe media.context.pointee.streams[track.index] else { continue }
      if track.kind == .reports {
        let to = unsafe try handle.addStream()
        unsafe TextTrack.fill(to, container)
        numbers[track.index] = unsafe Int(to.pointee.index)
        continue
      }
      guard container.holds(unsafe from.pointee.codecpar.pointee.codec_id) else {
        throw .unheld(codec: track.codec)
      }
      unsafe noteLosses(from, container)
      let to = unsafe try handle.addStream()
      var status = unsafe libav.avcodec_parameters_copy(to.pointee.codecpar, from.pointee.codecpar)
      unsafe to.pointee.codecpar.pointee.codec_tag =
        container.isQuickTime && from.pointee.codecpar.pointee.codec_id == AV_CODEC_ID_HEVC
        ? MovieContainer.hevcTag : 0
      unsafe to.pointee.time_base = unsafe from.pointee.time_base
      unsafe to.pointee.avg_frame_rate = unsafe from.pointee.avg_frame_rate
      unsafe to.pointee.sample_aspect_ratio = unsafe from.pointee.sample_aspect_ratio
      unsafe to.pointee.disposition = unsafe from.pointee.disposition
      if status >= 0 {
        status = unsafe libav.av_dict_copy(&to.pointee.metadata, from.pointee.metadata, 0)
      }
      unsafe container.setLanguage(tag("language", of: from), of: to)
      for type in [AV_PKT_DATA_DISPLAYMATRIX] + HDRMetadata.sideData where status >= 0 {
        var size = 0
        guard let data = unsafe libav.av_stream_get_side_data(from, type, &size) else { continue }
        guard let copy = unsafe libav.av_stream_new_side_data(to, type, size) else {
          throw .refused(operation: "av_stream_new_side_data", status: 0)
        }
        unsafe copy.update(from: data, count: size)
      }
      guard status >= 0 else {
        throw .refused(operation: "avcodec_parameters_copy", status: status)
      }
      numbers[track.index] = unsafe Int(to.pointee.index)
    }
    guard
      unsafe libav.av_dict_copy(&handle.context.pointee.metadata, media.context.pointee.metadata, 0)
        >= 0
    else { throw .refused(operation: "av_dict_copy", status: 0) }
    return numbers
  }
}
