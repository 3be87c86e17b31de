/// Where the samples of a track are and how long they last: what a plain MOV or MP4 has at its end. A picture
/// is a sample, and so is one number of sound from each channel.
///
/// Grows by 4 bytes per picture, 8 where it is shown at another time than it is decoded, and a little per
/// fragment and per change of duration.
struct SampleTable {
  /// Runs of equal values, as the files have them.
  struct Run<Value: Equatable & Sendable>: Equatable, Sendable {
    var count: UInt32
    var value: Value
  }

  let ticksPerSecond: Int32
  /// Bytes of each sample of sound; 0 for pictures, which have a size each.
  let sampleBytes: UInt32
  private(set) var sizes: [UInt32] = []
  private(set) var durations: [Run<UInt64>] = []
  /// Samples per chunk; a chunk is the track's part of a fragment, one sample behind the other.
  private(set) var chunks: [Run<UInt32>] = []
  /// Ticks from when a picture is decoded to when it is shown, as runs; below 0 where it is shown before.
  /// One run of zeros while none is reordered.
  private(set) var shifts: [Run<Int64>] = []
  /// Numbers of the key pictures, from 1. Empty while all pictures are keys.
  private(set) var keys: [UInt32] = []
  /// Where each chunk begins in the file.
  private(set) var offsets: [UInt64] = []
  /// How many samples there are.
  private(set) var count: UInt64 = 0
  /// Of all samples, in ticks.
  private(set) var duration: UInt64 = 0
  /// From the first picture to the end of the last one, in ticks, once the table is closed: shorter than
  /// `duration` where pictures are decoded long before they are shown.
  private(set) var shownDuration: UInt64?
  /// Pictures behind the end stay in the file, since others need them: an edit list hides them.
  private(set) var hidesEnd = false
  /// Of the last picture, when it is decoded.
  private(set) var lastTick: Int64?
  /// The first and the latest tick at which a picture is shown.
  private var firstShown: Int64 = .max
  private var lastShown: Int64 = 0
  private var hasShifts = false
  /// Whether some pictures are not keys: the file then needs `stss`.
  private(set) var hasReferences = false

  /// Bytes of the samples that are in no chunk yet, and how many those are.
  private(set) var pendingBytes = 0
  private(set) var pendingCount: UInt32 = 0
  /// Tick of the first of these.
  private(set) var pendingTick: Int64 = 0
  /// Ticks of the picture before the last, for the last.
  private(set) var lastGap: UInt64 = 0

  init(ticksPerSecond: Int32, sampleBytes: UInt32 = 0) {
    (self.ticksPerSecond, self.sampleBytes) = (ticksPerSecond, sampleBytes)
    if sampleBytes == 0 { sizes.reserveCapacity(4096) }
  }

  /// The file's tables count samples with 32 bits: more than a day of sound at 48 kHz has no index.
  var fitsIndex: Bool { count <= UInt64(UInt32.max) }

  /// Adds a picture, or a packet of sound, at the tick at which it is decoded. `shown` is the tick at which
  /// it is shown, if another.
  mutating func append(byteCount: Int, tick: Int64, shown: Int64? = nil, isKey: Bool = true) {
    if let lastTick { appendDuration(UInt64(max(0, tick - lastTick))) }
    lastTick = tick
    if pendingCount == 0 { pendingTick = tick }
    let shown = shown ?? tick
    firstShown = min(firstShown, shown)
    lastShown = max(lastShown, shown)
    hasShifts = hasShifts || shown != tick
    Self.append(shown - tick, to: &shifts)
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
    if pendingCount == 0 { pendingTick = Int64(count) }
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

  /// Where the last chunk is, and how many samples it has.
  var lastChunk: (offset: UInt64, count: UInt32)? {
    guard let offset = offsets.last, let run = chunks.last, run.value > 0 else { return nil }
    return (offset, run.value)
  }

  /// Adds samples that lie where those of a chunk do; it is repeated as often as needed.
  mutating func append(chunk: (offset: UInt64, count: UInt32), samples: Int) {
    var left = samples
    while left > 0 {
      let next = min(left, Int(chunk.count))
      offsets.append(chunk.offset)
      Self.append(UInt32(next), to: &chunks)
      left -= next
    }
    count += UInt64(samples)
    duration += UInt64(samples)
  }

  /// Samples that the file does not have.
  mutating func leaveOut(samples: Int) {
    count += UInt64(samples)
    duration += UInt64(samples)
  }

  /// The samples since the last chunk are in a file that says itself where they are.
  mutating func leaveOut() { (pendingBytes, pendingCount) = (0, 0) }

  /// Gives the last picture its duration: up to `end` (ticks) if that is known; else `nominal`, or as long as
  /// the one before.
  mutating func close(nominal: UInt64?, end: Int64? = nil) {
    if sampleBytes > 0 { durations = [Run(count: UInt32(clamping: count), value: 1)] }
    guard let last = lastTick else { return }
    lastTick = nil
    // Without a nominal length as long as the one before, but not as a hole.
    let length =
      end.map { max(1, $0 - lastShown) }
      ?? Int64(nominal ?? min(max(lastGap, 1), UInt64(ticksPerSecond)))
    appendDuration(UInt64(max(1, lastShown - last + length)))
    if hasShifts { shownDuration = UInt64(max(1, lastShown - firstShown + length)) }
  }

  private mutating func appendDuration(_ ticks: UInt64) {
    lastGap = ticks
    duration += ticks
    Self.append(ticks, to: &durations)
  }

  fileprivate static func append<Value: Equatable>(_ value: Value, to runs: inout [Run<Value>]) {
    if let last = runs.indices.last, runs[last].value == value {
      runs[last].count += 1
    } else {
      runs.append(Run(count: 1, value: value))
    }
  }
}

// The end of a track that is before its last samples.
extension SampleTable {
  /// Leaves out the samples that are shown, or heard, at tick `end` or later, but for those that earlier
  /// ones need; the first sample stays. Call it before `close`, when each sample is in a chunk. Returns the
  /// number of samples that are not shown any more. Takes 16 bytes per sample for the call.
  mutating func cut(at end: Int64) -> UInt64 {
    guard sampleBytes == 0 else {
      let excess = count - min(count, UInt64(clamping: max(1, end)))
      count -= excess
      duration -= excess
      dropFromChunks(excess)
      return excess
    }
    var ticks: [(decoded: Int64, shown: Int64)] = []
    ticks.reserveCapacity(sizes.count)
    var tick: Int64 = 0
    let lengths = durations.lazy.flatMap { repeatElement($0.value, count: Int($0.count)) }
    var next = lengths.makeIterator()
    for run in shifts {
      for _ in 0..<run.count {
        ticks.append((tick, tick + run.value))
        tick += Int64(clamping: next.next() ?? 0)
      }
    }
    guard lastShown >= end, let last = ticks.lastIndex(where: { $0.shown < end }) else { return 0 }
    let (kept, hidden) = (last + 1, ticks[...last].lazy.filter { $0.shown >= end }.count)
    let excess = ticks.count - kept
    sizes.removeLast(excess)
    Self.drop(excess, from: &shifts)
    Self.drop(excess, from: &durations)
    keys.removeAll { $0 > UInt32(clamping: kept) }
    dropFromChunks(UInt64(excess))
    (count, duration) = (UInt64(kept), UInt64(ticks[last].decoded))
    (lastTick, lastGap) = (ticks[last].decoded, durations.last?.value ?? 0)
    lastShown = ticks[...last].lazy.map(\.shown).filter { $0 < end }.max() ?? 0
    hidesEnd = hidden > 0
    return UInt64(excess + hidden)
  }

