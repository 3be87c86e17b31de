internal import CSprocketLibAV

/// Reads files whole, such as photographs, and lends them as packets.
///
/// Cost: libavutil allocates for every file.
public struct WholeFileReader: ~Copyable {
  private let pool = LentPool()

  public init() {}

  /// Most bytes of a file that is read whole. Larger: larger photographs stay as they are; each is in memory
  /// once per frame under way.
  private static let mostBytes = 1 << 28

  /// All bytes of a file, at time 0; `nil` if they are more than 256 MB. When `isInterrupted` says so, it
  /// throws ``MediaError/Code/interrupted`` at the next opportunity.
  ///
  /// The corresponding C function is `av_get_packet`.
  public func read(
    path: String, isInterrupted: @escaping @Sendable () -> Bool = { false }
  ) throws(MediaError) -> EncodedPacket? {
    let input = try FileInput(path, isInterrupted: isInterrupted)
    guard input.byteCount <= Self.mostBytes else { return nil }
    guard let shell = pool.lend() else {
      throw MediaError(code: .outOfMemory, operation: "av_packet_alloc", status: 0, path: path)
    }
    let status = unsafe libav.av_get_packet(input.handle, shell.packet, Int32(input.byteCount))
    try input.checkInterruption()
    guard status >= 0 else {
      throw MediaError(
        code: status == -ENOMEM ? .outOfMemory : .readFailed, operation: "av_get_packet",
        status: status, path: path)
    }
    unsafe shell.pointer.pointee.time = 0
    unsafe shell.pointer.pointee.isTimeMade = true
    unsafe shell.pointer.pointee.isKeyframe = true
    unsafe shell.pointer.pointee.isCorrupt = status < input.byteCount
    return EncodedPacket(shell, EncodedContent())
  }
}
