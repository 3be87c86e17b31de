public import SprocketCore

/// Drops frames that would arrive too late, before work is spent on them.
public struct LateFrameDrop: Stage {
  public static let plugin = Plugin(
    "latedrop", "drops frames that would be older than a budget at the end", LateFrameDrop.self)

  public static var order: Order { .sequence }

  /// What a user may choose.
  public struct Settings: KindSettings {
    /// The age at the end of the chain that a frame may reach, 1 ms to 60 s.
    public var budget = Duration.milliseconds(100)

    public init() {}

    public static var settings: [Setting<Self>] {
      [
        Setting(
          "budget", \.budget, range: .milliseconds(1) ... .seconds(60),
          "the age at the end of the chain that a frame may reach"
        ).live
      ]
    }
  }

  public var settings = Settings()

  var policy = LatePolicy(budget: 0)
  /// `nil` where frames wait: then none is late.
  var remaining: Remaining?

  public init() {}

  public mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    policy = LatePolicy(budget: 0)
    retune()
    guard setup.isLive else {
      remaining = nil
      return setup.format
    }
    setup.allowsAge(settings.budget)
    remaining = setup.readsRemaining()
    return setup.format
  }

  public mutating func retune() { policy.budget = settings.budget.nanosecondCount }

  public mutating func process(_ frame: inout FrameView) -> Verdict {
    if frame.record.wasLate { return .drop(.late) }
    guard let remaining else { return .keep }
    switch policy.decide(age: frame.age, remaining: remaining.p95) {
    case .keep: return .keep
    case .drop: return .drop(.late)
    case .probe:
      remaining.measureAnew()
      return .keep
    }
  }
}

extension StageChoice {
  /// Drops frames that would be too old at the end of the chain.
  public static func lateDrop(_ choose: (inout LateFrameDrop.Settings) -> Void = { _ in })
    -> StageChoice
  {
    StageChoice(LateFrameDrop.plugin, of: LateFrameDrop.self, choose)
  }
}
