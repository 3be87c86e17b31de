internal import CSprocketLibAV
internal import SprocketPixels

/// Writes the pictures of several parts of files into one file, one behind the other, as they are coded, and
/// their sound, encoded anew.
@safe
public struct MediaJoin: ~Copyable {
  private let container: MovieContainer
  private let bridge: MuxerBridge
  private let handle: MuxerHandle
  private var sound: JoinedSound?
  private let encoder: SoundEncoder?
  private let tags: [String: String]
  /// Number of the stream of sound.
  private var soundStream: Int32 = -1
  private var block: [UInt8] = []
  private let isInterrupted: @Sendable () -> Bool
  /// What the files' clocks did, as sentences.
  public private(set) var notes: [String] = []

  /// Samples of a block of PCM. Larger: fewer packets, which players read at once.
  private static let blockSamples = 1024

  /// Why the pictures cannot be copied; `nil` if they can.
  public static func obstacle(_ parts: [MediaPart], _ container: MovieContainer) -> String? {
    for (number, part) in parts.enumerated() {
      if let obstacle = part.obstacle { return "\(part.path) \(obstacle)" }
      if number > 0, !part.restartsDecoders {
        return "\(part.path) begins with a picture that cannot follow another film"
      }
    }
    guard let first = parts.first else { return nil }
    if let other = parts.first(where: { $0.coding != first.coding }) {
      return "\(other.path) is coded in another way than \(first.path)"
    }
    if !container.holds(AVCodecID(first.coding.codec)) {
      return ".\(container.rawValue) files do not hold \(first.codec)"
    }
    return nil
  }

  /// `sound` is that of the parts; `codec` encodes it, or it is PCM. `tags` are what the file says of itself,
  /// in place of those that the first part's file has (``MediaPart/tags``).
  public init(
    into container: MovieContainer, sound: consuming JoinedSound?, codec: SoundCodec?,
    tags: [String: String], output: any MuxerOutput, isInterrupted: @escaping @Sendable () -> Bool
  ) throws(JoinError) {
    let bridge = MuxerBridge(output)
    let format = sound?.format
    let encoder = try Self.makeEncoder(codec, format)
    let handle = try Self.makeHandle(container, bridge)
    self.handle = handle
    self.tags = tags
    self.sound = sound
    (self.container, self.isInterrupted, self.bridge) = (container, isInterrupted, bridge)
    self.encoder = encoder
    block = [UInt8](repeating: 0, count: Self.blockSamples * (format?.sampleBytes ?? 0))
  }

  private static func makeHandle(
    _ container: MovieContainer, _ bridge: MuxerBridge
  ) throws(JoinError) -> MuxerHandle {
    do throws(MuxerError) {
      return try MuxerHandle(container.muxerName, bridge)
    } catch { throw .muxer(error) }
  }

  private static func makeEncoder(
    _ codec: SoundCodec?, _ format: PCMFormat?
  ) throws(JoinError) -> SoundEncoder? {
    guard let codec, let format else { return nil }
    do throws(EncoderError) {
      return try SoundEncoder(codec, format)
    } catch { throw .encoder(error) }
  }

  /// Copies the pictures of the parts, and writes their sound.
  ///
  /// The corresponding C function is `av_interleaved_write_frame`.
  public mutating func copy(_ parts: [MediaPart]) throws(JoinError) {
    var times: [Int: CopiedTimes] = [:]
    var decodes: [Int: Int64] = [:]
    var offset: Int64 = 0
    var pictures = 0
    for (number, part) in parts.enumerated() {
      var copy: MediaCopy
      do throws(MediaError) {
        copy = try MediaCopy(part.path, isInterrupted: isInterrupted)
      } catch { throw .media(error) }
      copy.contents.tracks.removeAll { $0.index != part.stream }
      copy.decodes = decodes
      if number == 0 {
        pictures = try begin(with: &copy, part)
      } else {
        copy.times = times
      }
      try add(part, &copy, to: pictures, at: offset)
      (times, decodes) = (copy.times, copy.decodes)
      for note in part.notes + copy.contents.notes + copy.media.timeNotes
      where !notes.contains(note) { notes.append(note) }
      offset = offset.clampedSum(part.length)
    }
    try end(times)
  }

