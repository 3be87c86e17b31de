public import SprocketCore

/// A stage, configured for frames like one, that is shown frames one by one.
public struct StageUnderTest<S: Stage> {
  public var stage: S
  /// What the stage declared.
  public let parts: FrameParts
  public let writing: StageSetup.Writing?
  public let ageBudget: Duration?
  let format: FrameFormat

  /// Configures `stage`; throws what it throws.
  public init(
    _ stage: S, for frame: TestFrame, isLive: Bool = true, remaining: Remaining = Remaining()
  ) throws(StageError) {
    self.stage = stage
    format = frame.format
    var setup = StageSetup(
      format: format, isLive: isLive, controls: nil, remaining: remaining, earlier: [:],
      ownSlot: FrameMemory.slot)
    _ = try self.stage.configure(&setup)
    parts = setup.parts
    writing = setup.writing
    ageBudget = setup.ageBudget
  }

  /// Shows one frame to the stage. A stage that writes changes `frame.planes`.
  public mutating func process(_ frame: inout TestFrame) -> (verdict: Verdict, report: S.Report?) {
    precondition(frame.format == format, "the stage was configured for another format")
    let memory = FrameMemory(frame, reportSize: MemoryLayout<S.Report>.size)
    let access = FrameAccess(
      lane: 0, version: 0, written: writing == nil ? nil : 0, isInPlace: writing == .inPlace,
      format: format, parts: parts)
    var view = unsafe FrameView(
      unsafeStorage: memory.storage, access: access, now: frame.now, neighbours: .none,
      events: S.order == .sequence ? frame.events : nil)
    let verdict = stage.process(&view)
    frame.planes = memory.planes
    return (verdict, memory.report(as: S.Report.self))
  }

  /// The report on one frame; traps where there is none.
  public mutating func report(on frame: TestFrame) -> S.Report {
    var frame = frame
    guard let report = process(&frame).report else { preconditionFailure("no report") }
    return report
  }
}
