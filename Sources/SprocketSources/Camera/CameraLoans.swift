/// Where each of the driver's buffers is: queued with the driver, lent to the engine, or in our hands.
/// Pure.
struct CameraLoans: Sendable {
  /// So many stay queued: one that is being filled, one that comes next, and one for the time that
  /// giving back takes. With fewer the driver would have to drop frames because we read slowly.
  static let leastQueued = 3

  /// The driver that writes into buffers again that it handed out, after as many frames as there are.
  static let overwriting = "v4l2 loopback"

  let count: Int
  /// False where the driver does not leave alone what it handed out.
  let mayLend: Bool
  private(set) var queued: UInt64 = 0
  private(set) var lent: UInt64 = 0

  /// At most 64 buffers; V4L2 has 32 (`VIDEO_MAX_FRAME`).
  init(count: Int, mayLend: Bool) {
    precondition(count <= 64, "no driver has \(count) buffers")
    self.count = count
    self.mayLend = mayLend
  }

  var queuedCount: Int { queued.nonzeroBitCount }
  var hasLent: Bool { lent != 0 }

  /// In our hands: to be queued. The frame that is held, too, until it is taken.
  var idle: UInt64 { (count == 64 ? .max : (1 << UInt64(count)) - 1) & ~(queued | lent) }

  /// Whether the frame in our hands may be lent: enough buffers are with the driver.
  var canLend: Bool { mayLend && queuedCount >= Self.leastQueued }

  mutating func didQueue(_ index: Int) {
    queued |= 1 << UInt64(index)
    lent &= ~(1 << UInt64(index))
  }
  mutating func didDequeue(_ index: Int) { queued &= ~(1 << UInt64(index)) }
  mutating func didLend(_ index: Int) { lent |= 1 << UInt64(index) }
  /// What was lent is back, and not queued.
  mutating func didReturn(_ index: Int) { lent &= ~(1 << UInt64(index)) }
  /// The driver stopped and gave all back.
  mutating func didStop() { queued = 0 }
}
