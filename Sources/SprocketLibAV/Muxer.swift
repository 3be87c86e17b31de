internal import CSprocketLibAV

/// Writes a movie of JPEG images: MOV, MP4 or MKV.
///
/// While it grows, the file is fragments (MKV: clusters) of at most a second, so that what is cut off
/// can be read up to its last whole fragment. ``finish(nominalTicks:)`` makes it a plain file with an
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
/// Cost: this module allocates nothing per frame but 4 bytes of index; libavformat allocates for every
/// frame, and holds a fragment's frames until it is written.
@safe
public struct Muxer: ~Copyable {
  private let handle: MuxerHandle
  private let bridge: MuxerBridge
  private let container: MovieContainer
  private let header: Header
  private var table = SampleTable()
  private var fragmentStart: Int64?
  private var frameCount: UInt64 = 0

  /// Of the frames written, how many of the first are in fragments that the output took whole.
  public private(set) var durableFrames: UInt64 = 0
  /// The file's length up to the end of the last whole fragment, in bytes.
  public private(set) var durableEnd: Int64 = 0

  /// Bytes of a fragment after which the next begins early. Larger: more memory. libavformat takes
  /// up to twice as much.
  static let fragmentBytes = 16 << 20

  /// Writes the beginning of the file.
  ///
  /// The corresponding C functions are `avformat_alloc_output_context2` and `avformat_write_header`.
  public init(
    _ container: MovieContainer, _ description: MovieDescription, output: any MuxerOutput
  ) throws(MuxerError) {
    av_log_set_level(AV_LOG_QUIET)
    let bridge = MuxerBridge(output)
    let handle = try MuxerHandle(container, bridge)
    try handle.begin(container, description)
    let header = container.isQuickTime ? try Header(bridge) : Header()
    guard bridge.flush() else { throw .output }
    self.container = container
    self.bridge = bridge
    self.handle = handle
    self.header = header
    durableEnd = bridge.end
  }

  /// Adds an image; its tick is above that of the one before. `gap` is how many ticks it lasts, as far
  /// as is known by now.
  ///
  /// The corresponding C function is `av_write_frame`.
  public mutating func write(
    _ image: Span<UInt8>, tick: Int64, gap: Int64
  ) throws(MuxerError) {
    if let start = fragmentStart,
      tick - start >= Int64(container.ticksPerSecond) || table.pendingBytes >= Self.fragmentBytes
    {
      try flush()
    }
    if fragmentStart == nil { fragmentStart = tick }
    table.append(byteCount: image.count, tick: tick)
    let packet = unsafe handle.packet
    let status = unsafe image.withUnsafeBufferPointer { bytes in
      // The library does not change it: it has no other type for what is read.
      unsafe packet.pointee.data = unsafe UnsafeMutablePointer(mutating: bytes.baseAddress)
      unsafe packet.pointee.size = Int32(bytes.count)
      unsafe packet.pointee.pts = tick
      unsafe packet.pointee.dts = tick
      unsafe packet.pointee.duration = gap
      unsafe packet.pointee.flags = AV_PKT_FLAG_KEY
      return unsafe av_write_frame(handle.context, packet)
    }
    unsafe packet.pointee.data = nil
    try check(status, "av_write_frame")
    frameCount += 1
  }

  /// Ends the fragment and hands it to the output.
  public mutating func flush() throws(MuxerError) {
    guard table.pendingFrames > 0 else { return }
    fragmentStart = nil
    let status = unsafe av_write_frame(handle.context, nil)
    try handOn(min(status, 0), "av_write_frame")
    table.endChunk(at: UInt64(bridge.end))
    durableFrames = frameCount
    durableEnd = bridge.end
  }

  /// Ends the file and makes it plain. The last frame lasts `nominalTicks`, or as long as the one
  /// before it. Cost: in proportion to the number of frames.
  ///
  /// The corresponding C function, for MKV, is `av_write_trailer`.
  public mutating func finish(nominalTicks: Int64?) throws(MuxerError) {
    try flush()
    if container.isQuickTime {
      try finishQuickTime(nominalTicks)
    } else {
      let status = unsafe av_write_trailer(handle.context)
      try handOn(status, "av_write_trailer")
    }
  }

