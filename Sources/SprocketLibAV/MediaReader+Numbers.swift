internal import CSprocketLibAV

// Pictures by number.

/// The position of a reader in its file.
struct ReadingPlace {
  /// All packets so far, while they are recorded; `nil` where nobody needs them.
  var recorded: [PictureIndex.Packet]?
  /// Place of the packet that is read next, from the start of the file.
  var next = 0
  /// Place of a packet that was read, and not handed to the decoder yet.
  var held: Int?
  /// Number of the picture that was decoded last; `nil` if the decoder has to begin anew.
  var shown: Int?
  /// The decoder was told that nothing follows.
  var isDrained = false
}

extension MediaReader {
  /// Records where packets lie from now on, for ``makeIndex(asPackets:)``. Call it before anything is read.
  public mutating func recordPackets() { place.recorded = [] }

  /// Reads to the end of the file, and makes the index of its pictures. If `asPackets` is true, each packet
  /// is a picture: those of ``nextPacket()``. Costs reading all of the file that was not read so far; and
  /// decoding it, if the times of its packets do not tell the order of its pictures.
  public mutating func makeIndex(asPackets: Bool) throws(MediaError) -> PictureIndex {
    guard !demuxer.isStream else { throw needsSeeking }
    while unsafe try readPacket(into: scratch.packet) {
      unsafe libav.av_packet_unref(scratch.packet)
    }
    place.shown = nil
    let packets = place.recorded ?? []
    var clock = MediaClock(
      rate: chosenRate ?? info.frameRate, start: info.hasTimes ? demuxer.startNanoseconds : 0)
    if asPackets {
      let shown = packets.indices.filter { packets[$0].isShown }
      return PictureIndex(
        packets, places: shown.map { packets[$0].size == 0 ? -1 : Int32($0) },
        times: shown.map { clock.time(given: packets[$0].time).nanoseconds }, isDecoded: true)
    }
    if let index = unsafe PictureIndex(packets, demuxer.stream, clock: clock) { return index }
    return try decodedIndex()
  }

  /// Finds the order of the pictures by decoding all of them, with a reader of its own.
  public func decodedIndex() throws(MediaError) -> PictureIndex {
    var reader = try MediaReader(
      path: demuxer.path, stream: unsafe Int(demuxer.stream.pointee.index), rate: chosenRate,
      isInterrupted: { [isInterrupted] in isInterrupted() })
    reader.recordPackets()
    var (places, times): ([Int32], [Int64]) = ([], [])
    reading: while true {
      switch try reader.nextFrame() {
      case .frame(let frame):
        places.append(frame.isCorrupt ? -1 : unsafe Int32(frame.shell.pointer.pointee.place))
        times.append(frame.timeNanoseconds)
      case .corrupt:
        places.append(-1)
        times.append((times.last ?? 0).clampedSum(nanoseconds(1, of: clock.frameDuration)))
      case .end: break reading
      }
    }
    // A picture that came out of the packet of another one, or needs an earlier packet than its key.
    let known = places.filter { $0 >= 0 }
    let isMPEG4 = unsafe demuxer.stream.pointee.codecpar.pointee.codec_id == AV_CODEC_ID_MPEG4
    return PictureIndex(
      reader.place.recorded ?? [], places: places, times: times, isDecoded: true,
      isCounted: isMPEG4 || Set(known).count < known.count)
  }

  /// The first picture, alone and without threads that wait for later ones; `nil` where the packet does not
  /// tell that its picture is shown first, or that it is whole. Call it once, before anything is read.
  public mutating func firstPicture() throws(MediaError) -> DecodedFrame? {
    guard unsafe try readPacket(into: scratch.packet),
      unsafe scratch.packet.pointee.flags & (AV_PKT_FLAG_DISCARD | AV_PKT_FLAG_CORRUPT) == 0,
      unsafe beginsAnew(scratch.packet, of: demuxer.stream)
    else { return nil }
    try prepareToDecode()
    let path = demuxer.path
    guard unsafe try decoder!.send(scratch.packet, place: 0, path: path),
      unsafe try decoder!.send(nil, place: 0, path: path),
      unsafe decoder!.receive(into: scratch.frame) == .frame,
      unsafe scratch.frame.pointee.interlaced_frame == 0,
      case .frame(let frame) = try decodedFrame(), !frame.isCorrupt
    else { return nil }
    return frame
  }

