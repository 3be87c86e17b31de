internal import CSprocketLibAV
internal import SprocketPixels

/// The library's context and packet.
@safe
struct MuxerHandle: ~Copyable {
  let context: UnsafeMutablePointer<AVFormatContext>
  private let packetOwner: Owned<AVPacket>
  var packet: UnsafeMutablePointer<AVPacket> { unsafe packetOwner.pointer }

  /// `name` is the library's for a kind of file.
  init(_ name: String, _ bridge: MuxerBridge) throws(MuxerError) {
    if let missing = LibAV.missing { throw .library(missing) }
    var context: UnsafeMutablePointer<AVFormatContext>?
    let status = unsafe libav.avformat_alloc_output_context2(&context, nil, name, nil)
    guard status >= 0, let opened = unsafe context else {
      throw .refused(operation: "avformat_alloc_output_context2", status: status)
    }
    unsafe opened.pointee.pb = bridge.makeContext()
    guard let packet = unsafe Owned(libav.av_packet_alloc(), free: libav.av_packet_free),
      unsafe opened.pointee.pb != nil
    else {
      unsafe libav.avformat_free_context(opened)
      throw .refused(operation: "av_packet_alloc", status: 0)
    }
    unsafe self.context = unsafe opened
    unsafe packetOwner = unsafe packet
  }

  deinit {
    var io = unsafe context.pointee.pb
    if let io = unsafe io { unsafe libav.av_freep(&io.pointee.buffer) }
    unsafe libav.avformat_free_context(context)
    unsafe libav.avio_context_free(&io)
  }

  /// Writes the header: a stream of JPEG images, or of what `encoder` makes, one for each track of sound, and
  /// one of text.
  func begin(
    _ container: MovieContainer, _ picture: MovieDescription?, _ encoder: VideoEncoder?,
    _ sound: [SoundTrack], hasText: Bool, _ tags: [(name: String, value: String)],
    fragment: Double
  ) throws(MuxerError) {
    if let picture {
      let stream = unsafe try addStream()
      unsafe picture.fill(stream)
      if let encoder { unsafe try encoder.fill(stream, container) }
      guard unsafe picture.fillPackets(stream, container),
        unsafe picture.display.fill(stream, writesMatrix: container.keepsOrientation),
        unsafe picture.hdr?.fill(stream) ?? true
      else {
        throw .refused(operation: "av_stream_new_side_data", status: 0)
      }
      unsafe stream.pointee.time_base = AVRational(num: 1, den: container.ticksPerSecond)
    }
    for track in sound {
      let stream = unsafe try addStream()
      unsafe try track.fill(stream, container)
      unsafe stream.pointee.time_base = AVRational(num: 1, den: Int32(track.format.rate))
    }
    if hasText { unsafe TextTrack.fill(try addStream(), container) }
    try writeHeader(tags, container.options(isEncoded: encoder != nil, fragment: fragment))
  }

  /// Removes what the file was to say of itself under a name.
  ///
  /// The corresponding C function is `av_dict_set`, without a value.
  func removeTag(_ name: String) {
    _ = unsafe libav.av_dict_set(&context.pointee.metadata, name, nil, 0)
  }

  /// The corresponding C function is `avformat_write_header`.
  func writeHeader(
    _ tags: [(name: String, value: String)], _ wishes: [(String, String)]
  ) throws(MuxerError) {
    for tag in tags {
      _ = unsafe libav.av_dict_set(&context.pointee.metadata, tag.name, tag.value, 0)
    }
    var options: OpaquePointer?
    for (name, value) in wishes { _ = unsafe libav.av_dict_set(&options, name, value, 0) }
    let status = unsafe libav.avformat_write_header(context, &options)
    let unknown = unsafe libav.av_dict_count(options)
    unsafe libav.av_dict_free(&options)
    unsafe libav.avio_flush(context.pointee.pb)
    guard status >= 0, unknown == 0 else {
      throw .refused(operation: "avformat_write_header", status: status)
    }
  }

  func addStream() throws(MuxerError) -> UnsafeMutablePointer<AVStream> {
    guard let stream = unsafe libav.avformat_new_stream(context, nil) else {
      throw .refused(operation: "avformat_new_stream", status: 0)
    }
    return unsafe stream
  }
}
