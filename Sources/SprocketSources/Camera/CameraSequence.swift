/// Makes the 32 bits of a driver's sequence number a number that goes on counting. Pure.
///
/// After 4,294,967,295 comes 0: that is one step, not a jump back. A number that is repeated counts as
/// the next one, so that drivers that always say 0 (v4l2loopback, when a program streams into it)
/// number by arrival. A number further back than forth is a jump back, which ends the engine's epoch.
struct CameraSequence: Sendable {
  private var last: (given: UInt32, extended: UInt64)?
  /// Frames that had the number of the one before.
  private(set) var repeated: UInt64 = 0

  /// The driver counts anew.
  mutating func restart() { last = nil }

  /// The number of the next frame; `given` is what the driver says.
  mutating func extend(_ given: UInt32) -> UInt64 {
    guard let last else {
      self.last = (given, UInt64(given))
      return UInt64(given)
    }
    let step = given &- last.given
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