  /// The packet of a number, for files whose pictures are packets; `nil` where it cannot be read.
  public mutating func packet(_ number: Int, of index: PictureIndex) throws(MediaError)
    -> EncodedPacket?
  {
    guard let wanted = index.place(of: number) else { return nil }
    if place.next != wanted || place.held != nil {
      guard try go(to: wanted, of: index) else { return nil }
    }
    guard let packet = try nextPacket() else { return nil }
    unsafe packet.shell.pointer.pointee.time = index.times[number]
    return packet
  }

  /// The picture of a number. `.corrupt` if it cannot be decoded, or if the index is not right; one that was
  /// made by decoding is.
  ///
  /// It is decoded from the last key picture before it, or from where the reader is, if that is nearer.
  /// If `isLast`, no later picture is expected soon: the decoder is told that nothing follows, instead of
  /// being given as many packets as it holds back.
  public mutating func picture(
    _ number: Int, of index: PictureIndex, isLast: Bool
  ) throws(MediaError) -> DecodedUnit {
    guard let wanted = index.place(of: number) else { return .corrupt }
    try prepareToDecode()
    var key = index.key(for: number, at: wanted)
    let isAhead = place.shown.map { $0 < number } ?? false
    if !isAhead || place.isDrained || (place.held ?? place.next) < key {
      guard try go(to: key, of: index) else { return .corrupt }
    }
    // Some keys are none: a picture after an intra refresh has to be decoded from further back.
    var steps = 1
    var drains = isLast && canDrain
    while true {
      let found = try advance(to: number, at: wanted, of: index, isLast: drains)
      if case .frame(let frame) = consume found {
        unsafe frame.shell.pointer.pointee.time = index.times[number]
        return .frame(frame)
      }
      guard key > 0 || drains else {
        place.shown = nil
        return .corrupt
      }
      if !drains {
        key = index.key(steps, before: key)
        steps *= 2
      }
      drains = false
      guard try go(to: key, of: index) else { return .corrupt }
    }
  }

  /// Whether the decoder gives a picture when nothing follows its packet.
  private var canDrain: Bool {
    let parameters = unsafe demuxer.stream.pointee.codecpar.pointee
    let known = [
      AV_CODEC_ID_H264, AV_CODEC_ID_HEVC, AV_CODEC_ID_MPEG2VIDEO, AV_CODEC_ID_MPEG1VIDEO,
    ]
    return unsafe known.contains(parameters.codec_id) && !hasFields(parameters)
  }

  /// Decodes to a picture; `.corrupt` where it does not come.
  private mutating func advance(
    to number: Int, at wanted: Int, of index: PictureIndex, isLast: Bool
  ) throws(MediaError) -> DecodedUnit {
    while true {
      try demuxer.checkInterruption()
      switch unsafe decoder!.receive(into: scratch.frame) {
      case .frame:
        let at = unsafe Int(scratch.frame.pointee.reordered_opaque >> 1)
        let counted = index.isCounted ? (place.shown ?? -1) + 1 : nil
        guard let found = counted ?? index.number(at: at), place.shown.map({ $0 < found }) ?? true,
          found <= number
        else {
          unsafe libav.av_frame_unref(scratch.frame)
          // A picture that was damaged when the index was made has no number.
          if index.isDecoded, index.number(at: at) == nil { continue }
          return .corrupt
        }
        place.shown = found
        if found == number { return try decodedFrame() }
        unsafe libav.av_frame_unref(scratch.frame)
      case .corrupt:
        if index.isCounted { place.shown = (place.shown ?? -1) + 1 }
      case .end: return .end
      case .outOfMemory:
        throw MediaError(
          code: .outOfMemory, operation: "avcodec_receive_frame", status: -ENOMEM,
          path: demuxer.path)
      case .needsInput:
        let isWanted = try give(wanted: wanted, skips: isLast)
        if isWanted, isLast {
          place.isDrained = true
          _ = unsafe try decoder!.send(nil, place: 0, path: demuxer.path)
        }
      }
    }
  }

