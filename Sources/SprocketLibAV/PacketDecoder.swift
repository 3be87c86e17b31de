internal import CSprocketLibAV
public import SprocketPixels

/// Decodes packets of H.264 or HEVC as a camera gives them: each to its picture, with no picture held back.
///
/// What is lent may outlive the decoder. Cost: libavcodec's; it decodes on as many threads as a picture has
/// slices, since decoding several pictures at once would hold them back.
public struct PacketDecoder: ~Copyable {
  private var decoder: Decoder
  private var converter = Converter()
  private let pool = LentPool()
  private let scratch: LentShell
  private let name: String
  /// Number of the packet, which its picture has.
  private var place = 0

  /// `name` is the camera's, for messages.
  public init(_ format: PixelFormat, name: String) throws(MediaError) {
    if let missing = LibAV.missing {
      throw MediaError(code: .library(missing), operation: "", status: 0, path: name)
    }
    let pool = pool
    guard let scratch = pool.lend() else {
      throw MediaError(code: .outOfMemory, operation: "av_frame_alloc", status: 0, path: name)
    }
    decoder = try Decoder(
      format == .hevc ? AV_CODEC_ID_HEVC : AV_CODEC_ID_H264, isPrompt: true, path: name)
    self.scratch = scratch
    self.name = name
  }

  /// Whether pictures are shown in another order than they are decoded, so far.
  public var reorders: Bool { decoder.reorders }

  /// The picture of a packet; `nil` where the packet is damaged, or refers to pictures that did not come, as
  /// far as libavcodec finds out: of HEVC that is cut short it does not. `sets` are parameter sets that
  /// belong before it.
  public mutating func decode(
    _ bytes: Span<UInt8>, behind sets: Span<UInt8> = Span()
  ) throws(MediaError) -> DecodedFrame? {
    place += 1
    let packet = unsafe scratch.packet
    unsafe libav.av_shrink_packet(packet, 0)
    guard bytes.count > 0, bytes.count < Int(Int32.max) / 2,
      unsafe libav.av_grow_packet(packet, Int32(sets.count + bytes.count)) == 0,
      let data = unsafe packet.pointee.data
    else { return nil }
    func copy(_ part: Span<UInt8>, to target: UnsafeMutablePointer<UInt8>) {
      unsafe part.withUnsafeBytes { source in
        guard let base = source.baseAddress else { return }
        unsafe UnsafeMutableRawPointer(target).copyMemory(from: base, byteCount: source.count)
      }
    }
    unsafe copy(sets, to: data)
    unsafe copy(bytes, to: data + sets.count)
    guard unsafe try decoder.send(packet, place: place, path: name) else { return nil }
    var found: DecodedFrame?
    // An older picture that comes out late is left out: its frame has gone.
    while unsafe decoder.receive(into: scratch.frame) == .frame {
      let source = unsafe scratch.frame
      let isWhole =
        unsafe source.pointee.decode_error_flags == 0
        && source.pointee.flags & AV_FRAME_FLAG_CORRUPT == 0
      guard unsafe Int(source.pointee.reordered_opaque >> 1) == place, isWhole,
        let shell = pool.lend()
      else {
        unsafe libav.av_frame_unref(source)
        continue
      }
      found = unsafe converter.take(source, into: shell)
    }
    return found
  }

  /// Forgets the pictures so far: the next packet is a key frame, or of another stream.
  public mutating func flush() { decoder.flush() }
}

extension Converter {
  /// Moves a decoded picture into a shell, converted where nobody else knows its format. `nil` where that is
  /// impossible.
  mutating func take(
    _ source: UnsafeMutablePointer<AVFrame>, into shell: consuming LentShell
  ) -> DecodedFrame? {
    let original = unsafe AVPixelFormat(source.pointee.format)
    var color = unsafe MediaColor(
      range: source.pointee.color_range, matrix: source.pointee.colorspace,
      transfer: source.pointee.color_trc, primaries: source.pointee.color_primaries,
      chromaSite: source.pointee.chroma_location, format: original)
    if let format = PixelFormat(original), unsafe Converter.isUpright(source) {
      if unsafe shell.pointer.pointee.ownsMemory {
        unsafe libav.av_frame_unref(shell.frame)
        unsafe shell.pointer.pointee.ownsMemory = false
      }
      unsafe libav.av_frame_move_ref(shell.frame, source)
      return DecodedFrame(shell, DecodedContent(format: format, color: color))
    }
    unsafe shell.pointer.pointee.ownsMemory = true
    let isConverted = unsafe convert(source, into: shell.frame)
    unsafe libav.av_frame_unref(source)
    guard isConverted,
      let format = unsafe PixelFormat(AVPixelFormat(shell.frame.pointee.format))
    else { return nil }
    if format.isRGB {
      (color.range, color.matrix) = (.full, .bt601)
    }
    return DecodedFrame(shell, DecodedContent(format: format, color: color))
  }
}