  /// Writes the header. Returns the number of the stream of pictures.
  private mutating func begin(
    with copy: inout MediaCopy, _ first: MediaPart
  ) throws(JoinError) -> Int {
    do throws(MuxerError) {
      let streams = try copy.addStreams(to: handle, container)
      for name in first.tags.keys { handle.removeTag(name) }
      if let format = sound?.format {
        let stream = unsafe try handle.addStream()
        unsafe try SoundTrack(format: format, encoder: encoder).fill(stream, container)
        unsafe stream.pointee.time_base = AVRational(num: 1, den: Int32(format.rate))
        soundStream = unsafe stream.pointee.index
      }
      try handle.writeHeader(
        tags.sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value) },
        container.copyOptions)
      if container.isQuickTime { unsafe copy.prepareTimes(handle.context) }
      // Its times are counts of samples.
      copy.times[Int(soundStream)] = nil
      return streams.first?.value ?? 0
    } catch { throw failed(error) }
  }

  private func failed(_ error: MuxerError) -> JoinError {
    .muxer(bridge.hasFailed ? .output : error)
  }

  /// Adds the pictures of a part, and the sound that is heard before each.
  private mutating func add(
    _ part: MediaPart, _ copy: inout MediaCopy, to number: Int, at offset: Int64
  ) throws(JoinError) {
    _ = copy.seekKey(before: part.start, from: part.zero)
    let last = part.times[part.times.count - 1]
    var (hasBegun, left) = (false, part.times.count)
    while left > 0 {
      do throws(MediaError) {
        guard unsafe try copy.media.read(into: copy.packet.pointer) else {
          throw copy.media.failure(.readFailed, "av_read_frame", 0)
        }
        if let fault = unsafe copy.media.encryption(copy.packet.pointer) { throw fault }
      } catch { throw .media(error) }
      let packet = unsafe copy.packet.pointer
      defer { unsafe libav.av_packet_unref(packet) }
      guard unsafe Int(packet.pointee.stream_index) == part.stream,
        unsafe packet.pointee.flags & AV_PKT_FLAG_DISCARD == 0, unsafe !copy.isTorn(packet),
        unsafe packet.pointee.size > 0,
        let (shown, decoded) = unsafe copy.times(of: packet)
      else { continue }
      hasBegun = hasBegun || shown == part.start
      guard hasBegun, shown >= part.start, shown <= last else { continue }
      if shown == last {
        let base = unsafe copy.stream(of: packet).pointee.time_base
        unsafe packet.pointee.duration = rescaled(
          part.end.clampedDifference(last), AVRational(num: 1, den: 1_000_000_000), to: base)
      }
      try addSound(before: offset.clampedSum(decoded.clampedDifference(part.start)))
      do throws(MuxerError) {
        unsafe try copy.write(
          packet, to: number, handle, from: part.start.clampedDifference(offset))
      } catch { throw failed(error) }
      left -= 1
    }
  }

  /// Adds the sound that is heard before a time, nanoseconds; all of it without one.
  private mutating func addSound(before time: Int64? = nil) throws(JoinError) {
    guard let format = sound?.format, let count = sound?.count else { return }
    let end = time.flatMap { sound?.sample(at: $0) } ?? count
    while let first = sound?.position, first < min(end, count) {
      let most = min(Self.blockSamples, Int(min(end, count) - first))
      var bytes: [UInt8] = []
      swap(&bytes, &block)
      defer { swap(&bytes, &block) }
      var room = bytes.mutableSpan
      let read = try sound?.read(most, into: &room) ?? 0
      guard read > 0 else { return }
      do throws(MuxerError) {
        try write(bytes.span.extracting(0..<read * format.sampleBytes), first, format)
      } catch { throw failed(error) }
    }
  }

  private func write(
    _ samples: Span<UInt8>, _ first: Int64, _ format: PCMFormat
  ) throws(MuxerError) {
    if let encoder {
      return unsafe try encoder.write(samples) { packet, number throws(MuxerError) in
        unsafe try send(packet, at: number, format)
      }
    }
    let packet = unsafe handle.packet
    defer { unsafe packet.pointee.data = nil }
    try unsafe samples.withUnsafeBufferPointer { (bytes) throws(MuxerError) in
      // The library copies it, and has no other type for what is read.
      unsafe packet.pointee.data = unsafe UnsafeMutablePointer(mutating: bytes.baseAddress)
      unsafe packet.pointee.size = Int32(samples.count)
      unsafe packet.pointee.duration = Int64(samples.count / format.sampleBytes)
      unsafe try send(packet, at: first, format)
    }
  }

  /// Hands on a packet that begins with that sample.
  private func send(
    _ packet: UnsafeMutablePointer<AVPacket>, at first: Int64, _ format: PCMFormat
  ) throws(MuxerError) {
    guard unsafe packet.pointee.size > 0,
      let stream = unsafe handle.context.pointee.streams[Int(soundStream)]
    else { return }
    unsafe (packet.pointee.pts, packet.pointee.dts) = (first, first)
    unsafe packet.pointee.stream_index = soundStream
    unsafe packet.pointee.pos = -1
    unsafe packet.pointee.flags |= AV_PKT_FLAG_KEY
    unsafe libav.av_packet_rescale_ts(
      packet, AVRational(num: 1, den: Int32(format.rate)), stream.pointee.time_base)
    let status = unsafe libav.av_interleaved_write_frame(handle.context, packet)
    guard status >= 0 else {
      throw .refused(operation: "av_interleaved_write_frame", status: status)
    }
  }

  private mutating func end(_ times: [Int: CopiedTimes]) throws(JoinError) {
    try addSound()
    notes += sound?.notes ?? []
    do throws(MuxerError) {
      if let format = sound?.format {
        unsafe try encoder?.finish { packet, number throws(MuxerError) in
          unsafe try send(packet, at: number, format)
        }
      }
      try MediaCopy.end(handle, bridge, container, times)
    } catch { throw failed(error) }
  }
}
