/// One program that reads a share.
struct ShareReader {
  let descriptor: Int32
  let since: Int64
  /// `nil` until it has said so.
  var takesEvery: Bool?
  /// A bit for each slot that it has been told of and has not given back.
  var held: UInt64 = 0
  var lastSent: UInt64 = 0
  /// When it was last told of a slot while it held none, or gave one back, nanoseconds.
  var progressed: Int64 = 0
  /// The latest layout has still to be sent: its socket was full.
  var needsLayout = false
  var isLeaving = false
}
