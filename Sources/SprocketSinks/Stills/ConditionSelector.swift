internal import SprocketCore

/// Selects the frames for which a condition on the stages' reports holds.
final class ConditionSelector: FrameSelector {
  private let condition: ReportCondition

  /// `condition` has found its fields in the chain.
  init(_ condition: ReportCondition) { self.condition = condition }

  func selects(_ frame: borrowing FrameView) -> Bool { condition.holds(frame) }
}
