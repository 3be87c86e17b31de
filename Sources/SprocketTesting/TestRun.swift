public import Sprocket
internal import SprocketCore

/// A complete run of the engine inside a test: the fate and the reports of each frame.
///
///     let run = try TestRun(of: TestCamera(pictures), through: [.focus(), StageChoice(Mine.plugin)])
///     #expect(run.frames[3].report(Mine.Report.self)?.rise == 12)
///
/// Any source works: a `TestCamera`, a `FileSource`, a `SceneSource` with the pace `.fast`. A live source
/// loses frames if the machine is busy, so a test must not expect certain frames from it.
public struct TestRun: Sendable {
  /// One produced frame.
  public struct Frame: Sendable {
    /// Running number; lost frames are counted.
    public let number: UInt64
    public let fate: Fate
    /// `nil` if the frame was lost before it reached the run.
    public let record: FrameRecord?
    /// The picture at the end of the chain; `nil` if the frame was not delivered or pictures were not
    /// requested.
    public let picture: TestFrame?
    /// The stages' reports, in the chain's order.
    public let reports: [any FrameReport]
    /// Events of this frame, and of lost frames before it.
    public let events: [Event]
    /// The reports' numbers as bits: frames with equal numbers have equal reports.
    let numbers: [UInt64]

    /// The report of that type; `nil` if no stage made one.
    public func report<Report: FrameReport>(_ type: Report.Type) -> Report? {
      reports.lazy.compactMap { $0 as? Report }.first
    }
  }

  /// A change of live settings during the run.
  public struct Change: Sendable {
    /// The first frame for which it holds.
    public let number: UInt64
    public let settings: SettingsChange

    /// `stage` is the plug-in's name.
    public init<Settings: KindSettings>(
      at number: UInt64, _ stage: String, of type: Settings.Type,
      _ choose: (inout NewValues<Settings>) -> Void
    ) {
      (self.number, settings) = (number, SettingsChange(stage, of: type, choose))
    }
  }

  /// All frames that the source produced, in order.
  public let frames: [Frame]
  public let summary: RunSummary

  /// Runs `stages` on `source` until the source ends.
  ///
  /// - Parameters:
  ///   - source: is used once, as in any run.
  ///   - stages: the chain, in its order.
  ///   - changes: changes of live settings, in order.
  ///   - workers: threads of each parallel lane.
  ///   - limit: ends the run after that many frames.
  ///   - pictures: whether to copy each delivered picture, which takes memory; `false` if reports suffice.
  ///   - time: longest duration of the run.
  ///
  /// Throws the run's error, also if the run takes longer than `time`.
  public init(
    of source: any Source, through stages: [StageChoice] = [], changing changes: [Change] = [],
    workers: Int = 2, frames limit: UInt64? = nil, pictures: Bool = true,
    within time: Duration = .seconds(60)
  ) throws(RunError) {
    let sink = CollectingSink(pictures: pictures)
    let engine = try Engine(
      source: source, stages: stages, sinks: [sink],
      options: RunOptions(workers: workers, frameLimit: limit))
    for change in changes {
      try engine.set(change.settings, at: .frame(change.number))
    }
    try engine.start()
    if !engine.wait(for: time) {
      engine.stop()
      _ = engine.wait(for: .seconds(20))
      throw RunError(
        .failed, "the run was not done after \(time); give it more time, or fewer frames")
    }
    summary = engine.summary
    if let error = summary.errors.first { throw error }
    frames = sink.frames.withLock { $0 }
  }

  /// Notes of the stages, the source and the engine at the end of the run.
  public var notes: [String] { summary.notes }

  /// All reports of that type.
  public func reports<Report: FrameReport>(_ type: Report.Type) -> [Report] {
    frames.compactMap { $0.report(type) }
  }

  /// Runs the same chain with different numbers of workers. Returns the first difference between two runs, in
  /// fates, reports or pictures; `nil` if there is none. `source` is called once per run.
  public static func firstDifference(
    betweenWorkers counts: [Int] = [1, 2, 4], through stages: [StageChoice],
    changing changes: [Change] = [], frames limit: UInt64? = nil,
    of source: () throws(RunError) -> any Source
  ) throws(RunError) -> String? {
    contract(
      counts.count >= 2,
      "compares \(counts.count) numbers of workers; give two or more, such as [1, 4]")
    var first: TestRun?
    for workers in counts {
      let run = try TestRun(
        of: source(), through: stages, changing: changes, workers: workers, frames: limit)
      guard let known = first else {
        first = run
        continue
      }
      if let difference = run.difference(from: known) {
        return "\(workers) workers, not \(counts[0]): \(difference)"
      }
    }
    return nil
  }

