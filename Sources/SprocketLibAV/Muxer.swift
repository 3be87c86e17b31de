internal import CSprocketLibAV

/// Writes a movie of pictures, sound or both. Pictures are JPEG images, a camera's packets, or what a
/// ``VideoEncoder`` makes; sound is PCM, or what a ``SoundEncoder`` makes.
///
/// While it grows, the file is fragments (MKV: clusters) of at most a second, so that what is cut off
/// can be read up to its last whole fragment. ``finish(nominalTicks:end:)`` makes it a plain file with an
/// index that players can seek in, without copying what was recorded:
///
/// ```
/// recording   ftyp  free  moov  moof mdat  moof mdat ...
/// finished    ftyp  mdat[ ....  .... ....  .... .... ] moov
/// ```
///
/// The index is put behind everything, synced, and then the 16 bytes of `free` become the header of one
/// large `mdat`, in one write. Before that write readers find the first index and fragments, after it
/// the last index. (OBS and FFmpeg 7 know such files as hybrid.)
///
/// Of pictures that are encoded in another order than they are shown, the first is shown and decoded at
/// tick 0; some of the others are shown before they would be decoded (`ctts` of version 1). So no edit
/// list is needed, and a file that was cut off is in step.
///
/// All tracks begin at tick 0, and sound has no gaps. In a fragment, the pictures are one behind the other,
/// and then each track's sound, and text: `mdat[picture picture ... sound sound ... sound ...]`. A track may
/// have nothing in a fragment. Sound that is written before the picture of its time is in the same fragment
/// as that, or in the one before. At the end of a fragment an MKV lacks the last 40 ms of sound at most,
/// which the next has.
///
/// A track of more than 2^32 samples, a day at 48 kHz, has no index: such a MOV stays fragments.
///
/// Cost: this module allocates nothing per frame or block but the index, see ``SampleTable``; libavformat
/// allocates for each of them, and holds a fragment until it is written.
@safe
public struct Muxer: ~Copyable {
  let handle: MuxerHandle
  let bridge: MuxerBridge
  let container: MovieContainer
  let header: Header
  /// `nil` in a file of sound alone.
  var picture: SampleTable?
  var sounds: [SoundBlocks]
  var text: TextTrack?
  var encoder: VideoEncoder?
  /// The library writes other bytes of pictures than it is given.
  let rewritesPictures: Bool
  /// The tick at which the encoder began.
  var firstTick: Int64 = 0
  /// What the library is handed, by stream.
  var clocks: [LibraryClock]
  /// Ticks by which pictures are decoded later than the encoder says, so that the first is at 0.
  var delay: Int64?
  /// `delay` of the file's first encoder; the library shifts all packets by it.
  var firstDelay: Int64?
  var fragmentStart: Int64?
  /// Bytes of the fragment under way.
  var pendingBytes = 0
  /// Bytes of pictures and sound that were added, as they are stored.
  public internal(set) var byteCount: UInt64 = 0
  /// MKV: the block that the library was handed last, and holds until the next.
  var kept: (track: Int, samples: Int)?

  /// Of the frames written, how many of the first are in fragments that the output took whole.
  public internal(set) var durableFrames: UInt64 = 0
  /// The file's length up to the end of the last whole fragment, in bytes.
  public private(set) var durableEnd: Int64 = 0

  /// Pictures behind the end that ``finish(nominalTicks:end:)`` was given: those that the file does not show,
  /// and those that an MKV, or a stream, shows all the same.
  public internal(set) var pastEnd: (leftOut: UInt64, shown: UInt64) = (0, 0)

  /// Seconds of a fragment.
  private let fragment: Double
  /// The same in ticks.
  var fragmentTicks: Int64 { Int64(fragment * Double(container.ticksPerSecond)) }

  /// Most samples of a fragment.
  func fragmentSamples(_ format: PCMFormat) -> Int { Int(fragment * Double(format.rate)) }

  /// Bytes of a fragment after which the next begins early. Larger: more memory. libavformat takes
  /// up to twice as much.
  static let fragmentBytes = 16 << 20

