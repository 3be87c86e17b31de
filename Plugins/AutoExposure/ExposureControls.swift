import Glibc
import SprocketCore

/// The source's exposure and gain, as far as it has them.
struct ExposureControls: Sendable {
  private(set) var exposure: SteeredControl?
  private(set) var gain: SteeredControl?
  /// What was last asked for.
  private(set) var asked: ExposureProgram.Point?

  init() {}

  init(_ port: ControlPort) {
    exposure = SteeredControl(.exposure, on: port)
    gain = SteeredControl(.gain, on: port)
  }

  var isEmpty: Bool { exposure == nil && gain == nil }

  /// What the source calls them.
  var names: String {
    [exposure, gain].compactMap { $0?.description.name }.joined(separator: " and ")
  }

  /// Frames from the latest completed write to its completion event: the longer of exposure's and gain's.
  var delay: Int? {
    guard let one = exposure?.delay, let other = gain?.delay else {
      return exposure?.delay ?? gain?.delay
    }
    return max(one, other)
  }

  /// Switches off what the camera decides by itself over them; returns what was written.
  mutating func takeOver(at number: UInt64) -> [String] {
    let first = exposure?.takeOver(at: number) ?? []
    return first + (gain?.takeOver(at: number) ?? [])
  }

  /// Writes the controls that change; with `isAgain` also those that somebody else has changed since. Returns
  /// false if too many writes are in flight; one of the two may have been written then.
  mutating func ask(
    _ point: ExposureProgram.Point, at number: UInt64, isAgain: Bool = false
  ) -> Bool {
    if let time = point.exposure, exposure?.needsWrite(of: time, isAgain: isAgain) == true {
      guard exposure?.write(time, at: number) == true else { return false }
    }
    if let factor = point.gain, gain?.needsWrite(of: factor, isAgain: isAgain) == true {
      guard gain?.write(factor, at: number) == true else { return false }
    }
    asked = point
    return true
  }

  /// Whether the frame shows all that was asked for.
  func isShown(at number: UInt64) -> Bool {
    (exposure?.isShown(at: number) ?? true) && (gain?.isShown(at: number) ?? true)
  }

  /// Takes an event. If it reports that a write was refused, returns the control of that write; else `nil`.
  mutating func refusal(in event: Event) -> String? {
    if case .refused(let what) = exposure?.answer(event) { return what }
    if case .refused(let what) = gain?.answer(event) { return what }
    return nil
  }

  /// By how much the picture follows an answer of exposure and of gain, as far as the source knows.
  var lags: [ControlDelayTime?] { [exposure, gain].map { $0?.pictureDelay } }

  /// Lets the source know a lag that was measured.
  func measured(_ lag: (part: PictureLag.Part, frames: ClosedRange<Int>)) {
    switch lag.part {
    case .exposure: exposure?.measured(pictureDelay: lag.frames)
    case .gain: gain?.measured(pictureDelay: lag.frames)
    }
  }

  /// log2 of exposure times gain of a frame, and of its gain: from its record, else from the values that the
  /// source applied last; `nil` if neither is known.
  func setting(of record: FrameRecord) -> (whole: Double, gain: Double)? {
    var product = 1.0
    var gainPart = 0.0
    if let exposure {
      let known = Double(record.inForce.exposureMicroseconds)
      guard let time = known > 0 ? known : exposure.applied, time > 0 else { return nil }
      product *= time
    }
    if let gain {
      let known = Double(record.inForce.gain)
      guard let factor = known > 0 ? known : gain.applied, factor > 0 else { return nil }
      product *= factor
      gainPart = log2(factor)
    }
    return (log2(product), gainPart)
  }
}

extension SteeredControl {
  fileprivate func needsWrite(of wanted: Double, isAgain: Bool) -> Bool {
    wanted != asked || (isAgain && value.map { $0 != wanted } ?? false)
  }
}
