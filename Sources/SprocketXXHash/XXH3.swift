import CSprocketXXHash

/// The 128-bit XXH3 digest of bytes given in any number of pieces, seed 0.
///
/// Python's `xxhash.xxh3_128(data).hexdigest()` gives the same text. It finds accidents, not
/// attackers: it is no cryptographic digest.
@safe
public struct XXH3: ~Copyable {
  private let state: OpaquePointer

  /// Allocates 576 bytes, the last allocation. The corresponding C function is `XXH3_createState`.
  public init() {
    guard let state = unsafe XXH3_createState() else {
      preconditionFailure("no memory for 576 bytes")
    }
    unsafe self.state = state
    reset()
  }

  deinit { unsafe XXH3_freeState(state) }

  /// Begins anew. The corresponding C function is `XXH3_128bits_reset`.
  public mutating func reset() { _ = unsafe XXH3_128bits_reset(state) }

  /// The corresponding C function is `XXH3_128bits_update`.
  public mutating func update(_ bytes: Span<UInt8>) {
    let result = unsafe bytes.withUnsafeBufferPointer {
      unsafe XXH3_128bits_update(state, $0.baseAddress, $0.count)
    }
    precondition(result == XXH_OK, "XXH3_128bits_update refused its arguments")
  }

  /// The digest of all bytes since the last reset; more may follow.
  /// The corresponding C function is `XXH3_128bits_digest`.
  public var digest: XXH3Digest {
    let hash = unsafe XXH3_128bits_digest(state)
    return XXH3Digest(high: hash.high64, low: hash.low64)
  }
}

/// 128 bits; the canonical order of bytes is big-endian, `high` first.
public struct XXH3Digest: Sendable, Hashable, BitwiseCopyable {
  public static let byteCount = 16

  public var high: UInt64
  public var low: UInt64

  public init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// Byte `index` of the canonical order.
  public subscript(byte index: Int) -> UInt8 {
    precondition(index >= 0 && index < Self.byteCount, "a digest has 16 bytes")
    let word = index < 8 ? high : low
    return UInt8(truncatingIfNeeded: word >> UInt64(56 - 8 * (index % 8)))
  }
}
