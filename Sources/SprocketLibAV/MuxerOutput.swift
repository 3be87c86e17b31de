internal import CSprocketLibAV

/// Where a ``Muxer`` writes. What it cannot do it keeps to itself, for whoever made it.
public protocol MuxerOutput: AnyObject {
  /// Writes all of `bytes` at `offset` in the file; returns whether it could.
  func write(_ bytes: Span<UInt8>, at offset: Int64) -> Bool
  /// Makes what was written durable; returns whether it could.
  func sync() -> Bool
  /// Whether it is a pipe: bytes go out one behind the other, and nothing is gone back to.
  var isStream: Bool { get }
}

extension MuxerOutput {
  public var isStream: Bool { false }
}

/// Takes what libavformat writes and hands it on: large pieces as they are, small ones gathered, for
/// the library goes back to fill in the sizes of what it wrote. Nothing is with the output before
/// `flush`.
@safe
final class MuxerBridge {
  private let output: any MuxerOutput
  /// Where the library writes next, as it counts.
  private var position: Int64 = 0
  /// The file's length.
  private(set) var end: Int64 = 0
  /// Bytes of the file that the library does not know of.
  private var shift: Int64 = 0
  /// The output refused something: nothing more is written.
  private(set) var hasFailed = false
  /// What was gathered, and where it belongs.
  private var gathered: [UInt8] = []
  private var gatheredStart: Int64 = 0
  /// Bytes that are gathered before they are written to the file.
  private var limit = 1 << 16
  /// Written into the next fragment's header: when each track's first sample is decoded.
  var fragmentTimes: [UInt32: UInt64] = [:]
  /// Whether the next bytes that are written are also copied to `kept`.
  private var keepsNext = false
  private(set) var kept: [UInt8] = []

  var isStream: Bool { output.isStream }

  init(_ output: any MuxerOutput) {
    self.output = output
    gathered.reserveCapacity(limit)
  }

  /// Takes what the library writes at `position`.
  func take(_ bytes: Span<UInt8>) -> Bool {
    let offset = Int(position - gatheredStart)
    let fits = offset >= 0 && offset <= gathered.count && bytes.count <= limit - offset
    if !fits || gathered.isEmpty {
      guard flush() else { return false }
      if bytes.count >= limit {
        guard write(bytes, at: position + shift) else { return false }
        position += Int64(bytes.count)
        return true
      }
      gatheredStart = position
    }
    let start = Int(position - gatheredStart)
    let common = min(bytes.count, gathered.count - start)
    for index in 0..<common { gathered[start + index] = bytes[index] }
    unsafe bytes.extracting(common..<bytes.count).withUnsafeBufferPointer {
      unsafe gathered.append(contentsOf: $0)
    }
    position += Int64(bytes.count)
    return true
  }

  /// Hands on what was gathered.
  func flush() -> Bool {
    guard !gathered.isEmpty else { return !hasFailed }
    if !fragmentTimes.isEmpty {
      FragmentHeader.set(times: fragmentTimes, in: &gathered)
      fragmentTimes.removeAll(keepingCapacity: true)
    }
    if keepsNext {
      keepsNext = false
      kept.append(contentsOf: gathered)
    }
    let isWritten = write(gathered.span, at: gatheredStart + shift)
    gathered.removeAll(keepingCapacity: true)
    return isWritten
  }

  /// The small pieces that the library writes next, up to the first large one, are kept in `kept`.
  func keepNext() {
    keepsNext = true
    kept.removeAll(keepingCapacity: true)
  }

  /// From now on all that is written, one piece behind the other, is gathered.
  func gatherAll() -> Bool {
    guard flush() else { return false }
    limit = .max
    return true
  }

  /// Changes what was gathered and is written next: the file's end.
  func changeGathered(_ change: ([UInt8]) -> [UInt8]) { gathered = change(gathered) }

  /// What was gathered since the file began, for ``writeInstead(_:)`` to change.
  func takeBack() -> [UInt8] { gathered }

  /// Writes that instead of what was gathered since the file began.
  func writeInstead(_ bytes: [UInt8]) -> Bool {
    shift = Int64(bytes.count - gathered.count)
    gathered.removeAll(keepingCapacity: true)
    return write(bytes.span, at: 0)
  }

  /// Writes at a place of the file, whatever the library does.
  func write(_ bytes: Span<UInt8>, at offset: Int64) -> Bool {
    guard !hasFailed else { return false }
    hasFailed = !output.write(bytes, at: offset)
    if !hasFailed { end = max(end, offset + Int64(bytes.count)) }
    return !hasFailed
  }

  func sync() -> Bool {
    guard !hasFailed else { return false }
    hasFailed = !output.sync()
    return !hasFailed
  }

  /// As lseek(2), and the length where `whence` is `AVSEEK_SIZE`.
  func seek(_ offset: Int64, _ whence: Int32) -> Int64 {
    switch whence & ~AVSEEK_FORCE {
    case AVSEEK_SIZE: return end - shift
    case SEEK_SET: position = offset
    case SEEK_CUR: position += offset
    case SEEK_END: position = end - shift + offset
    default: return -1
    }
    return position
  }

  /// The library's side of this: it does not keep this object alive.
  ///
  /// The corresponding C function is `avio_alloc_context`.
  func makeContext() -> UnsafeMutablePointer<AVIOContext>? {
    // For single bytes and numbers; with `direct` all else goes past it.
    let size = 4096
    guard let buffer = unsafe libav.av_malloc(size) else { return nil }
    let context = unsafe libav.avio_alloc_context(
      buffer.assumingMemoryBound(to: UInt8.self), Int32(size), 1,
      Unmanaged.passUnretained(self).toOpaque(), nil,
      { opaque, data, count in
        guard let opaque = unsafe opaque, let data = unsafe data else { return -1 }
        let bridge = unsafe Unmanaged<MuxerBridge>.fromOpaque(opaque).takeUnretainedValue()
        let bytes = unsafe Span(_unsafeStart: data, count: Int(count))
        return bridge.take(bytes) ? count : SPROCKET_AVERROR_EIO
      },
      { opaque, offset, whence in
        guard let opaque = unsafe opaque else { return -1 }
        let bridge = unsafe Unmanaged<MuxerBridge>.fromOpaque(opaque).takeUnretainedValue()
        return bridge.seek(offset, whence)
      })
    guard let context = unsafe context else {
      unsafe libav.av_free(buffer)
      return nil
    }
    unsafe context.pointee.direct = 1
    // Then the library leaves out what it would go back for: sizes, durations, and an index of MKV.
    if isStream { unsafe context.pointee.seekable = 0 }
    return unsafe context
  }
}
