// What is known of a source's controls beside ranges and values: delays, and what is to be put back.

/// A control's delay: frames from the answer to a write until the picture shows the value. 0 if the frame of
/// the answer shows it. It is a range where it varies, or was not measured to a frame.
public struct ControlDelayTime: Sendable, Hashable {
  /// How the delay is known.
  public enum Origin: String, Sendable {
    /// The source answers with the first frame that shows the value.
    case told
    /// A setting of the source. It is never replaced by a measurement.
    case given
    /// An earlier run measured it.
    case kept
    /// This run measured it.
    case measured
  }

  /// Longest delay in frames: from there on each picture shows the value.
  public var frames: Int
  /// Shortest delay in frames: each picture before shows the value from before. At most `frames`.
  public var shortest: Int
  public var origin: Origin

  public init(frames: Int, _ origin: Origin) { self.init(frames...frames, origin) }

  public init(_ frames: ClosedRange<Int>, _ origin: Origin) {
    (shortest, self.frames) = (frames.lowerBound, frames.upperBound)
    self.origin = origin
  }
}

/// The state of each control. A lock protects it; it is used at rare moments, not per frame.
struct ControlMemory: Sendable {
  var delays: [ControlDelayTime?]
  var atEnd: [(control: UInt16, value: Double)] = []
  var isSteered = false
}

extension ControlPort {
  /// Whether a stage steers the source.
  public var isSteered: Bool { memory.withLock { $0.isSteered } }

  /// A stage steers the source.
  func willBeSteered() { memory.withLock { $0.isSteered = true } }

  /// A control's delay; `nil` if it is not known.
  public func delay(of control: UInt16) -> ControlDelayTime? {
    memory.withLock { $0.delays[Int(control)] }
  }

  /// For the source, before the run: a delay that is given or kept.
  public func knows(_ delay: ControlDelayTime, of control: UInt16) {
    memory.withLock { $0.delays[Int(control)] = delay }
  }

  /// For a stage: the delay was measured in the picture. A given or told one stays as it is.
  public func measured(delay frames: ClosedRange<Int>, of control: UInt16) {
    memory.withLock { memory in
      let known = memory.delays[Int(control)]?.origin
      guard known != .given, known != .told else { return }
      memory.delays[Int(control)] = ControlDelayTime(frames, .measured)
    }
  }

  /// All delays that are known, by the control's name.
  public var delays: [(control: String, delay: ControlDelayTime)] {
    let known = memory.withLock { $0.delays }
    return zip(controls, known).compactMap { control, delay in delay.map { (control.name, $0) } }
  }

  /// For a stage that changes controls for a while: the source writes these values when it closes, in that
  /// order, unless they are replaced before. Replaces those of an earlier call; none, once they have been put
  /// back. So they are put back wherever the run ends, as long as the device is there.
  public func writeAtEnd(_ values: [(control: UInt16, value: Double)]) {
    let known = values.filter { $0.control < controls.count }
    memory.withLock { $0.atEnd = known }
  }

  /// For the source, when it closes: takes the values that are to be written.
  public func takeWritesAtEnd() -> [(control: UInt16, value: Double)] {
    memory.withLock { memory in
      defer { memory.atEnd = [] }
      return memory.atEnd
    }
  }
}
