/// The connection of one program that reads a share.
struct ShareReader {
  let descriptor: Int32
  /// When it connected, nanoseconds.
  let since: Int64
  /// Whether it takes every frame, or the latest; `nil` before its first packet.
  var takesEvery: Bool?
  /// A bit for each slot that it has a notice of and has not acknowledged.
  var held: UInt64 = 0
  /// Ticket of its latest notice.
  var lastSent: UInt64 = 0
  /// When it last began to hold slots, or acknowledged one, nanoseconds.
  var progressed: Int64 = 0
  /// Its socket was full when the latest layout was to be sent.
  var needsLayout = false
  var isLeaving = false
}
