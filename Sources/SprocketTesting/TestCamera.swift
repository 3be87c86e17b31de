public import Sprocket
internal import SprocketTestMemory

/// A source for tests that delivers given pictures and faults. It waits for the run, as a file does, so each
/// run gives the same result.
///
///     let camera = TestCamera([.picture(first), .missing(2), .damaged, .picture(second)])
///
/// A camera with controls makes each frame from the values that were written:
///
///     let camera = TestCamera(controls: [lens], delay: 2) { number, values in
///       number < 60 ? .picture(pictures[Int(values[0])]) : nil
///     }
///
/// A change of the pictures' format starts a new epoch.
public final class TestCamera: Source {
  /// One step of the stream.
  public enum Step: Sendable {
    /// A frame. `inForce` of its record is used, and `captured` if it is not 0.
    case picture(TestFrame)
    /// A frame that the driver flags as damaged.
    case damaged
    /// A frame of the camera's start, which must not be used.
    case startup(TestFrame)
    /// That many frames are lost.
    case missing(Int)
    /// The camera is unplugged and returns, with or without its controls. Frame numbers start at 0 again.
    case replug(withControls: Bool = true)
    /// An event of the next frame.
    case event(Event)
  }

  /// Most steps without a frame in one call, so that each call ends.
  private static let mostSteps = 100_000

  private let step: (_ number: Int, _ values: [Double]) -> Step?
  private let answer: (_ control: Int, _ value: Double) -> Double?
  private let rate: FrameRate
  private let controls: [ControlDescription]
  private let delay: Int
  private var port: ControlPort?
  /// Per control: the value that the next frame shows.
  private var values: [Double]
  /// Accepted writes that do not show yet.
  private var taken: [(write: ControlPort.Write, value: Double, shows: Int)] = []
  private var events = EventQueue()
  /// Frames so far, including lost ones.
  private var frames = 0
  private var steps = 0
  private var sequence: UInt64 = 0
  private var picture: TestFrame?
  private var format: FrameFormat?
  /// A picture of another format, or the first after a replug: it is delivered when the new epoch has begun.
  private var held: (frame: TestFrame, isStartup: Bool)?

  /// Delivers these steps, then ends.
  public convenience init(_ steps: [Step], rate: FrameRate = FrameRate(frames: 30)) {
    self.init(rate: rate) { number, _ in number < steps.count ? steps[number] : nil }
  }

  /// Delivers these pictures, then ends.
  public convenience init(_ pictures: [TestFrame], rate: FrameRate = FrameRate(frames: 30)) {
    self.init(pictures.map { .picture($0) }, rate: rate)
  }

  /// Makes each step from the written values of controls.
  ///
  /// - Parameters:
  ///   - rate: frames per second, by which the frames' times are apart.
  ///   - controls: each starts at its `defaultValue`, or at its minimum.
  ///   - delay: 1 or more. A write that a stage makes on frame n shows in frame n + delay; so does its
  ///     completion event.
  ///   - answer: the value that the camera applies, from the control's index and the written value; `nil`
  ///     refuses the write.
  ///   - step: the step with that number, from the current values of the controls; `nil` ends the stream. For
  ///     the steps up to the first picture it is called twice, because `open` needs the format.
  public init(
    rate: FrameRate = FrameRate(frames: 30), controls: [ControlDescription] = [], delay: Int = 2,
    answer: @escaping (_ control: Int, _ value: Double) -> Double? = { $1 },
    steps step: @escaping (_ number: Int, _ values: [Double]) -> Step?
  ) {
    contract(delay >= 1, "shows a write \(delay) frames later; give 1 or more")
    self.step = step
    self.answer = answer
    self.rate = rate
    self.controls = controls
    self.delay = delay
    values = controls.map { $0.defaultValue ?? $0.minimum }
    port = controls.isEmpty ? nil : ControlPort(controls: controls, tellsWhatShows: true)
    for (index, value) in values.enumerated() { port?.report(value, of: UInt16(index)) }
  }

