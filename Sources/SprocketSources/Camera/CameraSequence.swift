/// Makes the 32 bits of a driver's sequence number a number that goes on counting. Pure.
///
/// After 4,294,967,295 comes 0: that is one step, not a jump back. A number that is repeated counts as
/// the next one, so that drivers that always say 0 (v4l2loopback, when a program streams into it)
/// number by arrival. A number further back than forth is a jump back, which ends the engine's epoch.
///
/// v4l2loopback sets the numbers of frames that wait to 0 when a program asks for buffers. So a first number
/// of 0 is taken for the one before the second, if no camera could have made what would lie between them.
struct CameraSequence: Sendable {
  private var last: (given: UInt32, extended: UInt64)?
  /// When the first frame was captured, in nanoseconds; `nil` behind the second.
  private var first: Int64?
  /// Frames that had the number of the one before.
  private(set) var repeated: UInt64 = 0

  /// The driver counts anew.
  mutating func restart() { (last, first) = (nil, nil) }

  /// Most frames in a second of a camera whose rate is unknown. Larger: more wrong first numbers are
  /// believed.
  private static let mostFrames = 250.0

  /// The number of the next frame; `given` is what the driver says, `time` when it was captured, in
  /// nanoseconds. `rate` is what the driver promises, in frames/s; 0 if it is unknown.
  mutating func extend(_ given: UInt32, at time: Int64 = 0, rate: Double = 0) -> UInt64 {
    guard let last else {
      self.last = (given, UInt64(given))
      first = given == 0 && time > 0 ? time : nil
      return UInt64(given)
    }
    var step = given &- last.given
    if let first, time > first {
      let most = Double(time - first) * 1e-9 * (rate > 0 ? 2 * rate : Self.mostFrames) + 1
      if step < 1 << 31, Double(step) > most { step = 1 }
    }
    first = nil
    let extended: UInt64
    if step == 0 {
      repeated += 1
      extended = last.extended + 1
    } else if step < 1 << 31 {
      extended = last.extended + UInt64(step)
    } else {
      let back = UInt64(last.given &- given)
      // Before the first number there is none: too far forth ends an epoch as well.
      extended = last.extended >= back ? last.extended - back : last.extended + UInt64(step)
    }
    self.last = (given, extended)
    return extended
  }
}
