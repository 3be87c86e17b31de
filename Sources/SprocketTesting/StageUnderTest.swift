internal import CSprocketAllocations
internal import SprocketCodecs
public import SprocketCore
internal import SprocketTestMemory

/// Runs one stage on single frames, on the test's own thread and without an engine. The test supplies times,
/// neighbours and events. For whole chains, see `TestRun`.
public struct StageUnderTest<S: Stage> {
  /// A frame as the stage saw it.
  public struct Seen {
    public let record: FrameRecord
    /// The planar picture; `nil` where the stage reads no image.
    public let picture: TestFrame?
    let luma: [LumaScale: [UInt8]]

    /// Luma row by row, without padding. Traps at a scale that the stage did not declare.
    public func luma(_ scale: LumaScale = .full) -> [UInt8] {
      guard let luma = luma[scale] else {
        contractBroken(
          "asks for luma(.\(scale)), which the stage under test does not read; ask for what it declared"
        )
      }
      return luma
    }
  }

  /// The result of one `process` call.
  public struct Shown {
    public let verdict: Verdict
    /// `nil` if the stage made none.
    public let report: S.Report?
    /// The planar picture before `process`; `nil` if the stage reads no image.
    public var seen: TestFrame? { frame.picture }
    /// The picture that the stage wrote; `nil` if it writes none.
    public let picture: TestFrame?
    /// Number of memory requests during `process`; 0 if the process has loaded a library since the frame
    /// before, since the loader and Swift's run-time library then allocate on any thread.
    public let allocations: Int
    /// The neighbouring frames, the nearest first.
    public let earlier: [Seen]
    public let later: [Seen]
    let frame: Seen

    /// Luma of the frame itself, see `Seen.luma`.
    public func luma(_ scale: LumaScale = .full) -> [UInt8] { frame.luma(scale) }
  }

  public var stage: S
  /// What the stage declared.
  public let parts: FrameParts
  public let writing: StageSetup.Writing?
  public let history: Int
  public let lookahead: Int
  public let ageBudget: Duration?
  /// The format that the stage's `configure` returned.
  public let writtenFormat: FrameFormat
  let format: FrameFormat
  private let unpacker = FrameUnpacker()
  private let plan: UnpackPlan
  /// Libraries that were loaded when the latest frame had been shown.
  private var libraries = sprocket_library_count()

  /// Configures `stage`. Throws its error, or `RunError` if there is no memory, if its settings or its
  /// report are declared wrongly, or if a setting has a value that no run takes.
  ///
  /// - Parameters:
  ///   - stage: with the settings that the test chose.
  ///   - frame: a sample of the frames to come; all have its format.
  ///   - isLive: what `StageSetup.isLive` says.
  ///   - remaining: what `StageSetup.readsRemaining` returns.
  ///   - controls: the port for a stage that writes controls. The test takes the writes with `take()` and
  ///     answers them with the `events` of a later frame.
  public init(
    _ stage: S, for frame: TestFrame, isLive: Bool = true, remaining: Remaining = Remaining(),
    controls: ControlPort? = nil
  ) throws {
    let owner = "the stage \(S.self)"
    for mistake in S.Settings.mistakes(of: owner) + S.Report.mistakes(of: owner) { throw mistake }
    for refusal in stage.settings.refusals {
      throw RunError(.usage, "\(owner): \(refusal.error)")
    }
    self.stage = stage
    format = frame.format
    var setup = StageSetup(
      format: format, isLive: isLive, controls: controls, remaining: remaining, earlier: [:],
      ownSlot: FrameMemory.report)
    writtenFormat = try self.stage.configure(&setup)
    parts = setup.parts
    writing = setup.writing
    history = setup.history
    lookahead = setup.lookahead
    ageBudget = setup.ageBudget
    plan = try unpacker.configure(format: format, parts: parts)
  }

  /// Shows one frame to the stage.
  ///
  /// - Parameters:
  ///   - frame: the frame, in the format that the stage was configured for.
  ///   - earlier: previous frames, the nearest first; at most the history that the stage declared.
  ///   - later: following frames, the nearest first; at most the look-ahead that the stage declared.
  public mutating func process(
    _ frame: TestFrame, earlier: [TestFrame] = [], later: [TestFrame] = []
  ) -> Shown {
    contract(
      earlier.count <= history,
      "shows \(earlier.count) earlier frames to a stage with a history of \(history); show no more than that"
    )
    contract(
      later.count <= lookahead,
      "shows \(later.count) later frames to a stage with a look-ahead of \(lookahead); show no more than that"
    )
    let frames = [frame] + earlier + later
    let memories = frames.map { self.memory(of: $0) }
    let (memory, around) = (memories[0], Array(memories.dropFirst()))
    var access = FrameAccess(
      lane: .lane(0), version: 0, written: writing == nil ? nil : 1, isInPlace: writing == .inPlace,
      format: format, writtenFormat: writtenFormat, parts: parts)
    access.history = history
    access.lookahead = lookahead
    let events = S.order == .sequence ? frame.events : nil
    let (verdict, allocations) = memory.show(
      access, now: frame.now, events: events, around: around, earlier: earlier.count
    ) { view in
      let before = sprocket_allocation_count()
      let verdict = stage.process(&view)
      return (verdict, sprocket_allocation_count() - before)
    }
    let isQuiet = libraries == sprocket_library_count()
    libraries = sprocket_library_count()
    let seen = zip(frames, memories).map { self.seen($0, $1) }
    return Shown(
      verdict: verdict, report: memory.report(as: S.Report.self),
      picture: writing == nil ? nil : memory.picture(version: 1, like: frame, writtenFormat),
      allocations: isQuiet ? allocations : 0,
      earlier: Array(seen.dropFirst().prefix(earlier.count)),
      later: Array(seen.dropFirst(1 + earlier.count)), frame: seen[0])
  }

