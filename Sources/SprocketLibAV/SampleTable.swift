/// Where the samples of a track are and how long they last: what a plain MOV or MP4 has at its end. A picture
/// is a sample, and so is one number of sound from each channel.
///
/// Grows by 4 bytes per picture, 8 where it is shown at another time than it is decoded, and a little per
/// fragment and per change of duration.
struct SampleTable {
  /// Runs of equal values, as the files have them.
  struct Run: Equatable {
    var count: UInt32
    var value: UInt32
  }

  let ticksPerSecond: Int32
  /// Bytes of each sample of sound; 0 for pictures, which have a size each.
  let sampleBytes: UInt32
  private(set) var sizes: [UInt32] = []
  private(set) var durations: [Run] = []
  /// Samples per chunk; a chunk is the track's part of a fragment, one sample behind the other.
  private(set) var chunks: [Run] = []
  /// Ticks from when a picture is decoded to when it is shown, as runs; below 0 where it is shown before.
  /// One run of zeros while none is reordered.
  private(set) var shifts: [Run] = []
  /// Numbers of the key pictures, from 1. Empty while all pictures are keys.
  private(set) var keys: [UInt32] = []
  /// Where each chunk begins in the file.
  private(set) var offsets: [UInt64] = []
  /// How many samples there are.
  private(set) var count: UInt64 = 0
  /// Of all samples, in ticks.
  private(set) var duration: UInt64 = 0
  /// Of the last picture, when it is decoded.
  private(set) var lastTick: Int64?
  /// The latest tick at which a picture is shown.
  private var lastShown: Int64 = 0
  private var hasShifts = false
  /// Whether some pictures are not keys: the file then needs `stss`.
  private(set) var hasReferences = false

  /// Bytes of the samples that are in no chunk yet, and how many those are.
  private(set) var pendingBytes = 0
  private(set) var pendingCount: UInt32 = 0
  /// Ticks of the picture before the last, for the last.
  private(set) var lastGap: UInt32 = 0

  init(ticksPerSecond: Int32, sampleBytes: UInt32 = 0) {
    (self.ticksPerSecond, self.sampleBytes) = (ticksPerSecond, sampleBytes)
    if sampleBytes == 0 { sizes.reserveCapacity(4096) }
  }

  /// The file's tables count samples with 32 bits: more than a day of sound at 48 kHz has no index.
  var fitsIndex: Bool { count <= UInt64(UInt32.max) }

  /// Adds a picture, or a packet of sound, at the tick at which it is decoded. `shown` is the tick at which
  /// it is shown, if another.
  mutating func append(byteCount: Int, tick: Int64, shown: Int64? = nil, isKey: Bool = true) {
    if let lastTick { appendDuration(UInt32(clamping: tick - lastTick)) }
    lastTick = tick
    let shown = shown ?? tick
    lastShown = max(lastShown, shown)
    hasShifts = hasShifts || shown != tick
    Self.append(UInt32(bitPattern: Int32(clamping: shown - tick)), to: &shifts)
    sizes.append(UInt32(byteCount))
    count += 1
    let number = UInt32(clamping: count)
    if !isKey, !hasReferences {
      hasReferences = true
      if number > 1 { keys = Array(1..<number) }
    } else if isKey, hasReferences {
      keys.append(number)
    }
    pendingBytes += byteCount
    pendingCount += 1
  }

  /// Whether pictures are shown in another order than they are decoded: the file then needs `ctts`.
  var isReordered: Bool { hasShifts }

  /// The sizes of the samples since the last chunk, which were not known when they were added. False if there
  /// are others.
  mutating func setPendingSizes(_ new: [UInt32]) -> Bool {
    guard new.count == Int(pendingCount) else { return false }
    for (index, size) in new.enumerated() { sizes[sizes.count - new.count + index] = size }
    pendingBytes = new.reduce(0) { $0 + Int($1) }
    return true
  }

  /// Adds samples of sound, each of them a tick long.
  mutating func append(samples: Int) {
    count += UInt64(samples)
    duration += UInt64(samples)
    pendingBytes += samples * Int(sampleBytes)
    pendingCount += UInt32(samples)
  }

  /// The samples since the last chunk are one, and end at `end` in the file. Returns where they begin.
  @discardableResult mutating func endChunk(at end: UInt64) -> UInt64 {
    guard pendingCount > 0 else { return end }
    let start = end - UInt64(pendingBytes)
    offsets.append(start)
    Self.append(pendingCount, to: &chunks)
    leaveOut()
    return start
  }

  /// The samples since the last chunk are in a file that says itself where they are.
  mutating func leaveOut() { (pendingBytes, pendingCount) = (0, 0) }

  /// Gives the last picture its duration; `nominal` if known, else as long as the one before.
  mutating func close(nominal: UInt32?) {
    if sampleBytes > 0 { durations = [Run(count: UInt32(clamping: count), value: 1)] }
    guard let last = lastTick else { return }
    lastTick = nil
    let length = Int64(nominal ?? max(lastGap, 1))
    appendDuration(UInt32(clamping: max(1, lastShown - last + length)))
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
