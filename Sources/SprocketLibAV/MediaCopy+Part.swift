internal import CSprocketLibAV

// Selection of the packets of a part of a file.

extension MediaCopy {
  /// When the first picture is shown, nanoseconds; `nil` where there is none. The file is left at its
  /// beginning. A stream, which is read once, is not looked at.
  mutating func firstPicture() -> Int64? {
    guard !media.isStream, let track = contents.tracks.first(where: \.isVideo) else { return nil }
    var (first, count) = (Int64?.none, 0)
    while count <= MediaContents.Track.mostReordered,
      (try? unsafe media.read(into: packet.pointer)) == true
    {
      defer { unsafe libav.av_packet_unref(packet.pointer) }
      guard unsafe Int(packet.pointer.pointee.stream_index) == track.index,
        unsafe packet.pointer.pointee.flags & AV_PKT_FLAG_DISCARD == 0,
        let times = unsafe times(of: packet.pointer)
      else { continue }
      first = min(first ?? times.shown, times.shown)
      count += 1
    }
    do throws(MediaError) { try reopen() } catch { contents.failure = error }
    return first
  }

  /// The time of the last key frame at or before `time` (nanoseconds), at which or before which the file is
  /// left set; `nil` if there is none from `begin` on.
  mutating func seekKey(before time: Int64, from begin: Int64) -> Int64? {
    guard !media.isStream else { return nil }
    guard media.isOrderedByTime else {
      let found = lastKey(upTo: time)
      do throws(MediaError) { try reopen() } catch { contents.failure = error }
      return found
    }
    var back: Int64 = 0
    while true {
      let target = time.clampedSum(-back)
      guard media.seek(-1, ticks: target / 1000) else { return nil }
      // Files without an index are set to any packet, and its next key frame may be later than `time`.
      let found = lastKey(upTo: time)
      guard found != nil || target <= begin else {
        back = max(1_000_000_000, back.clampedSum(back))
        continue
      }
      // Once more: sound of the same time may lie before the picture.
      return media.seek(-1, ticks: target / 1000) ? found : nil
    }
  }

  /// The time of the last key frame at or before `time`, from where the file is set.
  private mutating func lastKey(upTo time: Int64) -> Int64? {
    var found: Int64?
    while (try? unsafe media.read(into: packet.pointer)) == true {
      defer { unsafe libav.av_packet_unref(packet.pointer) }
      let number = unsafe Int(packet.pointer.pointee.stream_index)
      guard contents.tracks.contains(where: { $0.index == number && $0.isVideo }),
        let times = unsafe times(of: packet.pointer)
      else { continue }
      if times.decoded > time { break }
      if unsafe packet.pointer.pointee.flags & AV_PKT_FLAG_KEY != 0, times.shown <= time {
        found = times.shown
      }
    }
    return found
  }

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

  /// Notes a packet's times, and gives it such as the library takes.
  mutating func hand(_ packet: UnsafeMutablePointer<AVPacket>, to number: Int) {
    guard var times = times[number], unsafe packet.pointee.size > 0 else { return }
    // Packets that were decoded at once, where a clock jumped, are a tick apart.
    let tick = unsafe max(
      packet.pointee.dts, times.table.lastTick.map { $0 + 1 } ?? packet.pointee.dts)
    let shown = unsafe max(packet.pointee.pts, tick)
    noteHole(before: tick, times, number)
    unsafe times.table.append(byteCount: Int(packet.pointee.size), tick: tick, shown: shown)
    let second = times.table.ticksPerSecond
    let duration = unsafe min(packet.pointee.duration, Int64(second))
    // Pictures of a hole may be shown days after they are decoded.
    let ahead = min(shown - tick, Int64(second))
    let handed = times.clock.hand(tick, duration, perSecond: second, first: shown - ahead)
    unsafe packet.pointee.dts = handed
    unsafe packet.pointee.pts = handed + ahead
    unsafe packet.pointee.duration = duration
    times.length = duration
    self.times[number] = times
  }

  /// PCM of a MOV has no times: a hole in it is closed, which is said.
  private mutating func noteHole(before tick: Int64, _ times: CopiedTimes, _ number: Int) {
    guard times.isPCM, let last = times.table.lastTick else { return }
    let hole = Double(tick - last - times.length) / Double(times.table.ticksPerSecond)
    guard hole > 0.1 else { return }
    contents.notes.append(
      "the sound of stream \(number) of the copy has a hole of \(Int(hole * 1000)) ms, which PCM in this "
        + "container cannot hold: sound behind it is early; copy into .mkv")
  }
}