  /// Hands the decoder the next packet, or the end; returns whether it was the one at `wanted`. If `skips`,
  /// the decoder leaves out pictures to which no other refers.
  private mutating func give(wanted: Int, skips: Bool) throws(MediaError) -> Bool {
    let at = place.held ?? place.next
    if place.held == nil {
      unsafe libav.av_packet_unref(scratch.packet)
      guard unsafe try readPacket(into: scratch.packet) else {
        place.isDrained = true
        _ = unsafe try decoder!.send(nil, place: 0, path: demuxer.path)
        return false
      }
    }
    place.held = nil
    decoder!.setSkips(skips && at != wanted)
    _ = unsafe try decoder!.send(scratch.packet, place: at, path: demuxer.path)
    unsafe libav.av_packet_unref(scratch.packet)
    return at == wanted
  }

  /// Goes to a packet, which is then held. Tries the times, the position in bytes, and the start of the file.
  /// False if the packet is not found: the file has changed.
  private mutating func go(to wanted: Int, of index: PictureIndex) throws(MediaError) -> Bool {
    decoder?.flush()
    (place.shown, place.held, place.isDrained) = (nil, nil, false)
    // The position of the next packet tells where a seek led to.
    if (place.next...place.next + Self.nearPackets).contains(wanted) {
      return try read(to: wanted)
    }
    let packet = index.packets[wanted]
    for way in [Demuxer.Way.time, .position] {
      guard demuxer.seek(way, pts: packet.pts, dts: packet.dts, position: packet.position)
      else { continue }
      if try land(before: wanted, of: index) { return true }
    }
    try demuxer.reopen()
    place.next = 0
    return try read(to: wanted)
  }

  /// Packets that are read on the way to another one without a seek. Larger: fewer seeks, more reading.
  private static let nearPackets = 16

  /// Reads the packets before another one, and it.
  private mutating func read(to wanted: Int) throws(MediaError) -> Bool {
    while true {
      unsafe libav.av_packet_unref(scratch.packet)
      let at = place.next
      guard unsafe try readPacket(into: scratch.packet) else { return false }
      if at == wanted {
        place.held = at
        return true
      }
    }
  }

  /// Finds out where a seek led to; false if that is behind `wanted`, or unknown.
  private mutating func land(before wanted: Int, of index: PictureIndex) throws(MediaError) -> Bool
  {
    for _ in 0..<Self.nearPackets {
      unsafe libav.av_packet_unref(scratch.packet)
      guard unsafe try readPacket(into: scratch.packet) else { return false }
      let found = unsafe PictureIndex.Packet(
        scratch.packet, pts: demuxer.ownPTS, dts: demuxer.ownDTS, time: nil)
      guard found.isKnownByItself else { continue }
      // It lies near the wanted one, or before it.
      var at = wanted
      while at >= 0, !index.packets[at].isSame(as: found) { at -= 1 }
      guard at >= 0 else { return false }
      place.next = at + 1
      if at == wanted {
        place.held = at
        return true
      }
      return try read(to: wanted)
    }
    return false
  }

  /// Reads the next packet of the stream, and records it if it is new.
  mutating func readPacket(into packet: UnsafeMutablePointer<AVPacket>) throws(MediaError) -> Bool {
    guard unsafe try demuxer.read(into: packet) else { return false }
    if let count = place.recorded?.count, place.next == count {
      var recorded = unsafe PictureIndex.Packet(
        packet, pts: demuxer.ownPTS, dts: demuxer.ownDTS,
        time: chosenRate == nil && !isCut ? demuxer.time(of: packet) : nil)
      if isCut, recorded.size == Self.startMarkerBytes { recorded.isShown = false }
      if recorded.isKey { recorded.isKey = unsafe isWholeKey(packet, of: demuxer.stream) }
      place.recorded?.append(recorded)
    }
    place.next += 1
    return true
  }

  /// libavformat cuts a stream at each start marker, also where an image has two.
  var isCut: Bool { info.isMJPEG && !info.hasTimes }
}
