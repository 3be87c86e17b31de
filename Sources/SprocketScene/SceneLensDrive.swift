/// What moves the scene's lens: a drive with a speed, and play between it and the lens. Pure.
package struct SceneLensDrive: Sendable, Hashable {
  /// Where the drive is told to go, as the control has it.
  package var target: Double
  /// Where the lens is, 0 nearest to 1 furthest.
  package private(set) var position: Double
  private var drive: Double
  private let speed: Double
  private let backlash: Double

  /// `speed` in units of position per second, 0 for a drive that is there at once; `backlash` in units
  /// of position. The lens begins in the middle of its play.
  package init(position: Double, speed: Double = 0, backlash: Double = 0) {
    target = position
    drive = position
    self.position = position
    self.speed = speed
    self.backlash = backlash
  }

  /// Lets the drive move for that long. The lens is pushed by the end of the play that it meets.
  package mutating func advance(by seconds: Double) {
    let reach = speed == 0 ? .infinity : speed * seconds
    drive = min(max(target, drive - reach), drive + reach)
    position = min(max(position, drive - backlash / 2), drive + backlash / 2)
  }
}
