/// Converts a driver's timestamps to capture times and replaces invalid ones by estimates. Does no I/O:
/// the caller passes the time of arrival.
///
/// - A stamp on CLOCK_MONOTONIC is trusted if it is later than the previous one, at most one second
/// later than its arrival, and either less than two seconds older than its arrival or close to the time
/// that the fit of earlier trusted stamps predicts.
/// - A stamp of another running clock (CLOCK_REALTIME, the camera's own clock, a wrapped counter) is
/// corrected by a constant offset: the least difference between arrival and stamp over the last frames,
/// less the transfer time.
/// - A missing, repeated or decreasing stamp is replaced by an estimate from the sequence number: a line
/// fitted to recent trusted stamps, or else the line below the recent arrivals. Transfers can be delayed
/// but never arrive early.
///
/// The transfer time is the least difference between arrival and trusted stamp. Without trusted stamps
/// it is taken as 0, so that estimates are late by the true transfer time. Times never decrease, except
/// after a stamp in the future.
package struct StampClock: Sendable {
  /// A driver's timestamp of a frame.
  package struct Stamp: Sendable {
    /// 0 where it says nothing.
    package var nanoseconds: Int64
    /// Whether the driver says that it is on CLOCK_MONOTONIC.
    package var isMonotonic: Bool

    package init(_ nanoseconds: Int64, isMonotonic: Bool) {
      (self.nanoseconds, self.isMonotonic) = (nanoseconds, isMonotonic)
    }
  }

  private struct Frame {
    var sequence: UInt64
    var arrival: Int64
    /// Capture time if the stamp was trusted.
    var captured: Int64?
  }

  /// Number of frames that a fit uses. A larger value averages more jitter and follows a change of rate
  /// later.
  private static let length = 256
  /// Least number of frames for a fit. A smaller value makes earlier estimates with more jitter.
  private static let enough = 8
  /// Longest accepted time from capture to arrival, in nanoseconds, if no fit confirms the stamp. A
  /// larger value accepts stamps of clocks that started recently.
  package static let longest: Int64 = 2_000_000_000
  /// How far a stamp may be later than its arrival, in nanoseconds: drivers that count frames run ahead
  /// of the clock. A larger value accepts stamps of other clocks.
  package static let future: Int64 = 1_000_000_000

  private var frames: [Frame] = []
  private var next = 0
  /// Arrival minus stamp of the last frames whose stamps are of a running foreign clock.
  private var offsets: [Int64] = []
  private var nextOffset = 0
  /// The last frame's stamp if it was not trusted.
  private var foreign: (stamp: Int64, sequence: UInt64, arrival: Int64)?
  private var lastTrusted = Int64.min
  private var last = Int64.min
  /// Number of frames whose stamp was replaced.
  package private(set) var repaired: UInt64 = 0
  /// Mean interval of frames with trusted stamps, and mean deviation from it, in nanoseconds. 0 until
  /// they are known.
  private var interval = 0.0
  private var deviation = 0.0
  /// Transfer time from capture to arrival in nanoseconds. 0 until trusted stamps show it.
  private var transfer: Int64 = 0
  /// Corners of the lower hull of arrivals. Kept so that no frame allocates.
  private var hull: [(x: Double, y: Double)] = []
  /// Number of consecutive frames that came later than predicted.
  private var strays = 0

  package init() {
    frames.reserveCapacity(Self.length)
    offsets.reserveCapacity(Self.length)
    hull.reserveCapacity(Self.length + 1)
  }

  /// Mean frame interval over the last 64 trusted stamps or so, in nanoseconds; lost frames are counted.
  /// 0 until it is known.
  package var meanInterval: Int64 { Int64(interval) }

  /// Mean deviation of intervals from their mean over the last 64 trusted stamps or so, in nanoseconds.
  package var jitter: Int64 { Int64(deviation) }

  /// Starts a new stream: sequence numbers start again, and the clock may be another one.
  package mutating func restart() {
    frames.removeAll(keepingCapacity: true)
    offsets.removeAll(keepingCapacity: true)
    (next, nextOffset, strays, foreign, lastTrusted) = (0, 0, 0, nil, .min)
  }

  /// Capture time of the frame with that sequence number, which arrived at `now`, and whether it is an
  /// estimate. Sequence numbers increase.
  package mutating func time(
    of stamp: Stamp, sequence: UInt64, arrival now: Int64
  ) -> (nanoseconds: Int64, isRepaired: Bool) {
    if let newest, sequence <= newest.sequence { restart() }
    if isTrusted(stamp, sequence, now) {
      noteInterval(stamp.nanoseconds, sequence)
      // Limited to `now`. Otherwise correct stamps after one in the future would be rejected.
      lastTrusted = min(stamp.nanoseconds, now)
      foreign = nil
      add(Frame(sequence: sequence, arrival: now, captured: stamp.nanoseconds))
      // An earlier estimate may have been too late, and times must not decrease.
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
    // A suspended program takes frames long after their arrival.
    guard let line = trustedLine(at: sequence) else { return false }
    return abs(line - Double(time)) < max(interval / 2, 20e6)
  }

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

  /// Estimated capture time from the sequence number.
  private mutating func estimate(_ sequence: UInt64, _ now: Int64) -> Int64 {
    let plain = now.clampedSum(-transfer)
    guard let line = trustedLine(at: sequence) ?? arrivalLine(at: sequence, now) else {
      return plain
    }
    let late = Double(plain) - line
    strays = late > Self.stray ? strays + 1 : 0
    // Several late frames, or one early or very late frame, mean that the rate has changed.
    if strays > Self.mostStrays || late < -Self.stray || late > 1e9 {
      frames.removeAll(keepingCapacity: true)
      (next, strays) = (0, 0)
      return plain
    }
    return Int64(line)
  }

  /// Deviation from the prediction, in nanoseconds, that counts as late or early. A smaller value counts
  /// delayed transfers.
  private static let stray = 20e6
  /// Number of consecutive late frames that is not a change of rate. A larger value detects a change of
  /// rate later; a smaller one reacts to a busy system.
  private static let mostStrays = 4

  /// Time that the fit of trusted stamps predicts. `nil` if the frame is farther from the last trusted
  /// stamp than those stamps span.
  private func trustedLine(at sequence: UInt64) -> Double? {
    let trusted = frames.lazy.filter { $0.captured != nil }.map(\.sequence)
    guard let newest, let first = trusted.min(), let last = trusted.max(),
      sequence - last <= last - first, let (slope, middle) = fit({ $0.captured })
    else { return nil }
    return middle + slope * Double(sequence - newest.sequence)
  }

  /// Updates the transfer time if there are enough trusted stamps.
  private mutating func learnTransfer() {
    var (least, count) = (Int64.max, 0)
    for frame in frames {
      guard let captured = frame.captured else { continue }
      (least, count) = (min(least, frame.arrival - captured), count + 1)
    }
    if count >= 4 * Self.enough || count > 0 && transfer == 0 { transfer = least }
  }

  /// Time on the line below all arrivals that is closest to them: the edge of their lower hull at their
  /// mean sequence number.
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

  /// Least-squares line: nanoseconds per sequence number, and the time at the newest frame.
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

  /// Capture time from a stamp of a foreign clock. `nil` if that clock does not run steadily or has just
  /// started. `line` is the estimate from the sequence number.
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

  /// Starts a new offset from the estimate: the foreign clock has started or jumped.
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
