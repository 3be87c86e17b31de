// The words that threads share, and what their bits mean.

import Synchronization

/// How far a source, a lane or a gating tap has come, on cache lines of its own.
struct Cursor: ~Copyable, Sendable {
  /// Counts what happened to `passed`, in steps of 2; bit 0 says that somebody may be parked.
  /// First, so that a cursor's address is its event word's.
  let event = Atomic<UInt32>(0)
  /// All sequences below it have passed.
  let passed = Atomic<UInt64>(0)
  private let padding = InlineArray<14, UInt64>(repeating: 0)
}

/// One word on cache lines of its own.
struct LoneWord: ~Copyable, Sendable {
  let word: Atomic<UInt64>
  private let padding = InlineArray<15, UInt64>(repeating: 0)

  init(_ value: UInt64) { word = Atomic(value) }
}

/// What the workers of a parallel lane contend for.
struct Contest: ~Copyable, Sendable {
  /// The next sequence that a worker may claim.
  let claimed = LoneWord(0)
  /// How many have finished that the worker who is moving the lane's cursor has not yet seen.
  let pending = LoneWord(0)
}

/// The bits of a slot's pin word: generation (40) | reclaimed (1) | pins (23).
///
/// The generation is the low 40 bits of the sequence that the slot holds. To be mistaken for a
/// later one, a reader would have to sleep between two instructions for 2^40 frames: 34 years at
/// 1,000 frames per second.
enum PinWord {
  static let reclaimed: UInt64 = 1 << 23
  static let pins: UInt64 = reclaimed - 1

  /// The word of a slot that holds `sequence`, which nobody has pinned.
  static func holding(_ sequence: UInt64) -> UInt64 { sequence << 24 }

  static func holds(_ word: UInt64, _ sequence: UInt64) -> Bool {
    word & ~pins == holding(sequence)
  }

  static func isPinned(_ word: UInt64) -> Bool { word & pins != 0 }
}
