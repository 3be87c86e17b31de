import Glibc
import SprocketCore

/// Takes a bracket: decides what to write at each frame, and which frame is a step's. Pure: time is what the
/// frames say, and writes go to a `ControlPort`.
///
/// It waits for a steady picture, takes the controls over from the camera's automatic ones, and measures by a
/// change of its own (a probe) after how many frames the picture shows a write and by which curve. Then it
/// writes the values of each step. A step's frame is the first that shows them: the frame of the source's
/// answer and the control's delay. It counts if its picture differs from that of before as the step asks;
/// else the picture is waited for anew and the step is tried again, until the deadline. Of a control that is
/// neither exposure, gain nor lens, the picture need only differ from the one before the step. At the end
/// the controls are put back.
///
/// Constants without another source were found by trial on the simulated sensor of the tests (gammas of 1.8
/// to 2.6, delays of 1 to 4 frames, noise, lost frames).
struct BracketControl: Sendable {
  /// What a frame shows, and what it is said to be taken with.
  struct Look: Sendable {
    /// Running number.
    var number: UInt64
    /// When it was captured.
    var seconds: Double
    var inForce: ControlState
    /// `nil` without a meter.
    var levels: LevelShares?
    /// Mean level, 0 to 255.
    var mean: Double?
    /// Share of clipped pixels, 0 to 1.
    var clipped = 0.0
    /// Of the stage `focus`; `nil` without it.
    var score: Double?
    /// What the stage `autoexposure` does; `nil` without it.
    var exposure: ExposureWork?
  }

  enum ExposureWork: Sendable {
    case underway
    /// It is right, and will be followed further.
    case follows
    case ended
  }

  struct Chosen: Sendable, Hashable {
    /// From 0.
    var step: Int
    var asked: Double
    var measured: Double
    var value: Double
    var proof: BracketReport.Proof
  }

  enum Phase: Sendable, Hashable {
    case waiting
    /// The picture of before is waited for, before the controls are taken over.
    case looking
    /// The base is written; its picture is waited for.
    case settling
    /// A control is changed, by its place.
    case probing(Int)
    case stepping
    case restoring
    case over
  }

  /// Change of the mean level between two frames up to which a picture is steady, in doublings of the signal.
  /// Larger: moving scenes settle sooner, drifting exposure is taken for steady.
  static let steady = 0.02
  /// Frames that must be steady. Larger: surer, and slower.
  static let steadyFrames = 4
  /// Frames after which an unsteady picture will do: a scene that moves. Larger: a scene that moves delays
  /// the bracket longer; automatic exposure of a camera has longer to settle.
  static let mostSettling: UInt64 = 45
  /// Size of a probe in EV. Larger: the curve is measured better, and more is clipped.
  static let probe = 1.0
  /// Frames after the one that should show a step in which it is looked for. Larger: a delay that was
  /// measured too short is found out more often.
  static let slack: UInt64 = 4
  /// Frames whose focus score must be steady after a lens has moved. Larger: a lens that creeps is surer to
  /// be at rest.
  static let restFrames = 3
  /// Frames to wait for the answer to a write: as `ExposureControl.patience`. Larger: a lost write is noticed
  /// later.
  static let patience = 24
  /// Probes that are repeated because frames were lost around them. Larger: the delay is surer.
  static let mostProbes = 6

  let steps: BracketSteps
  /// EV.
  let toleranceAsked: Double
  let deadline: Double
  let longest: Double
  var port: ControlPort
  var controls: [SteeredControl]
  var law: ToneLaw
  var plan: BracketPlan?

  /// Of a lens: ways from end to end per second; 0: it is there at once.
  var speed = 0.0
  /// When the picture shows that the lens moves, and for how long it does, in seconds.
  var departure: Double?
  var travel = 0.0
  /// Frames since then whose score was as the one before.
  var restingFrames = 0

  var phase = Phase.waiting
  /// Why it failed, as a sentence.
  var failure: String?
  /// Why the latest try failed.
  var reason: String?
  /// Steps taken.
  var taken = 0
  var notes: [String] = []
  private var start: Double?

  /// Values before the bracket, in the controls' own numbers, in the order in which they are put back.
  var before: [(control: UInt16, value: Double)] = []
  private var restoring: [UInt64] = []

  /// Of each control, in its role's unit: before the bracket, asked for last, applied last.
  var base: [Double] = []
  var current: [Double?] = []
  var applied: [Double?] = []
  /// Of each control: the frame of its latest answer, and the delay that was measured.
  var answered: [UInt64] = []
  var delays: [UInt64?] = []
  /// Writes without an answer, and the frame of the latest.
  var awaited = 0
  var writtenAt: UInt64 = 0
  /// Frames that arrived since the latest write. Lost frames do not count: after a pause of the machine, the
  /// source may not have made the write yet.
  private var framesSinceWrite = 0
  private var isAnswerOverdue: Bool { framesSinceWrite > Self.patience }
  /// The first frame that shows what was written, as far as the answers are known.
  var showsFrom: UInt64 = 0

