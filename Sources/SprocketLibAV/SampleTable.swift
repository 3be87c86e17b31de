/// Where each frame of a movie is and how long it lasts: what a plain MOV or MP4 has at its end.
///
/// Grows by 4 bytes per frame, and a little per fragment and per change of duration.
struct SampleTable {
  /// Runs of equal values, as the files have them.
  struct Run: Equatable {
    var count: UInt32
    var value: UInt32
  }

  private(set) var sizes: [UInt32] = []
  private(set) var durations: [Run] = []
  /// Frames per chunk; a chunk is a fragment's frames, one behind the other.
  private(set) var chunks: [Run] = []
  /// Where each chunk begins in the file.
  private(set) var offsets: [UInt64] = []
  /// Of all frames, in ticks.
  private(set) var duration: UInt64 = 0
  private var lastTick: Int64?

  /// Bytes of the frames that are in no chunk yet, and how many those are.
  private(set) var pendingBytes = 0
  private(set) var pendingFrames: UInt32 = 0
  /// Ticks of the frame before the last, for the last.
  private(set) var lastGap: UInt32 = 0

  init() { sizes.reserveCapacity(4096) }

  mutating func append(byteCount: Int, tick: Int64) {
    if let lastTick { appendDuration(UInt32(clamping: tick - lastTick)) }
    lastTick = tick
    sizes.append(UInt32(byteCount))
    pendingBytes += byteCount
    pendingFrames += 1
  }

  /// The frames since the last chunk are one, and end at `end` in the file.
  mutating func endChunk(at end: UInt64) {
    guard pendingFrames > 0 else { return }
    offsets.append(end - UInt64(pendingBytes))
    Self.append(pendingFrames, to: &chunks)
    (pendingBytes, pendingFrames) = (0, 0)
  }

  /// Gives the last frame its duration; `nominal` if known, else as long as the one before.
  mutating func close(nominal: UInt32?) {
    guard lastTick != nil else { return }
    lastTick = nil
    appendDuration(nominal ?? max(lastGap, 1))
  }

  private mutating func appendDuration(_ ticks: UInt32) {
    lastGap = ticks
    duration += UInt64(ticks)
    Self.append(ticks, to: &durations)
  }

  private static func append(_ value: UInt32, to runs: inout [Run]) {
    if let last = runs.indices.last, runs[last].value == value {
      runs[last].count += 1
    } else {
      runs.append(Run(count: 1, value: value))
    }
  }
}
