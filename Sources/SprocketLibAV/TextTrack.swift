internal import CSprocketLibAV

/// A track of lines of text beside pictures and sound, for programs. A line is UTF-8 without line ends.
///
/// In a MOV or MP4 it is timed metadata, `mett` of ISO/IEC 14496-12, 12.3.3, which players leave alone; each
/// sample is lines, with an end each. libavformat writes no such track: it is handed one of its kind `gpmd`,
/// whose names ``MovieIndex/describe(text:in:)`` changes. In an MKV it is WebVTT, which players show if they
/// are asked to.
public struct TextTrack: Sendable {
  /// What players call the track.
  public static let name = "Sprocket reports"
  /// What the lines are: JSON, one object per line.
  static let type = "application/x-ndjson"

  var table: SampleTable

  init(_ container: MovieContainer) {
    table = SampleTable(ticksPerSecond: container.ticksPerSecond)
  }

  /// Whether a stream of a file is one.
  static func matches(_ stream: UnsafeMutablePointer<AVStream>) -> Bool {
    let kind = unsafe stream.pointee.codecpar.pointee.codec_type
    guard kind == AVMEDIA_TYPE_DATA || kind == AVMEDIA_TYPE_SUBTITLE else { return false }
    return ["title", "handler_name"].contains { unsafe tag($0, of: stream) == name }
  }

  /// The corresponding C types are `AVStream` and `AVCodecParameters`.
  static func fill(_ stream: UnsafeMutablePointer<AVStream>, _ container: MovieContainer) {
    let parameters = unsafe stream.pointee.codecpar!
    if container.isQuickTime {
      unsafe parameters.pointee.codec_type = AVMEDIA_TYPE_DATA
      unsafe parameters.pointee.codec_id = AV_CODEC_ID_BIN_DATA
      unsafe parameters.pointee.codec_tag = gpmd
    } else {
      unsafe parameters.pointee.codec_type = AVMEDIA_TYPE_SUBTITLE
      unsafe parameters.pointee.codec_id = AV_CODEC_ID_WEBVTT
    }
    unsafe stream.pointee.time_base = AVRational(num: 1, den: container.ticksPerSecond)
    // MKV writes `title`; QuickTime has a name in its handler.
    _ = unsafe libav.av_dict_set(&stream.pointee.metadata, "title", name, 0)
    _ = unsafe libav.av_dict_set(&stream.pointee.metadata, "handler_name", name, 0)
  }

  /// Adds the end of the last line, which an MKV has not.
  ///
  /// The corresponding C function is `av_grow_packet`.
  static func endLine(_ packet: UnsafeMutablePointer<AVPacket>) throws(MuxerError) {
    let count = unsafe Int(packet.pointee.size)
    guard count > 0, unsafe packet.pointee.data[count - 1] != UInt8(ascii: "\n") else { return }
    let status = unsafe libav.av_grow_packet(packet, 1)
    guard status >= 0 else { throw .refused(operation: "av_grow_packet", status: status) }
    unsafe packet.pointee.data[count] = UInt8(ascii: "\n")
  }

  /// "gpmd", as the library has it.
  private static let gpmd: UInt32 = 0x646D_7067
}

extension Muxer {
  /// Adds lines of text at a tick above that of those before; `gap` is how many ticks they hold. A file that
  /// has no track for it leaves it out.
  ///
  /// The corresponding C function is `av_write_frame`.
  public mutating func write(text lines: Span<UInt8>, tick: Int64, gap: Int64) throws(MuxerError) {
    guard text != nil, !lines.isEmpty else { return }
    text?.table.append(byteCount: lines.count, tick: tick)
    let stream = sounds.count + (picture == nil ? 0 : 1)
    try write(lines, stream: stream, tick: tick, duration: max(1, gap))
    kept = nil
  }
}

extension MovieIndex {
  /// Changes the description of a ``TextTrack`` in an index that libavformat wrote. An index without one
  /// stays as it is.
  static func describe(text type: String, in index: [UInt8]) -> [UInt8] {
    var index = index
    for (path, name) in [
      (["moov", "trak", "mdia", "minf", "gmhd"], "gpmd"),
      (["moov", "trak", "mdia", "minf", "stbl", "stsd"], "gpmd"),
    ] {
      guard let (parents, atom) = find(path, name, in: index.span) else { return index }
      // No codec of the text's bytes; its type. The samples' reference to data comes before both.
      let isEntry = path.last == "stsd"
      let new =
        isEntry
        ? Array(index[atom.contents.lowerBound..<atom.contents.lowerBound + 8]) + [0]
          + Array(type.utf8) + [0] : []
      let kind = Array((isEntry ? "mett" : "free").utf8)
      let bytes = size(8 + new.count) + kind + new
      index.replaceSubrange(atom.range, with: bytes)
      for parent in parents {
        let larger = parent.range.count + bytes.count - atom.range.count
        index.replaceSubrange(
          parent.range.lowerBound..<parent.range.lowerBound + 4, with: size(larger))
      }
    }
    return index
  }

  private static func size(_ count: Int) -> [UInt8] {
    (0..<4).map { UInt8(truncatingIfNeeded: count >> (24 - 8 * $0)) }
  }

  /// The first atom of that kind within atoms of `path`, and these.
  private static func find(
    _ path: [String], _ name: String, in bytes: Span<UInt8>
  ) -> ([Atom], Atom)? {
    func search(_ depth: Int, _ range: Range<Int>) -> ([Atom], Atom)? {
      var rest = range
      while let atom = Atom.first(in: bytes, rest) {
        rest = atom.range.upperBound..<range.upperBound
        if depth == path.count {
          if atom.is(name) { return ([], atom) }
          continue
        }
        guard atom.is(path[depth]) else { continue }
        // What `stsd` begins with: a version, flags, and how many there are.
        let skipped = atom.is("stsd") ? 8 : 0
        guard atom.contents.count >= skipped else { continue }
        let inside = atom.contents.lowerBound + skipped..<atom.contents.upperBound
        if let (parents, found) = search(depth + 1, inside) { return ([atom] + parents, found) }
      }
      return nil
    }
    return search(0, 0..<bytes.count)
  }
}