  /// Of a steady picture before the controls were taken over, and at the base.
  var original: LevelShares?
  var reference: LevelShares?
  var referenceMean: Double?
  var referenceScore: Double?
  var noise = SignalNoise()
  var matches = 0
  var settleStart: UInt64 = 0
  var steadyCount = 0
  var last: Look?
  var lastNumber: UInt64 { last?.number ?? 0 }
  var lastScore: Double? { last?.score }

  var probes: [Int] = []
  var probeSign = 1.0
  var probeCount = 0
  var watch: DelayWatch?
  /// The picture has begun to show the probe.
  var isProbeShown = false
  /// Failed tries of the step that is next.
  var tries = 0
  /// The frame at which the step was written; `nil` if the step changed no value.
  var beforeStep: Look?
  /// Whether a probe of brightness or the like did not change the picture. Then steps cannot be seen either.
  var isBlind = false
  let transfer: Color.Transfer

  /// `controls`: exposure and gain as far as the source has them, or the one control that is stepped.
  /// `longest` in microseconds: the exposure that the frame rate leaves room for. `tolerance` in EV,
  /// `deadline` in seconds from the first frame.
  init(
    _ steps: BracketSteps, _ controls: [SteeredControl], on port: ControlPort,
    transfer: Color.Transfer, longest: Double = .infinity, tolerance: Double, deadline: Double
  ) {
    self.steps = steps
    self.controls = controls
    self.port = port
    self.longest = longest
    self.deadline = deadline
    toleranceAsked = tolerance
    self.transfer = transfer
    law = ToneLaw(transfer)
    current = controls.map { _ in nil }
    applied = current
    answered = controls.map { _ in 0 }
    delays = controls.map { $0.pictureDelay.map { UInt64(clamping: $0.frames) } }
  }

  /// Takes what the source says of writes.
  mutating func take(_ event: Event) {
    if let place = restoring.firstIndex(of: event.ticket), event.kind != .settingsChanged {
      restoring.remove(at: place)
      if event.kind == .controlRefused {
        notes.append("bracket: the source refused to put \(name(event.control)) back")
      }
      return
    }
    for index in controls.indices {
      switch controls[index].answer(event) {
      case .applied(let value, _):
        applied[index] = value
        awaited = max(awaited - 1, 0)
        answered[index] = event.number
        showsFrom = max(showsFrom, event.number + (delays[index] ?? DelayWatch.patience))
      case .refused(let what):
        awaited = 0
        fail("the source refused \(what)")
      case nil: break
      }
    }
  }

  private func name(_ control: UInt16) -> String { port.controls[Int(control)].name }

  /// Takes what a frame shows; returns the step that it is the frame of.
  mutating func next(_ look: Look) -> Chosen? {
    defer { last = look }
    framesSinceWrite += 1
    if start == nil { start = look.seconds }
    if let start, look.seconds - start > deadline, phase != .restoring, phase != .over {
      let why = reason.map { ": \($0)" } ?? ""
      fail("it did not come out within \(deadline.settingText) s\(why)")
    }
    switch phase {
    case .waiting: wait(look)
    case .looking:
      if isSettled(look) { takeOver(look) }
    case .settling:
      if isSettled(look) { settled(look) }
    case .probing(let index): probe(index, look)
    case .stepping: return step(look)
    case .restoring: restore(look)
    case .over: break
    }
    return nil
  }

  /// Ends the bracket if the source has not answered to the latest write for `patience` frames. The reason
  /// names the control `index`, or all controls that the steps move.
  mutating func failIfOverdue(_ index: Int? = nil) {
    guard isAnswerOverdue else { return }
    let names = index.map { controls[$0].description.name } ?? movedNames
    fail("the source does not answer to \(names)")
  }

  /// Ends the bracket with a reason; the controls are put back first.
  mutating func fail(_ reason: String) {
    guard phase != .restoring, phase != .over else { return }
    failure = reason
    phase = .restoring
  }

  /// The source came back with other controls: what was to be put back is put back there.
  mutating func move(to other: ControlPort) {
    let names = before.map { (name($0.control), $0.value) }
    before = names.compactMap { name, value in other.control(name).map { ($0, value) } }
    port = other
    port.writeAtEnd(before)
    restoring = []
  }

  // MARK: Writes

  /// Writes the values that change. False if too many writes are in flight: then some may be written.
  mutating func write(_ values: [Double], at number: UInt64) -> Bool {
    for index in controls.indices where current[index] != values[index] {
      guard controls[index].write(values[index], at: number) else { return false }
      current[index] = controls[index].asked
      awaited += 1
      (writtenAt, framesSinceWrite) = (number, 0)
    }
    return true
  }

  // MARK: The end

  private mutating func restore(_ look: Look) {
    while let (control, value) = before.first {
      guard let ticket = port.write(control, value) else { return }
      framesSinceWrite = 0
      restoring.append(ticket)
      before.removeFirst()
    }
    // Answers come with the next frame at the earliest.
    guard restoring.isEmpty || isAnswerOverdue else { return }
    // Put back, or what the source does not answer to: it tries once more when it closes.
    if restoring.isEmpty { port.writeAtEnd([]) }
    phase = .over
  }
}