  /// The first difference from another run; `nil` if there is none.
  public func difference(from other: TestRun) -> String? {
    guard frames.count == other.frames.count else {
      return "\(frames.count) frames and not \(other.frames.count)"
    }
    for (mine, theirs) in zip(frames, other.frames) {
      let name = "frame \(mine.number)"
      if mine.number != theirs.number { return "\(name) and not frame \(theirs.number)" }
      if mine.fate != theirs.fate { return "\(name) is \(mine.fate) and not \(theirs.fate)" }
      if mine.events != theirs.events {
        return "\(name): the events \(mine.events) and not \(theirs.events)"
      }
      if mine.numbers != theirs.numbers {
        return "\(name): the reports \(mine.reports) and not \(theirs.reports)"
      }
      guard let picture = mine.picture, let theirs = theirs.picture else { continue }
      if let found = picture.difference(from: theirs.planes) { return "\(name): \(found)" }
    }
    return nil
  }
}

/// Keeps every frame. Called on the sink's thread.
private final class CollectingSink: Sink {
  let name = "test"
  private let pictures: Bool
  private var layouts: [ReportLayout] = []
  let frames = Locked<[TestRun.Frame]>([])

  init(pictures: Bool) { self.pictures = pictures }

  func configure(_ setup: inout SinkSetup) throws(RunError) {
    layouts = setup.reports
    if pictures { try setup.reads(.image) }
  }

  func write(_ frame: borrowing PackedFrame) throws(RunError) {
    let copy = pictures ? FrameCopy(frame.view, .image) : nil
    add(frame.view, frame.record, .delivered, copy.map { TestFrame($0) })
  }

  func account(_ lost: LostFrame) throws(RunError) {
    let frame = TestRun.Frame(
      number: lost.number, fate: lost.fate, record: nil, picture: nil, reports: [],
      events: lost.events, numbers: [])
    frames.withLock { $0.append(frame) }
  }

  func account(_ lost: LostFrame, frame: borrowing FrameView) throws(RunError) {
    add(frame, frame.record, lost.fate, nil)
  }

  private func add(
    _ view: borrowing FrameView, _ record: FrameRecord, _ fate: Fate, _ picture: TestFrame?
  ) {
    var reports: [any FrameReport] = []
    var numbers: [UInt64] = []
    for layout in layouts {
      guard let report = report(layout.type, view) else { continue }
      reports.append(report)
      for field in layout.fields { add(field, layout, view, to: &numbers) }
    }
    var events: [Event] = []
    for index in 0..<view.eventCount { events.append(view.event(index)) }
    let frame = TestRun.Frame(
      number: record.number, fate: fate, record: record, picture: picture, reports: reports,
      events: events, numbers: numbers)
    frames.withLock { $0.append(frame) }
  }

  private func report<Report: FrameReport>(
    _ type: Report.Type, _ view: borrowing FrameView
  ) -> (any FrameReport)? { view.report(type) }

  private func add(
    _ field: ReportFieldDescription, _ layout: ReportLayout, _ view: borrowing FrameView,
    to numbers: inout [UInt64]
  ) {
    guard case .list(let list) = field.kind else {
      for index in 0..<field.kind.count { numbers.append(number(field, layout, index, view)) }
      return
    }
    let count = view.itemCount(list, of: layout)
    numbers.append(UInt64(count))
    for index in 0..<count {
      for part in list.fields {
        let part = part.moved(by: field.offset + index * list.stride)
        add(part, layout, view, to: &numbers)
        guard part.kind == .text, let text = view.value(part, of: layout, as: ReportText.self)
        else {
          continue
        }
        let bytes = view.bytes(text, in: list, of: layout)
        for byte in bytes.indices { numbers.append(UInt64(bytes[byte])) }
      }
    }
  }

  private func number(
    _ field: ReportFieldDescription, _ layout: ReportLayout, _ index: Int,
    _ view: borrowing FrameView
  ) -> UInt64 {
    switch field.kind.size {
    case 8: view.value(field, of: layout, index: index, as: UInt64.self) ?? 0
    case 4: UInt64(view.value(field, of: layout, index: index, as: UInt32.self) ?? 0)
    default: UInt64(view.value(field, of: layout, index: index, as: UInt8.self) ?? 0)
    }
  }
}

extension TestFrame {
  /// A picture from a copy of a frame at the end of the chain.
  fileprivate init(_ copy: FrameCopy) {
    var planes: [[UInt8]] = []
    var rest = copy.bytes[...]
    for index in 0..<copy.pixels.planeCount {
      let size = copy.pixels.plane(index, width: copy.width, height: copy.height)
      planes.append(Array(rest.prefix(size.bytesPerRow * size.rows)))
      rest = rest.dropFirst(size.bytesPerRow * size.rows)
    }
    self.init(
      copy.pixels, width: copy.width, height: copy.height, color: copy.format.color, planes: planes)
    format.presentation = copy.format.presentation
    format.lens = copy.format.lens
    sensorMap = copy.sensorMap
    record = copy.record
  }
}