  /// Writes the beginning of the file. `hasText`: with a ``TextTrack``. `tags` are names without spaces, and
  /// values. `fragment` is the length of a fragment, in seconds. Traps where there is neither picture nor
  /// sound, and where the container does not hold PCM.
  ///
  /// The corresponding C functions are `avformat_alloc_output_context2` and `avformat_write_header`.
  public init(
    _ container: MovieContainer, _ picture: MovieDescription?, encoder: VideoEncoder? = nil,
    sound: [SoundTrack] = [], hasText: Bool = false,
    tags: [(name: String, value: String)] = [], fragment: Double = 1, output: any MuxerOutput
  ) throws(MuxerError) {
    precondition(fragment > 0 && fragment <= 1, "a fragment is a second at most")
    precondition(picture != nil || !sound.isEmpty, "a movie has pictures or sound")
    precondition(
      container.holdsPCM || sound.allSatisfy { $0.encoder != nil }, "an MP4 has no PCM")
    let bridge = MuxerBridge(output)
    let handle = try MuxerHandle(container.muxerName, bridge)
    try handle.begin(
      container, picture, encoder, sound, hasText: hasText, tags, fragment: fragment)
    let header = container.isQuickTime ? try Header(bridge) : Header()
    guard bridge.flush() else { throw .output }
    self.fragment = fragment
    self.container = container
    self.bridge = bridge
    self.handle = handle
    self.header = header
    self.picture = picture.map { _ in SampleTable(ticksPerSecond: container.ticksPerSecond) }
    sounds = sound.map { SoundBlocks($0) }
    text = hasText ? TextTrack(container) : nil
    self.encoder = encoder
    rewritesPictures = encoder != nil || picture?.packets != nil
    clocks = (0..<sound.count + 2).map { _ in LibraryClock() }
    durableEnd = bridge.end
  }

  /// Tick at which the last picture is decoded; `nil` before the first.
  public var pictureTick: Int64? { picture?.lastTick }

  /// Of the samples written to a track, how many of the first are in fragments that the output took whole.
  public func durableSamples(ofTrack track: Int) -> UInt64 { sounds[track].durable }

  /// Adds a JPEG image, or a camera's packet; its tick is above that of the one before. `gap` is how many
  /// ticks it lasts, as far as is known.
  ///
  /// The corresponding C function is `av_write_frame`.
  public mutating func write(
    _ image: Span<UInt8>, tick: Int64, gap: Int64, isKey: Bool = true
  ) throws(MuxerError) {
    if let start = fragmentStart,
      tick - start >= fragmentTicks || picture?.pendingCount ?? 0 >= Self.fragmentPictures
    {
      try flush()
    }
    try makeRoom()
    if fragmentStart == nil { fragmentStart = tick }
    precondition(picture != nil && encoder == nil, "this file's pictures come from an encoder")
    picture?.append(byteCount: image.count, tick: tick, shown: tick, isKey: isKey)
    try write(image, stream: 0, tick: tick, duration: gap, isKey: isKey)
    kept = nil
  }

  /// Adds sound to a track, of any length, right behind what the track has: whole samples, interleaved.
  ///
  /// The corresponding C function is `av_write_frame`.
  public mutating func write(audio: Span<UInt8>, track: Int) throws(MuxerError) {
    precondition(audio.count % sounds[track].format.sampleBytes == 0, "give whole samples")
    if let encoder = sounds[track].encoder {
      return unsafe try encoder.write(audio) { packet, first throws(MuxerError) in
        unsafe try append(packet, at: first, track)
      }
    }
    var done = 0
    while done < audio.count {
      let missing = sounds[track].missingBytes
      let next = done..<min(done + missing, audio.count)
      if sounds[track].holdsNothing, next.count == missing {
        try writeBlock(audio.extracting(next), track)
      } else {
        sounds[track].hold(audio.extracting(next))
        if next.count == missing {
          var block: [UInt8] = []
          sounds[track].takeHeld(&block)
          try writeBlock(block.span, track)
          sounds[track].giveBack(&block)
        }
      }
      done = next.upperBound
    }
  }

  private mutating func writeBlock(_ block: Span<UInt8>, _ track: Int) throws(MuxerError) {
    let (format, pending) = (sounds[track].format, sounds[track].table.pendingCount)
    if Int(pending) + block.count / format.sampleBytes > fragmentSamples(format) {
      try flush()
    }
    try makeRoom()
    try append(block, track)
  }

