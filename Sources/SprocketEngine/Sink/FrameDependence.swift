internal import SprocketCore

/// Decides which frames a sink gets that writes packets of H.264 or HEVC: such a packet can be decoded only
/// after the packets before it.
struct FrameDependence {
  /// Whether the sink's frames depend on each other. If not, all can be used.
  private(set) var isOn = false
  private var keyFrames: KeyFrameRequest?
  /// Number of the frame that needs no key frame, because the sink has the one before it.
  private var next: UInt64?

  mutating func begin(_ setup: SinkSetup?, _ keyFrames: KeyFrameRequest?) {
    isOn = setup?.needsEarlierFrames ?? false
    self.keyFrames = keyFrames
  }

  /// Nothing before the next frame is of use to it: a file or an epoch begins.
  mutating func restart() { next = nil }

  /// Asks the source for a key frame.
  func ask() { keyFrames?.ask() }

  /// Whether the sink can use the frame: then it gets it. If not, asks the source for a key frame.
  mutating func admits(_ record: FrameRecord) -> Bool {
    guard isOn else { return true }
    let isUsable = record.isKey || record.number == next
    next = isUsable ? record.number + 1 : nil
    if !isUsable { ask() }
    return isUsable
  }

  /// Whether a file may begin with the frame without losing any.
  func mayBegin(with record: FrameRecord) -> Bool { !isOn || record.isKey }
}
