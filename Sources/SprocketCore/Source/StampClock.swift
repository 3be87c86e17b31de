/// Makes capture times of a driver's stamps, and repairs those that cannot be right. Pure: the caller gives
/// the time of arrival.
///
/// - A stamp on CLOCK_MONOTONIC is trusted if it is later than the one before, less than a second after its
///   arrival, and either less than two seconds before it or where the line through the trusted stamps
///   before has that frame.
/// - A stamp of another clock that runs (CLOCK_REALTIME, a camera's own, one that has wrapped) is moved by
///   its distance to arrivals: the least of the last frames, less the transfer's duration.
/// - A frame without a stamp, or with one that stands still or goes back, gets its time by its sequence
///   number: from the line through the trusted stamps of the last frames, or else from the line below their
///   arrivals, for a transfer may be delayed and comes never early.
///
/// The transfer's duration is the least that trusted stamps have shown; without any it is taken for 0, so
/// that times are late by it. Times never go back but after a stamp that lay in the future.
package struct StampClock: Sendable {
  /// What a driver says of a frame's time.
  package struct Stamp: Sendable {
    /// 0 where it says nothing.
    package var nanoseconds: Int64
    /// Whether it is on CLOCK_MONOTONIC, as far as the driver can be believed.
    package var isMonotonic: Bool

    package init(_ nanoseconds: Int64, isMonotonic: Bool) {
      (self.nanoseconds, self.isMonotonic) = (nanoseconds, isMonotonic)
    }
  }

  private struct Frame {
    var sequence: UInt64
    var arrival: Int64
    /// When it was captured, if its stamp was trusted.
    var captured: Int64?
  }

  /// Frames that lines are drawn through. Larger: less jitter is left, and a change of rate is followed
  /// later.
  private static let length = 256
  /// Frames from which on a line is known well enough. Smaller: earlier repairs, with more jitter.
  private static let enough = 8
  /// Nanoseconds from capture to arrival at most, where no line says otherwise. Longer: the stamps of
  /// clocks that began lately are believed.
  package static let longest: Int64 = 2_000_000_000
  /// Nanoseconds by which a stamp may lie in the future: drivers that count their frames run ahead of the
  /// clock. Larger: stamps of other clocks are believed.
  package static let future: Int64 = 1_000_000_000

  private var frames: [Frame] = []
  private var next = 0
  /// Of the last frames with a stamp of a running foreign clock: arrival less stamp.
  private var offsets: [Int64] = []
  private var nextOffset = 0
  /// The last frame's own stamp, where it was not trusted.
  private var foreign: (stamp: Int64, sequence: UInt64, arrival: Int64)?
  private var lastTrusted = Int64.min
  private var last = Int64.min
  /// Frames whose stamp was not used as it was.
  package private(set) var repaired: UInt64 = 0
  /// Mean of a frame's interval, and of its distance from that mean, nanoseconds, of trusted stamps; 0
  /// before.
  private var interval = 0.0
  private var deviation = 0.0
  /// Nanoseconds from capture to arrival, the least that the last trusted stamps have shown; 0 before.
  private var transfer: Int64 = 0
  /// Corners of the lower hull of arrivals; kept for its memory.
  private var hull: [(x: Double, y: Double)] = []
  /// Frames in a row that came later than their line said.
  private var strays = 0

  package init() {
    frames.reserveCapacity(Self.length)
    offsets.reserveCapacity(Self.length)
    hull.reserveCapacity(Self.length + 1)
  }

  /// From one frame to the next, lost ones counted, on average over the last 64 or so trusted stamps;
  /// nanoseconds, 0 before there are some.
  package var meanInterval: Int64 { Int64(interval) }

  /// How far the intervals of trusted stamps are from their mean, on average over the last 64 or so;
  /// nanoseconds.
  package var jitter: Int64 { Int64(deviation) }

  /// The stream begins anew: its numbers do, and its stamps may be another clock's.
  package mutating func restart() {
    frames.removeAll(keepingCapacity: true)
    offsets.removeAll(keepingCapacity: true)
    (next, nextOffset, strays, foreign, lastTrusted) = (0, 0, 0, nil, .min)
  }

  /// When the frame with that number, which arrived at `now`, was captured, and whether that is repaired.
  /// Numbers rise.
  package mutating func time(
    of stamp: Stamp, sequence: UInt64, arrival now: Int64
  ) -> (nanoseconds: Int64, isRepaired: Bool) {
    if let newest, sequence <= newest.sequence { restart() }
    if isTrusted(stamp, sequence, now) {
      noteInterval(stamp.nanoseconds, sequence)
      // Not later than now, or after a stamp in the future the right ones would be rejected as earlier.
      lastTrusted = min(stamp.nanoseconds, now)
      foreign = nil
      add(Frame(sequence: sequence, arrival: now, captured: stamp.nanoseconds))
      // A repaired time before it may have been late: times do not go back.
      let isHeldUp = last > stamp.nanoseconds
      if isHeldUp { repaired += 1 }
      last = max(lastTrusted, last)
      return (max(stamp.nanoseconds, last), isHeldUp)
    }
    repaired += 1
    learnTransfer()
    let line = estimate(sequence, now)
    let time = running(stamp, sequence, now, from: line) ?? line
    add(Frame(sequence: sequence, arrival: now, captured: nil))
    last = max(min(time, now), last)
    return (last, true)
  }

  private func isTrusted(_ stamp: Stamp, _ sequence: UInt64, _ now: Int64) -> Bool {
    let time = stamp.nanoseconds
    guard stamp.isMonotonic, time != 0, time <= now.clampedSum(Self.future), time > lastTrusted
    else {
      return false
    }
    if now.clampedSum(-Self.longest) <= time { return true }
    // A program that was stopped takes frames long after they came.
    guard let line = trustedLine(at: sequence) else { return false }
    return abs(line - Double(time)) < max(interval / 2, 20e6)
  }

  // MARK: Lines

  private var newest: Frame? {
    frames.isEmpty ? nil : frames[(next + frames.count - 1) % frames.count]
  }

  private mutating func add(_ frame: Frame) {
    if frames.count < Self.length {
      frames.append(frame)
      next = 0
    } else {
      frames[next] = frame
      next = (next + 1) % Self.length
    }
  }

  /// When a frame without a stamp was captured.
  private mutating func estimate(_ sequence: UInt64, _ now: Int64) -> Int64 {
    let plain = now.clampedSum(-transfer)
    guard let line = trustedLine(at: sequence) ?? arrivalLine(at: sequence, now) else {
      return plain
    }
    let late = Double(plain) - line
    strays = late > Self.stray ? strays + 1 : 0
    // All of them late, or one that is early or far too late: the rate is another now.
    if strays > Self.mostStrays || late < -Self.stray || late > 1e9 {
      frames.removeAll(keepingCapacity: true)
      (next, strays) = (0, 0)
      return plain
    }
    return Int64(line)
  }

  /// Nanoseconds by which a frame is not where its line has it. Smaller: a transfer that is delayed counts.
  private static let stray = 20e6
  /// Frames in a row that may be late. Larger: a change of rate is followed later; smaller: a busy system
  /// is taken for one.
  private static let mostStrays = 4

  /// Where the line through the trusted stamps has a frame; `nil` where it is further from them than they
  /// reach.
  private func trustedLine(at sequence: UInt64) -> Double? {
    let trusted = frames.lazy.filter { $0.captured != nil }.map(\.sequence)
    guard let newest, let first = trusted.min(), let last = trusted.max(),
      sequence - last <= last - first, let (slope, middle) = fit({ $0.captured })
    else { return nil }
    return middle + slope * Double(sequence - newest.sequence)
  }

  /// Learns how long transfers take at least, where enough trusted stamps tell.
  private mutating func learnTransfer() {
    var (least, count) = (Int64.max, 0)
    for frame in frames {
      guard let captured = frame.captured else { continue }
      (least, count) = (min(least, frame.arrival - captured), count + 1)
    }
    if count >= 4 * Self.enough || count > 0 && transfer == 0 { transfer = least }
  }

  /// Where the line that lies below all arrivals, and as close to them as can be, has a frame: the edge of
  /// their lower hull at their middle.
  ///
  /// Source: Moon, Skelly, Towsley, "Estimation and Removal of Clock Skew from Network Delay Measurements",
  /// INFOCOM 1999.
  private mutating func arrivalLine(at sequence: UInt64, _ now: Int64) -> Double? {
    guard frames.count >= Self.enough,
      let first = frames.indices.contains(next) ? frames[next] : frames.first
    else { return nil }
    hull.removeAll(keepingCapacity: true)
    func point(_ frame: Frame) -> (x: Double, y: Double) {
      (Double(frame.sequence - first.sequence), Double(frame.arrival - first.arrival))
    }
    var sum = 0.0
    for step in 0...frames.count {
      let new =
        step < frames.count
        ? point(frames[(next + step) % frames.count])
        : (x: Double(sequence - first.sequence), y: Double(now - first.arrival))
      sum += new.x
      while hull.count > 1 {
        let (a, b) = (hull[hull.count - 2], hull[hull.count - 1])
        if (b.x - a.x) * (new.y - a.y) > (b.y - a.y) * (new.x - a.x) { break }
        hull.removeLast()
      }
      hull.append(new)
    }
    let middle = sum / Double(frames.count + 1)
    guard let right = hull.indices.dropFirst().first(where: { hull[$0].x >= middle }) else {
      return nil
    }
    let (a, b) = (hull[right - 1], hull[right])
    let slope = (b.y - a.y) / (b.x - a.x)
    return Double(first.arrival - transfer) + a.y + slope
      * (Double(sequence - first.sequence) - a.x)
  }

  /// The straight line of least squares: nanoseconds per number, and its time at the newest frame.
  private func fit(_ time: (Frame) -> Int64?) -> (slope: Double, newest: Double)? {
    guard let newest else { return nil }
    let base = newest.arrival
    var (count, sumX, sumY, sumXX, sumXY) = (0.0, 0.0, 0.0, 0.0, 0.0)
    for frame in frames {
      guard let value = time(frame) else { continue }
      let x = -Double(newest.sequence - frame.sequence)
      let y = Double(value - base)
      (count, sumX, sumY) = (count + 1, sumX + x, sumY + y)
      (sumXX, sumXY) = (sumXX + x * x, sumXY + x * y)
    }
    let spread = count * sumXX - sumX * sumX
    guard count >= Double(Self.enough), spread > 0 else { return nil }
    let slope = (count * sumXY - sumX * sumY) / spread
    return (slope, Double(base) + (sumY - slope * sumX) / count)
  }

  // MARK: Foreign clocks

  /// When a frame was captured whose stamp is of a clock that runs; `nil` where it does not, or is not
  /// known to. `line` is when the frame was captured by its number.
  private mutating func running(
    _ stamp: Stamp, _ sequence: UInt64, _ now: Int64, from line: Int64
  ) -> Int64? {
    let before = foreign
    foreign = stamp.nanoseconds == 0 ? nil : (stamp.nanoseconds, sequence, now)
    guard let before, stamp.nanoseconds != 0 else {
      begin(stamp, line)
      return nil
    }
    let (step, isOver) = stamp.nanoseconds.subtractingReportingOverflow(before.stamp)
    let arrived = now - before.arrival
    let usual = interval > 0 ? interval * Double(sequence - before.sequence) : Double(arrived)
    let tolerance = max(usual / 2, 20e6)
    guard !isOver, step > 0,
      abs(Double(step) - usual) < tolerance || abs(Double(step - arrived)) < tolerance
    else {
      begin(stamp, line)
      return nil
    }
    add(offset: now &- stamp.nanoseconds)
    let offset = offsets.min() ?? 0
    return stamp.nanoseconds.clampedSum(offset).clampedSum(-transfer)
  }

  /// The clock begins, or has jumped: what is known of the frame's time tells its distance.
  private mutating func begin(_ stamp: Stamp, _ line: Int64) {
    offsets.removeAll(keepingCapacity: true)
    nextOffset = 0
    if stamp.nanoseconds != 0 { add(offset: line.clampedSum(transfer) &- stamp.nanoseconds) }
  }

  private mutating func add(offset: Int64) {
    if offsets.count < Self.length {
      offsets.append(offset)
    } else {
      offsets[nextOffset] = offset
      nextOffset = (nextOffset + 1) % Self.length
    }
  }

  // MARK: Jitter

  private mutating func noteInterval(_ time: Int64, _ sequence: UInt64) {
    guard let newest, let before = newest.captured, sequence > newest.sequence else { return }
    let found = Double(time - before) / Double(sequence - newest.sequence)
    let weight = 1.0 / 64
    guard interval > 0 else {
      interval = found
      return
    }
    deviation += (abs(found - interval) - deviation) * weight
    interval += (found - interval) * weight
  }
}