  private mutating func append(_ block: Span<UInt8>, _ track: Int) throws(MuxerError) {
    let (format, first) = (sounds[track].format, sounds[track].table.count)
    let samples = block.count / format.sampleBytes
    let ticks = container.isQuickTime ? Int32(format.rate) : container.ticksPerSecond
    let start = sounds[track].tick(of: first, per: ticks)
    let end = sounds[track].tick(of: first + UInt64(samples), per: ticks)
    sounds[track].table.append(samples: samples)
    try write(block, stream: track + (picture == nil ? 0 : 1), tick: start, duration: end - start)
    kept = container.isQuickTime ? nil : (track, samples)
  }

  mutating func makeRoom() throws(MuxerError) {
    if pendingBytes >= Self.fragmentBytes { try flush() }
  }

  mutating func write(
    _ bytes: Span<UInt8>, stream: Int, tick: Int64, duration: Int64, isKey: Bool = true
  ) throws(MuxerError) {
    pendingBytes += bytes.count
    byteCount += UInt64(bytes.count)
    let (tick, duration) = hand(tick, duration, stream: stream)
    let packet = unsafe handle.packet
    let status = unsafe bytes.withUnsafeBufferPointer { bytes in
      // The library does not change it: it has no other type for what is read.
      unsafe packet.pointee.data = unsafe UnsafeMutablePointer(mutating: bytes.baseAddress)
      unsafe packet.pointee.size = Int32(bytes.count)
      unsafe packet.pointee.stream_index = Int32(stream)
      unsafe packet.pointee.pts = tick
      unsafe packet.pointee.dts = tick
      unsafe packet.pointee.duration = duration
      unsafe packet.pointee.flags = isKey ? AV_PKT_FLAG_KEY : 0
      return unsafe libav.av_write_frame(handle.context, packet)
    }
    unsafe packet.pointee.data = nil
    try check(status, "av_write_frame")
  }

  /// Ends the fragment and hands it to the output.
  public mutating func flush() throws(MuxerError) {
    // A MOV has sound to the sample; in an MKV a block begins at a whole millisecond, so that no part of
    // one can be written but the last.
    if container.isQuickTime { try writeHeld() }
    guard pendingBytes > 0 else { return }
    pendingBytes = 0
    fragmentStart = nil
    if rewritesPictures, container.isQuickTime { bridge.keepNext() }
    noteFragmentTimes()
    let status = unsafe libav.av_write_frame(handle.context, nil)
    try handOn(min(status, 0), "av_write_frame")
    try noteSizes()
    noteChunks()
    for stream in clocks.indices { clocks[stream].beginFragment() }
    for track in sounds.indices {
      let keptSamples = kept?.track == track ? kept?.samples ?? 0 : 0
      sounds[track].durable = sounds[track].samples - UInt64(keptSamples)
    }
    // A picture that is shown before others may come behind them.
    let later = encoder?.reorderedFrames ?? 0
    durableFrames = max(durableFrames, (picture?.count ?? 0) - min(later, picture?.count ?? 0))
    durableEnd = bridge.end
  }

  /// Where the fragment's parts are, the last of which ends with the file.
  private mutating func noteChunks() {
    var end = UInt64(bridge.end)
    if container.isQuickTime {
      end = text?.table.endChunk(at: end) ?? end
    } else {
      text?.table.leaveOut()
    }
    for track in sounds.indices.reversed() {
      if container.isQuickTime {
        end = sounds[track].table.endChunk(at: end)
      } else {
        sounds[track].table.leaveOut()
      }
    }
    if container.isQuickTime { picture?.endChunk(at: end) } else { picture?.leaveOut() }
  }

  /// Hands the library what is held of each track's next block.
  mutating func writeHeld() throws(MuxerError) {
    for track in sounds.indices where sounds[track].encoder == nil && !sounds[track].holdsNothing {
      var block: [UInt8] = []
      sounds[track].takeHeld(&block)
      try append(block.span, track)
      sounds[track].giveBack(&block)
    }
  }

  /// Hands on what the library has written so far.
  func handOn(_ status: Int32, _ operation: String) throws(MuxerError) {
    unsafe libav.avio_flush(handle.context.pointee.pb)
    _ = bridge.flush()
    try check(status, operation)
  }

  func check(_ status: Int32, _ operation: String) throws(MuxerError) {
    if bridge.hasFailed { throw .output }
    if status < 0 { throw .refused(operation: operation, status: status) }
  }
}
