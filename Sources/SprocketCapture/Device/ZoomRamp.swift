internal import Glibc
internal import Sprocket

/// A zoom that goes to a factor by itself, by a step with each frame. It goes by the frames' times: after a
/// pause without frames it is where it would have been.
struct ZoomRamp: Sendable {
  /// What a configuration does about a ramp.
  enum Change: Sendable {
    case begin(ZoomRamp)
    case cancel
  }

  /// Doublings of the factor per second.
  static let rates = 0.01...100.0

  let control: ControlDescription
  /// The control's number for the whole picture.
  let base: Double
  let from: Double
  let to: Double
  let rate: Double
  /// When the first frame of the ramp was captured, in nanoseconds.
  private var start: Int64?
  /// The number that was written last.
  private var last: Double?

  init(_ control: ControlDescription, base: Double, from: Double, to: Double, rate: Double) {
    (self.control, self.base) = (control, base)
    (self.from, self.to, self.rate) = (from, to, rate)
  }

  /// The number to be written for a frame that was captured then, `nil` if the control has it, and whether
  /// the ramp ends there.
  mutating func step(at time: Int64) -> (number: Double?, isLast: Bool) {
    let begin = start ?? time
    start = begin
    let seconds = Double(max(time - begin, 0)) / 1e9
    let way = log2(to / from)
    let isLast = rate * seconds >= abs(way)
    let factor = isLast ? to : from * exp2(way < 0 ? -rate * seconds : rate * seconds)
    let number = ControlUnit(.number, of: control)?.number(of: factor * base) ?? factor * base
    return (number == last ? nil : number, isLast)
  }

  mutating func didWrite(_ number: Double) { last = number }
}

extension DeviceControls {
  func ramp(to factor: Double, rate: Double) throws(CaptureError) -> ZoomRamp {
    _ = try values(forZoom: factor)
    guard let zoom else { throw missing("zoom") }
    guard ZoomRamp.rates.contains(rate) else {
      throw CaptureError(
        .valueOutOfRange,
        "the rate of a zoom ramp is \(ZoomRamp.rates.lowerBound.settingText) to "
          + "\(ZoomRamp.rates.upperBound.settingText) doublings per second, not \(rate.settingText)"
      )
    }
    let present = now(zoom.control).map { $0 / zoom.base } ?? 1
    return ZoomRamp(zoom.control, base: zoom.base, from: max(present, 1), to: factor, rate: rate)
  }
}

extension SessionRun {
  var isRampingZoom: Bool { state.withLock { $0.ramp != nil } }

  /// A frame came: the next step of a ramp.
  func stepRamp(at time: Timestamp) {
    let step = state.withLock { state -> (device: CaptureDevice?, name: String, number: Double)? in
      guard var ramp = state.ramp, let port = state.engine?.description.controls else { return nil }
      let (number, isLast) = ramp.step(at: time.nanoseconds)
      // A full queue or a control that is gone: the next frame is another chance, or the run ends the ramp.
      if let number {
        guard let control = port.control(ramp.control.name),
          port.write(control, number) != nil
        else { return nil }
        ramp.didWrite(number)
      }
      state.ramp = isLast ? nil : ramp
      return number.map { (state.device, ramp.control.name, $0) }
    }
    guard let step else { return }
    // The camera begins with it later.
    step.device?.state.withLock { $0.wanted[step.name] = step.number }
  }
}
