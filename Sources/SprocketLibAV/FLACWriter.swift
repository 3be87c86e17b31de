internal import CSprocketLibAV

/// Encodes sound as FLAC into a file of its own. 16-bit and 24-bit samples are stored without loss. 32-bit
/// and float samples are rounded to 24 bits.
///
/// A file that was cut off is readable up to its last whole second. Its length and checksum are written into
/// the file's beginning when the recording ends.
///
/// Cost: this module allocates nothing per block; libavcodec and libavformat do.
@safe
public struct FLACWriter: ~Copyable {
  private let handle: MuxerHandle
  private let bridge: MuxerBridge
  private let encoder: SoundEncoder
  private let format: PCMFormat
  /// Samples that are handed on at once.
  private let pieceSamples: UInt64

  /// How many of the written samples the output has taken.
  public private(set) var durableSamples: UInt64 = 0
  /// The file's length up to there, in bytes.
  public private(set) var durableEnd: Int64 = 0

  /// Writes the beginning of the file. `tags` are names without spaces, and values. The output gets what
  /// `fragment` seconds are. Traps for a rate that FLAC does not have.
  ///
  /// The corresponding C function is `avformat_write_header`.
  public init(
    _ format: PCMFormat, tags: [(name: String, value: String)] = [], fragment: Double = 1,
    output: any MuxerOutput
  ) throws(MuxerError) {
    precondition(SoundEncoder.holds(rate: format.rate), "ask `holds` before")
    let encoder: SoundEncoder
    do throws(EncoderError) {
      encoder = try SoundEncoder(.flac, format)
    } catch {
      throw .encoder(error)
    }
    let bridge = MuxerBridge(output)
    let handle = try MuxerHandle("flac", bridge)
    let stream = unsafe try handle.addStream()
    unsafe try encoder.fill(stream)
    unsafe stream.pointee.time_base = AVRational(num: 1, den: Int32(format.rate))
    try handle.writeHeader(tags, [])
    guard bridge.flush() else { throw .output }
    self.encoder = encoder
    self.bridge = bridge
    self.handle = handle
    self.format = format
    pieceSamples = UInt64(max(1, fragment * Double(format.rate)))
    durableEnd = bridge.end
  }

  /// Adds samples, whole ones, interleaved.
  public mutating func write(_ samples: Span<UInt8>) throws(MuxerError) {
    precondition(samples.count % format.sampleBytes == 0, "give whole samples")
    unsafe try encoder.write(samples) { packet, _ throws(MuxerError) in unsafe try write(packet) }
    if encoder.encoded - durableSamples >= pieceSamples { try handOn() }
  }

  /// The corresponding C function is `av_write_frame`.
  private func write(_ packet: UnsafeMutablePointer<AVPacket>) throws(MuxerError) {
    try check(unsafe libav.av_write_frame(handle.context, packet), "av_write_frame")
  }

  private mutating func handOn() throws(MuxerError) {
    unsafe libav.avio_flush(handle.context.pointee.pb)
    _ = bridge.flush()
    try check(0, "avio_flush")
    durableSamples = encoder.encoded
    durableEnd = bridge.end
  }

  /// Ends the file.
  ///
  /// The corresponding C function is `av_write_trailer`.
  public mutating func finish() throws(MuxerError) {
    unsafe try encoder.finish { packet, _ throws(MuxerError) in unsafe try write(packet) }
    try check(unsafe libav.av_write_trailer(handle.context), "av_write_trailer")
    try handOn()
  }

  private func check(_ status: Int32, _ operation: String) throws(MuxerError) {
    if bridge.hasFailed { throw .output }
    if status < 0 { throw .refused(operation: operation, status: status) }
  }
}
