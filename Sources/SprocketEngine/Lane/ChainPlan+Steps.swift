internal import SprocketCore

extension ChainPlan.Step {
  var stageIndex: Int? {
    if case .stage(let index) = self { return index }
    return nil
  }

  func name(_ stages: [ChainStage]) -> String {
    switch self {
    case .stage(let index): stages[index].name
    case .unpack: "unpack"
    case .unpackAsked: "unpack on demand"
    case .select: "select"
    case .pack: "pack"
    case .packSource: "pack source"
    }
  }

  /// Whether the step unpacks or runs a stage. `FrameRecord.processed` is the time after the last such step.
  var isProcessing: Bool { self == .unpack || stageIndex != nil }
}