  private mutating func finishQuickTime(_ nominalTicks: Int64?) throws(MuxerError) {
    table.close(nominal: nominalTicks.map { UInt32(clamping: $0) })
    guard
      let index = MovieIndex.make(
        from: header.index.span, table: table, ticksPerSecond: container.ticksPerSecond)
    else { throw .refused(operation: "avformat_write_header", status: 0) }
    // On the disk in this order, too: the header of `mdat` hides the fragments.
    let end = bridge.end
    guard bridge.write(index.span, at: end), bridge.sync() else { throw .output }
    var patch: [UInt8] = [0, 0, 0, 1] + Array("mdat".utf8)
    let size = UInt64(end - Int64(header.freeOffset))
    patch += (0..<8).map { UInt8(truncatingIfNeeded: size >> (56 - 8 * $0)) }
    guard bridge.write(patch.span, at: Int64(header.freeOffset)) else { throw .output }
  }

  /// Hands on what the library has written so far.
  private func handOn(_ status: Int32, _ operation: String) throws(MuxerError) {
    unsafe avio_flush(handle.context.pointee.pb)
    _ = bridge.flush()
    try check(status, operation)
  }

  private func check(_ status: Int32, _ operation: String) throws(MuxerError) {
    if bridge.hasFailed { throw .output }
    if status < 0 { throw .refused(operation: operation, status: status) }
  }
}

/// What a MOV or MP4 begins with while it is recorded.
struct Header {
  /// The index that it is recorded with.
  let index: [UInt8]
  /// Where `free` is in the file.
  let freeOffset: Int

  /// For an MKV, which needs none.
  init() { (index, freeOffset) = ([], 0) }

  /// Writes what the library made the file begin with, and 16 bytes of `free` before its index.
  init(_ bridge: MuxerBridge) throws(MuxerError) {
    let free = [0, 0, 0, 16] + Array("free".utf8) + [UInt8](repeating: 0, count: 8)
    let made = bridge.takeBack(growth: free.count)
    guard let kind = Atom.first(in: made.span, 0..<made.count), kind.is("ftyp") else {
      throw .refused(operation: "avformat_write_header", status: 0)
    }
    freeOffset = kind.range.upperBound
    index = Array(made[freeOffset...])
    let all = made[..<freeOffset] + free + index
    guard bridge.write(all.span, at: 0) else { throw .output }
  }
}

/// Why a movie cannot be written.
public enum MuxerError: Error, Equatable, Sendable {
  /// The output could not: it knows why.
  case output
  /// libavformat would not.
  case refused(operation: String, status: Int32)
}

/// The library's context and packet.
@safe
struct MuxerHandle: ~Copyable {
  let context: UnsafeMutablePointer<AVFormatContext>
  private let packetOwner: Owned<AVPacket>
  var packet: UnsafeMutablePointer<AVPacket> { unsafe packetOwner.pointer }

  init(_ container: MovieContainer, _ bridge: MuxerBridge) throws(MuxerError) {
    var context: UnsafeMutablePointer<AVFormatContext>?
    let status = unsafe avformat_alloc_output_context2(
      &context, nil, container.muxerName, nil)
    guard status >= 0, let opened = unsafe context else {
      throw .refused(operation: "avformat_alloc_output_context2", status: status)
    }
    unsafe opened.pointee.pb = bridge.makeContext()
    guard let packet = unsafe Owned(av_packet_alloc(), free: av_packet_free),
      unsafe opened.pointee.pb != nil
    else {
      unsafe avformat_free_context(opened)
      throw .refused(operation: "av_packet_alloc", status: 0)
    }
    unsafe self.context = unsafe opened
    unsafe packetOwner = unsafe packet
  }

  deinit {
    var io = unsafe context.pointee.pb
    if let io = unsafe io { unsafe av_freep(&io.pointee.buffer) }
    unsafe avformat_free_context(context)
    unsafe avio_context_free(&io)
  }

  /// Writes the header of one stream of JPEG images.
  func begin(
    _ container: MovieContainer, _ description: MovieDescription
  ) throws(MuxerError) {
    guard let stream = unsafe avformat_new_stream(context, nil) else {
      throw .refused(operation: "avformat_new_stream", status: 0)
    }
    unsafe description.fill(stream)
    guard unsafe description.display.fill(stream, writesMatrix: container.keepsOrientation) else {
      throw .refused(operation: "av_stream_new_side_data", status: 0)
    }
    unsafe stream.pointee.time_base = AVRational(num: 1, den: container.ticksPerSecond)
    for tag in description.tags {
      unsafe av_dict_set(&context.pointee.metadata, tag.name, tag.value, 0)
    }
    var options: OpaquePointer?
    for (name, value) in container.options { unsafe av_dict_set(&options, name, value, 0) }
    let status = unsafe avformat_write_header(context, &options)
    let unknown = unsafe av_dict_count(options)
    unsafe av_dict_free(&options)
    unsafe avio_flush(context.pointee.pb)
    guard status >= 0, unknown == 0 else {
      throw .refused(operation: "avformat_write_header", status: status)
    }
  }
}
