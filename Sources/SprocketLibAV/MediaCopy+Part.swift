internal import CSprocketLibAV

// Selection of the packets of a part of a file.

extension MediaCopy {
  /// Whether a packet belongs to a copy that begins at `start` and ends before `end` (nanoseconds).
  ///
  /// Pictures before `end` may refer to later ones. These are copied with all pictures that are shown
  /// before them, so that the copy has no gap and may end a few pictures late. Sound continues to the
  /// same time.
  mutating func belongs(
    _ packet: UnsafeMutablePointer<AVPacket>, from start: Int64, until end: Int64
  ) -> Bool {
    let number = unsafe Int(packet.pointee.stream_index)
    guard unsafe !isTorn(packet),
      let place = contents.tracks.firstIndex(where: { $0.index == number }),
      let (shown, decoded) = unsafe times(of: packet)
    else { return false }
    let track = contents.tracks[place]
    if track.isVideo {
      let newest = track.newest ?? .min
      let isComplete = shown > newest && newest.clampedSum(track.usual) >= end || decoded >= end
      if track.isOver || shown >= end && isComplete {
        contents.tracks[place].isOver = true
        return false
      }
      contents.tracks[place].newest = max(newest, shown)
    } else {
      let pictures = contents.tracks.compactMap { track in
        track.newest.map { $0.clampedSum(track.usual) }
      }
      // Later packets are left out as well, so that the sound has no gap.
      if track.isOver || shown >= max(end, pictures.max() ?? end) {
        contents.tracks[place].isOver = true
        return false
      }
    }
    let length = unsafe nanoseconds(
      max(0, packet.pointee.duration), of: stream(of: packet).pointee.time_base)
    return shown >= start || track.kind == .audio && shown.clampedSum(length) > start
  }
}
