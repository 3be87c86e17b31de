internal import CSprocketLibAV

// Writes packets of a copy into the new file.

extension MediaCopy {
  /// Says what the new file does not say of a stream.
  mutating func noteLosses(_ stream: UnsafeMutablePointer<AVStream>, _ container: MovieContainer) {
    let number = unsafe Int(stream.pointee.index)
    guard let place = contents.tracks.firstIndex(where: { $0.index == number }) else { return }
    if !container.keepsOrientation, contents.tracks[place].orientation != 1 {
      contents.tracks[place].orientation = 1
      contents.notes.append(
        "stream \(number) is shown turned or mirrored, which .\(container.rawValue) files do not say: it is "
          + "shown as it lies")
    }
    let parameters = unsafe stream.pointee.codecpar.pointee
    let format = unsafe PCMFormat(
      number: .s16, rate: 1, channels: Int(parameters.ch_layout.nb_channels),
      speakers: speakers(parameters.ch_layout))
    if container == .mkv, unsafe libav.av_get_exact_bits_per_sample(parameters.codec_id) > 0,
      contents.tracks[place].kind == .audio, !format.hasUsualSpeakers
    {
      contents.notes.append(
        "the file does not say where the \(format.channels) channels of stream \(number) are heard: players "
          + "take the usual places; a .mov says it")
    }
  }

  /// Computes the decode time of a packet that has none, in ticks of its stream. The first packets of an MKV
  /// with B-frames have none. The first of them is decoded `video_delay` pictures before it is shown.
  private mutating func decodeTime(of packet: UnsafeMutablePointer<AVPacket>) -> Int64 {
    let from = unsafe stream(of: packet)
    let (index, shown) = unsafe (Int(from.pointee.index), packet.pointee.pts)
    let delay = unsafe Int64(from.pointee.codecpar.pointee.video_delay)
    guard delay > 0, let track = contents.tracks.first(where: { $0.index == index }) else {
      return shown
    }
    let base = unsafe from.pointee.time_base
    let length = max(
      1, rescaled(track.usual, AVRational(num: 1, den: 1_000_000_000), to: base))
    let (first, count) = undecoded[index] ?? (shown, 0)
    undecoded[index] = (first, count + 1)
    return min(shown, first + (count - delay) * length)
  }

  /// Writes a packet into the stream of that number, `start` nanoseconds earlier.
  ///
  /// The corresponding C function is `av_interleaved_write_frame`.
  mutating func write(
    _ packet: UnsafeMutablePointer<AVPacket>, to number: Int, _ handle: borrowing MuxerHandle,
    from start: Int64
  ) throws(MuxerError) {
    guard let to = unsafe handle.context.pointee.streams[number] else { return }
    let from = unsafe stream(of: packet)
    let shift = unsafe rescaled(
      start, AVRational(num: 1, den: 1_000_000_000), to: from.pointee.time_base)
    let kind = unsafe to.pointee.codecpar.pointee.codec_id
    if kind == AV_CODEC_ID_BIN_DATA { unsafe try TextTrack.endLine(packet) }
    // Fragments do not store the duration of the last sample, and readers drop a sample of duration 0.
    if kind == AV_CODEC_ID_BIN_DATA, unsafe packet.pointee.duration <= 0 {
      let usual = contents.tracks.lazy.map(\.usual).first { $0 > 0 } ?? 1_000_000
      unsafe packet.pointee.duration = unsafe max(
        1, rescaled(usual, AVRational(num: 1, den: 1_000_000_000), to: from.pointee.time_base))
    }
    let none = SPROCKET_AV_NOPTS_VALUE
    if unsafe packet.pointee.pts == none {
      guard unsafe from.pointee.codecpar.pointee.video_delay <= 0 else {
        throw .untimed(stream: unsafe Int(from.pointee.index))
      }
      unsafe packet.pointee.pts = unsafe packet.pointee.dts
    }
    if unsafe packet.pointee.dts == none { unsafe packet.pointee.dts = decodeTime(of: packet) }
    unsafe packet.pointee.pts &-= shift
    unsafe packet.pointee.dts &-= shift
    unsafe libav.av_packet_rescale_ts(packet, from.pointee.time_base, to.pointee.time_base)
    unsafe hand(packet, to: number)
    if times[number] == nil {
      // The library takes none that is decoded before the one before it, as behind a joint.
      if let last = decodes[number], unsafe packet.pointee.dts <= last {
        unsafe packet.pointee.dts = last + 1
        unsafe packet.pointee.pts = unsafe max(packet.pointee.pts, packet.pointee.dts)
      }
      decodes[number] = unsafe packet.pointee.dts
    }
    unsafe packet.pointee.stream_index = Int32(number)
    unsafe packet.pointee.pos = -1
    let status = unsafe libav.av_interleaved_write_frame(handle.context, packet)
    guard status >= 0 else {
      throw .refused(operation: "av_interleaved_write_frame", status: status)
    }
  }
}