  public func open() throws(RunError) -> SourceDescription {
    guard let first = firstPicture() else {
      throw RunError(.usage, "the test camera has no picture; give it one")
    }
    let found = format(of: first)
    format = found
    return description(found)
  }

  /// Finds the format only; `next` calls `step` again from the start.
  private func firstPicture() -> TestFrame? {
    var number = 0
    while number < Self.mostSteps, let step = step(number, values) {
      switch step {
      case .picture(let frame), .startup(let frame): return frame
      case .damaged, .missing, .replug, .event: number += 1
      }
    }
    return nil
  }

  private func format(of frame: TestFrame) -> FrameFormat {
    var format = frame.format
    format.rate = rate
    return format
  }

  private func description(_ format: FrameFormat) -> SourceDescription {
    SourceDescription(
      name: "test", format: format, isLive: false, clock: .media, capacity: 0, controls: port)
  }

  public func next(timeout: Int64) throws(RunError) -> Arrival {
    if let held {
      self.held = nil
      return arrived(held.frame, isStartup: held.isStartup)
    }
    for _ in 0..<Self.mostSteps {
      takeWrites()
      guard let step = step(steps, values) else { return .end }
      steps += 1
      switch step {
      case .event(let event): events.add(event)
      case .missing(let count):
        contract(count >= 0, "lets \(count) frames be missing; give 0 or more")
        frames += count
        sequence += UInt64(count)
      case .replug(let withControls):
        sequence = 0
        if !withControls { port = nil }
        if let format { return .epoch(description(format), .replug) }
      case .damaged: return arrived(nil, isStartup: false)
      case .picture(let frame): return picture(frame, isStartup: false)
      case .startup(let frame): return picture(frame, isStartup: true)
      }
    }
    return .nothing
  }

  /// Accepts new writes; writes that are due show from the next frame on.
  private func takeWrites() {
    while let write = port?.take() {
      guard let value = answer(Int(write.control), write.value) else {
        events.add(
          Event(
            kind: .controlRefused, control: write.control, ticket: write.ticket, value: write.value)
        )
        continue
      }
      taken.append((write, value, frames - 1 + delay))
    }
    for due in taken where due.shows <= frames {
      values[Int(due.write.control)] = due.value
      port?.report(due.value, of: due.write.control)
      events.add(
        Event(
          kind: .controlApplied, control: due.write.control, ticket: due.write.ticket,
          value: due.value))
    }
    taken.removeAll { $0.shows <= frames }
  }

  private func picture(_ frame: TestFrame, isStartup: Bool) -> Arrival {
    let new = format(of: frame)
    guard new != format else { return arrived(frame, isStartup: isStartup) }
    format = new
    sequence = 0
    held = (frame, isStartup)
    return .epoch(description(new), .formatChange)
  }

  private func arrived(_ frame: TestFrame?, isStartup: Bool) -> Arrival {
    picture = frame
    var time = Int64(frames)
    if rate.frames > 0 { time = time * Int64(rate.seconds) * 1_000_000_000 / Int64(rate.frames) }
    if let captured = frame?.record.captured.nanoseconds, captured != 0 { time = captured }
    defer {
      frames += 1
      sequence += 1
    }
    return .frame(
      ArrivedFrame(
        sequence: sequence, captured: Timestamp(nanoseconds: time, clock: .media),
        isCorrupt: frame == nil, isStartup: isStartup,
        inForce: frame?.record.inForce ?? ControlState()))
  }

  public func takeEvents(into events: inout EventQueue) { events.take(from: &self.events) }

  public func take(into slot: inout CaptureSlot) {
    guard let picture else { return slot.filled(0) }
    LentPicture(picture).lend(to: &slot)
  }

  public func discard() {}
  public func reclaim(_ lent: UnsafeMutableRawPointer) { unsafe LentPicture.release(lent) }
  public func close() {}
}
