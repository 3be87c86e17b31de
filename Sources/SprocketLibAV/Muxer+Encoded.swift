internal import CSprocketLibAV

// Packets of encoders.
extension Muxer {
  /// Adds the pictures that the encoder has ready. `gap` is how many ticks the last one lasts, as far as is
  /// known by now.
  ///
  /// The corresponding C function is `av_write_frame`.
  public mutating func writeEncoded(gap: Int64) throws(MuxerError) {
    guard let encoder else { preconditionFailure("this file has no encoder") }
    // Not the muxer's own, with which held sound may be written meanwhile.
    let packet = unsafe encoder.packet.pointer
    while true {
      do throws(EncoderError) {
        guard try encoder.receive() else { return }
      } catch {
        throw .encoder(error)
      }
      defer { unsafe libav.av_packet_unref(packet) }
      let shown = unsafe packet.pointee.pts + firstTick
      // An encoder that does not say when a picture is decoded keeps the order.
      let keepsOrder = unsafe packet.pointee.dts == SPROCKET_AV_NOPTS_VALUE
      // The library takes no picture that is shown before it is decoded. It shifts the time of decoding
      // itself, by what the first picture is shown later than it is decoded. Another encoder may say that its
      // first picture is decoded before the last one of the encoder before.
      let decoded = unsafe keepsOrder ? shown : packet.pointee.dts + firstTick
      let delay = container.isQuickTime ? delay ?? shown - decoded : 0
      let firstDelay = firstDelay ?? delay
      (self.delay, self.firstDelay) = (delay, firstDelay)
      let tick =
        container.isQuickTime
        ? max(decoded + delay, pictureTick.map { $0 + 1 } ?? .min)
        : min(shown, max(decoded, pictureTick ?? .min))
      if let start = fragmentStart,
        tick - start >= fragmentTicks
          || picture?.pendingCount ?? 0 >= Self.fragmentPictures
      {
        try flush()
      }
      try makeRoom()
      if fragmentStart == nil { fragmentStart = tick }
      let (handed, length) = hand(tick, gap, stream: 0)
      unsafe packet.pointee.stream_index = 0
      unsafe packet.pointee.duration = length
      unsafe packet.pointee.dts = handed - firstDelay
      unsafe packet.pointee.pts = max(handed - firstDelay, handed + shown - tick)
      unsafe picture?.append(
        byteCount: Int(packet.pointee.size), tick: tick, shown: shown,
        isKey: packet.pointee.flags & AV_PKT_FLAG_KEY != 0)
      unsafe try write(packet)
      kept = nil
    }
  }

  /// Most encoded pictures of a fragment: its header has to fit into what ``MuxerBridge`` gathers.
  static let fragmentPictures: UInt32 = 2000

  private mutating func write(_ packet: UnsafeMutablePointer<AVPacket>) throws(MuxerError) {
    let size = unsafe Int(packet.pointee.size)
    pendingBytes += size
    byteCount += UInt64(size)
    try check(unsafe libav.av_write_frame(handle.context, packet), "av_write_frame")
  }

  /// Adds a packet that begins with the sample `first`. Ends the fragment if it has no room in it.
  mutating func append(
    _ packet: UnsafeMutablePointer<AVPacket>, at first: Int64, _ track: Int
  ) throws(MuxerError) {
    guard unsafe packet.pointee.size > 0 else { return }
    let sound = sounds[track]
    let length = unsafe packet.pointee.duration
    let pending = Int(sound.table.pendingCount) * (sound.encoder?.packetSamples ?? 1)
    if pending + Int(length) > fragmentSamples(sound.format) { try flush() }
    try makeRoom()
    unsafe sounds[track].table.append(byteCount: Int(packet.pointee.size), tick: first)
    sounds[track].lastLength = length
    let ticks = container.isQuickTime ? Int32(sound.format.rate) : container.ticksPerSecond
    let start = sound.tick(of: UInt64(first), per: ticks)
    let end = sound.tick(of: UInt64(first + length), per: ticks)
    let stream = track + (picture == nil ? 0 : 1)
    let (handed, duration) = hand(start, end - start, stream: stream)
    unsafe packet.pointee.stream_index = Int32(stream)
    unsafe (packet.pointee.pts, packet.pointee.dts) = (handed, handed)
    unsafe packet.pointee.duration = duration
    unsafe packet.pointee.flags |= AV_PKT_FLAG_KEY
    unsafe try write(packet)
    kept = container.isQuickTime ? nil : (track, Int(length))
  }

  /// Of a fragment that was written: the sizes of its pictures, which the library may have changed.
  mutating func noteSizes() throws(MuxerError) {
    guard rewritesPictures, container.isQuickTime, picture?.pendingCount ?? 0 > 0 else { return }
    let header = bridge.kept
    let sizes = FragmentHeader.sizes(header.span) ?? []
    guard picture?.setPendingSizes(sizes) == true else {
      throw .refused(operation: "av_write_frame", status: 0)
    }
  }
}
