internal import SprocketCore

/// Counts the samples of a device from one start of it to the next: how far the device is, how far we have
/// read, and what was lost. Pure.
struct MicrophoneTally: Sendable {
  let rate: Double
  /// Samples that the device holds.
  private(set) var buffer: Int
  /// Samples that are passed over in an overrun beyond those that were overwritten, since the device soon
  /// overwrites them, too. Larger: more is lost, and less often.
  private var margin: Int
  /// Samples that were read or passed over since the start.
  private var taken: Int64 = 0
  /// Where the device was at the last wake-up, and when.
  private var mark: (position: Int64, time: Int64)?
  /// When the first sample that was not taken is heard, as far as the last wake-up tells; kept when the
  /// device is started again.
  private var due: Int64?

  init(rate: Int, buffer: Int, period: Int) {
    self.rate = Double(rate)
    (self.buffer, margin) = (buffer, min(2 * period, buffer / 2))
  }

  /// The device was opened again, and has another buffer.
  mutating func resize(buffer: Int, period: Int) {
    (self.buffer, margin) = (buffer, min(2 * period, buffer / 2))
  }

  /// Samples that were there at the last wake-up and are not taken: how far the device was ahead.
  var waiting: Int { mark.map { Int(max(0, $0.position - taken)) } ?? 0 }

  /// When the device was `waiting` samples ahead.
  var time: Int64 { mark?.time ?? 0 }

  /// The device had `available` samples at `time`. Returns how many are missing since it was last started, of
  /// which the time tells.
  mutating func wokeUp(available: Int, at time: Int64) -> Int {
    let isFirst = mark == nil
    mark = (taken + Int64(available), time)
    let before = due
    updateDue()
    guard isFirst, let before, let due else { return 0 }
    return max(0, Int((Double(due - before) * rate * 1e-9).rounded()))
  }

  /// How many samples have to be passed over, because the device has `available` ones and overwrites the
  /// oldest.
  func excess(available: Int) -> Int {
    available > buffer ? available - (buffer - margin) : 0
  }

  /// Whether samples may have been overwritten while they were read; then `wereOverwritten` tells.
  func isTight(available: Int) -> Bool { available > buffer - margin }

  /// Whether the device, which is now `available` samples ahead, overwrote some of the `count` that were read
  /// last.
  func wereOverwritten(_ count: Int, available: Int) -> Bool { available + count > buffer }

  /// Samples were read or passed over.
  mutating func took(_ count: Int) {
    taken += Int64(count)
    updateDue()
  }

  /// The device is started again, and counts from 0.
  mutating func restart() {
    taken = 0
    mark = nil
  }

  private mutating func updateDue() {
    guard let mark else { return }
    let ahead = Double(mark.position - taken) * 1e9 / rate
    due = mark.time - Int64(ahead.rounded())
  }
}

/// Decides which time a status has: its own where that can be right, else the program's. Pure.
struct MicrophoneTimes: Sendable {
  /// Nanoseconds by which a status may be away from the moment when it was asked. Larger: wrong clocks are
  /// believed; smaller: a machine that was stopped between the two makes times inexact.
  static let tolerance: Int64 = 1_000_000_000

  /// The device says that its times are of the monotonic clock.
  let isMonotonic: Bool
  /// Taken off all times, nanoseconds.
  let latency: Int64
  /// Times of a device that says it is monotonic which cannot be right.
  private(set) var replaced: UInt64 = 0

  init(isMonotonic: Bool, latencyMilliseconds: Double) {
    self.isMonotonic = isMonotonic
    latency = Int64((latencyMilliseconds * 1e6).rounded())
  }

  /// Of a status that was asked at `now`.
  mutating func time(_ stamp: Int64, now: Int64) -> Int64 {
    guard isMonotonic else { return now - latency }
    guard (now - Self.tolerance...now + Self.tolerance).contains(stamp) else {
      replaced += 1
      return now - latency
    }
    return stamp - latency
  }
}
