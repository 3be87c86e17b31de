/// The connection of one program that reads a share.
struct ShareReader {
  let descriptor: Int32
  /// When it connected, nanoseconds.
  let since: Int64
  /// Whether it takes every frame, or the latest; `nil` before its first packet.
  var takesEvery: Bool?
  /// A bit for each slot that it has a notice of and has not acknowledged.
  var held: UInt64 = 0
  /// A bit for each held slot that it keeps although it has acknowledged it.
  var kept: UInt64 = 0
  /// Ticket of its latest notice.
  var lastSent: UInt64 = 0
  /// When it last began to hold slots, or gave one back, nanoseconds.
  var progressed: Int64 = 0
  /// That of the latest layout that it was sent.
  var memory: SharedMemory?
  /// Another layout waits until it has received all packets; until then it gets no notices.
  var needsLayout = false
  var isLeaving = false
}