  private static func drop<Value>(_ count: Int, from runs: inout [Run<Value>]) {
    var left = count
    while left > 0, let last = runs.last {
      let some = min(left, Int(last.count))
      left -= some
      runs[runs.count - 1].count -= UInt32(some)
      if some == Int(last.count) { runs.removeLast() }
    }
  }

  private mutating func dropFromChunks(_ samples: UInt64) {
    var left = samples
    while left > 0, let run = chunks.last {
      let value = UInt64(run.value)
      Self.drop(1, from: &chunks)
      if value > left {
        Self.append(UInt32(value - left), to: &chunks)
      } else {
        offsets.removeLast()
      }
      left -= min(left, value)
    }
  }
}

// Times as a file can hold them.
extension SampleTable {
  /// Divisor of the ticks: the smallest divisor of ``ticksPerSecond`` with which each duration fits into 31
  /// bits and each shift into 28 bits. Players fail with larger durations, and FFmpeg ignores all shifts if
  /// one is larger. 1 if there is no long gap.
  var divisor: UInt64 {
    let longest = durations.map(\.value).max() ?? 0
    let farthest = shifts.map(\.value.magnitude).max() ?? 0
    let second = UInt64(ticksPerSecond)
    // Rounded, a value may be one more.
    func fits(_ divisor: UInt64) -> Bool {
      second % divisor == 0 && longest / divisor + 1 < 1 << 31 && farthest / divisor + 1 < 1 << 28
    }
    return (1...second).first(where: fits) ?? second
  }

  /// Runs of durations and shifts in ticks that are so many times longer, rounded from absolute times, so
  /// that no error adds up. Each sample lasts a tick at least, also where several round to the same one:
  /// libavformat gives wrong times to all samples behind one that lasts 0. A later gap makes up for it.
  /// `length` is the duration of the track, in the longer ticks.
  func times(
    dividedBy divisor: UInt64
  ) -> (durations: [Run<UInt64>], shifts: [Run<Int64>], length: UInt64) {
    let own = shownDuration ?? duration
    guard divisor > 1 else { return (durations, shifts, own) }
    var durations: [Run<UInt64>] = []
    var shifts: [Run<Int64>] = []
    func divided(_ tick: Int64) -> Int64 {
      let half = Int64(divisor / 2)
      return (tick + (tick < 0 ? -half : half)) / Int64(divisor)
    }
    var tick: Int64 = 0
    var start: Int64 = 0
    var (place, used) = (0, UInt32(0))
    for run in self.durations {
      for _ in 0..<run.count {
        let next = tick + Int64(clamping: run.value)
        let end = max(divided(next), start + 1)
        Self.append(UInt64(end - start), to: &durations)
        if place < self.shifts.count {
          Self.append(divided(tick + self.shifts[place].value) - start, to: &shifts)
          used += 1
          if used == self.shifts[place].count { (place, used) = (place + 1, 0) }
        }
        (tick, start) = (next, end)
      }
    }
    // Samples at the end that were made longer move the end, too.
    let late = start - divided(tick)
    return (durations, shifts, UInt64(divided(Int64(clamping: own)) + late))
  }
}
