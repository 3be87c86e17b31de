public import SprocketCore

/// Calls a closure for each frame, with the result of a condition on the frame's reports:
///
///     let trigger = try TriggerSink("motion.score > 0.2") { holds, record in ... }
///
/// The condition compares fields of the chain's reports (`stage.field`) with numbers, words and each other by
/// `<`, `<=`, `>`, `>=`, `==` and `!=`, joined by `and`, `or` and `not`. A comparison with an unknown number
/// is false. `body` is called on the sink's thread, for each frame at the chain's end, and should return
/// soon. Costs some tens of nanoseconds per comparison; reads no pixels.
public final class TriggerSink: Sink {
  public let name: String
  private let condition: ReportCondition
  private var resolved: ReportCondition?
  private let body: (Bool, FrameRecord) -> Void

  /// Throws if the text is not a condition. Its fields are looked for when the run is set up. `name` is the
  /// sink's in the summary; each of a run's needs one of its own.
  public init(
    _ condition: String, name: String = "trigger",
    _ body: @escaping (_ holds: Bool, _ record: FrameRecord) -> Void
  ) throws(RunError) {
    self.condition = try ReportCondition(parsing: condition)
    self.name = name
    self.body = body
  }

  /// Throws if a text is not a condition on what these stages report.
  public static func check(_ condition: String, of stages: [Plugin]) throws(RunError) {
    let layouts = stages.flatMap { plugin in
      plugin.stages.filter { !$0.fields.isEmpty }.map { stage in
        ReportLayout(
          plugin: plugin.name, stage.reportType, fields: stage.fields,
          slot: ReportSlot(offset: 0, bit: 1))
      }
    }
    _ = try ReportCondition(parsing: condition).resolved(layouts)
  }

  public func configure(_ setup: inout SinkSetup) throws(RunError) {
    resolved = try condition.resolved(setup.reports)
  }

  public func write(_ frame: borrowing PackedFrame) {
    body(resolved?.holds(frame.view) ?? false, frame.record)
  }

  /// False: the run may end while this sink still works.
  public var lasts: Bool { false }
}
