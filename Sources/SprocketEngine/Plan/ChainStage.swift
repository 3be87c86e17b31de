internal import SprocketCore

/// A stage's place in the chain: its instances, and what it declared for the current epoch.
final class ChainStage {
  /// `focus`, or `stabilize/estimate` for one of several.
  let name: String
  let plugin: String
  let kind: StageKind
  /// Those of the run's start.
  let settings: any KindSettings
  let instances: [StageInstance]
  let remaining = Remaining()
  let reportSlot: ReportSlot
  var declared = Declaration()

  /// What `configure` said.
  struct Declaration {
    var parts: FrameParts = []
    var writing: StageSetup.Writing?
    var history = 0
    var lookahead = 0
    var isSteering = false
    var usesRemaining = false
    var ageBudget: Duration?
    var reportType: (any FrameReport.Type)?
    var format: FrameFormat?

    var readsPixels: Bool { !parts.isDisjoint(with: .pixels) || writing != nil }
    var looksAround: Bool { history > 0 || lookahead > 0 }
  }

  init(
    name: String, plugin: String, kind: StageKind, workers: Int, settings: any KindSettings,
    reportSlot: ReportSlot
  ) {
    self.name = name
    self.plugin = plugin
    self.kind = kind
    self.reportSlot = reportSlot
    self.settings = settings
    instances = RunningCode(["stage `\(name)`"]).during {
      (0..<(kind.order == .any ? workers : 1)).map { _ in
        StageInstance(kind.make(settings), order: kind.order)
      }
    }
  }

  /// `nil` where the stage declared no report.
  var reportLayout: ReportLayout? {
    declared.reportType.map {
      ReportLayout(plugin: plugin, $0, fields: kind.fields, slot: reportSlot)
    }
  }

  /// Configures every instance for frames of `format`; returns the format that flows on.
  func configure(
    format: FrameFormat, source: SourceDescription,
    earlier: [String: (type: any FrameReport.Type, slot: ReportSlot)]
  ) throws(RunError) -> FrameFormat {
    try RunningCode(["stage `\(name)`"]).during { () throws(RunError) in
      var next = format
      // Another format takes another time.
      remaining.measureAnew()
      for instance in instances {
        var setup = StageSetup(
          format: format, isLive: source.isLive, controls: source.controls, remaining: remaining,
          earlier: earlier, ownSlot: reportSlot, ownReport: kind.reportType)
        guard SystemMemory.addressSpaceLeft() > 0 else {
          throw RunError(
            .failed,
            "there is too little address space for \(name) on each of \(instances.count) workers: "
              + "raise the limit (ulimit -v), or use fewer workers", change: .workers)
        }
        do throws(StageError) {
          next = try instance.stage.configure(&setup)
        } catch {
          throw RunError(
            error.isOfMachine ? .failed : .usage, "\(name) \(error)", error.settings)
        }
        declared = Declaration(
          parts: setup.parts, writing: setup.writing, history: setup.history,
          lookahead: setup.lookahead, isSteering: setup.isSteering,
          usesRemaining: setup.usesRemaining, ageBudget: setup.ageBudget,
          reportType: setup.reportType, format: next)
      }
      guard !source.isAskedByNumber || kind.order == .any && !declared.looksAround else {
        throw RunError(
          .usage,
          "the stage \(name) needs all frames in order, and here each is asked for by its number: leave it "
            + "out, or play the file", change: .stage)
      }
      contract(
        !declared.isSteering || kind.order == .sequence,
        "steers the source, for which it has to see frames in order; give it the order .sequence")
      contract(
        next == format || declared.writing == .nextImage || declared.writing == .firstImage,
        "returns another format from configure; declare `try setup.writes(.nextImage)`")
      return next
    }
  }
}

/// One instance of a stage: one worker's own.
///
/// Unchecked: it is configured before its thread starts, used by that thread alone, and finished
/// after that thread has been joined. So are the events that it received.
final class StageInstance: @unchecked Sendable {
  var stage: any Stage
  /// `nil` where several instances take frames in any order.
  var events: EventReader?
  /// The settings that the stage has; `nil` for those of the run's start.
  private(set) var settings: LiveSettings?

  init(_ stage: any Stage, order: Order) {
    self.stage = stage
    events = order == .sequence ? EventReader() : nil
  }

  /// Stores live settings in the stage; `index` is its place in the chain. Returns whether that changed some.
  @discardableResult
  func store(_ new: LiveSettings?, stage index: Int) -> Bool {
    guard let new, new !== settings else { return false }
    defer { settings = new }
    guard let value = new.values[index], value.request != settings?.values[index]?.request else {
      return false
    }
    stage.store(value.settings)
    return true
  }
}
