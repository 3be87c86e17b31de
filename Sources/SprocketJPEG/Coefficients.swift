internal import Glibc

/// Which coefficients of a progressive image are known not to be 0, a bit each and a word for each block:
/// scans that refine have a bit more of just these.
@safe
struct Coefficients: ~Copyable {
  private var words: UnsafeMutablePointer<UInt64>?

  init() { unsafe words = nil }

  deinit { unsafe free(words) }

  /// All 0; false where there is no memory.
  mutating func reserve(_ blocks: Int) -> Bool {
    release()
    let memory = unsafe calloc(blocks, MemoryLayout<UInt64>.stride)
    unsafe words = unsafe memory?.bindMemory(to: UInt64.self, capacity: blocks)
    return unsafe words != nil
  }

  mutating func release() {
    unsafe free(words)
    unsafe words = nil
  }

  /// The caller stays within the blocks that it reserved.
  subscript(block: Int) -> UInt64 {
    get { unsafe words?[block] ?? 0 }
    nonmutating set { unsafe words?[block] = newValue }
  }
}