  /// Changes live settings between two frames: stores them, and calls `retune`. Returns the number of memory
  /// requests during `retune`, which must be 0. Traps for a setting that is not live, and for a value that no
  /// run takes.
  public mutating func change(_ store: (inout S.Settings) -> Void) -> Int {
    let old = stage.settings
    store(&stage.settings)
    for setting in S.Settings.settings where !setting.isLive {
      contract(
        setting.read(from: old) == setting.read(from: stage.settings),
        "changes `\(setting.name)`, which is no live setting; declare it with `.live`, or make a stage anew"
      )
    }
    if let refusal = stage.settings.refusals.first {
      contractBroken("changes a setting: \(refusal.error)")
    }
    let before = sprocket_allocation_count()
    stage.retune()
    return sprocket_allocation_count() - before
  }

  private func seen(_ frame: TestFrame, _ memory: FrameMemory) -> Seen {
    let scales = LumaScale.allCases.filter { parts.contains(.luma($0)) }
    return Seen(
      record: frame.record,
      picture: parts.contains(.image) ? memory.picture(version: 0, like: frame, format) : nil,
      luma: Dictionary(uniqueKeysWithValues: scales.map { ($0, memory.luma($0)) }))
  }

  /// The report on one frame; traps if there is none.
  public mutating func report(on frame: TestFrame) -> S.Report {
    guard let report = process(frame).report else {
      contractBroken(
        "asks for a report that the stage did not make; use `process`, whose report is optional")
    }
    return report
  }

  private func memory(of frame: TestFrame) -> FrameMemory {
    contract(
      frame.format == format,
      "shows another format than that which the stage was configured for; make a StageUnderTest for it"
    )
    return FrameMemory(
      frame, parts: parts, unpacker, plan, reportBytes: MemoryLayout<S.Report>.size,
      writing: writing.map { ($0, writtenFormat) })
  }
}

extension StageUnderTest {
  /// Runs new stages on random and extreme pictures of each format and size, with as many neighbours as the
  /// stage declared. Returns the first text that `check` returned, with format, size and pattern; `nil` if it
  /// returned none.
  ///
  ///     #expect(try StageUnderTest.firstDifference(of: Negate()) { shown in
  ///       guard let picture = shown.picture, let seen = shown.seen else { return "no picture" }
  ///       return picture.difference(from: seen.planes.map { $0.map { 255 - $0 } })
  ///     } == nil)
  ///
  /// Formats and sizes that `configure` refuses are skipped. If it refuses all, its last error is thrown.
  /// With a `color` of limited range formats of RGB are skipped, too: they have full range.
  public static func firstDifference(
    of stage: @autoclosure () -> S, formats: [PixelFormat] = TestFrame.formats,
    sizes: [(Int, Int)] = TestFrame.sizes, color: Color = .jpeg,
    _ check: (Shown) throws -> String?
  ) throws -> String? {
    // RGB has full range.
    let formats = formats.filter { !$0.isRGB || color.range == .full }
    var refusal: StageError?
    var checked: PixelFormat?
    for format in formats {
      for (width, height) in sizes {
        for pattern in TestPattern.allCases {
          func frame(_ number: Int) -> TestFrame {
            var frame = TestFrame(
              format, width: width, height: height, color: color, pattern,
              seed: UInt64(1 + 4 * number))
            frame.record.number = UInt64(number)
            return frame
          }
          var tested: StageUnderTest
          do {
            tested = try StageUnderTest(stage(), for: frame(0))
          } catch let error as StageError {
            refusal = error
            continue
          }
          // The first call on a format allocates in Swift's run-time library.
          if checked != format { _ = tested.process(frame(0)) }
          checked = format
          let at = tested.history
          let shown = tested.process(
            frame(at), earlier: (0..<at).map { frame(at - 1 - $0) },
            later: (0..<tested.lookahead).map { frame(at + 1 + $0) })
          if let difference = try check(shown) {
            return "\(format) \(width)x\(height), \(pattern): \(difference)"
          }
        }
      }
    }
    if let refusal, checked == nil { throw refusal }
    return nil
  }
}
