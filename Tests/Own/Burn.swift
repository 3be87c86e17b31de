import Sprocket

/// Does a given amount of work and changes nothing: a change of speed that a test plants.
struct Burn: Stage {
  struct Settings: KindSettings {
    var core = 1000
    var memory = 0
    var keeps = true
    static let settings = [
      Setting<Settings>(
        "core", \.core, range: 0...1_000_000, unit: "units", "of arithmetic in registers"),
      Setting<Settings>(
        "memory", \.memory, range: 0...1_000_000, unit: "rows", "of luma to add up"),
      Setting<Settings>("keeps", \.keeps, "frames pass; else it drops them all"),
    ]
  }

  static let plugin = Plugin("burn", "does a given amount of work", Burn.self)

  static var order: Order { .any }

  /// Operations in a unit of `core`; each waits for the one before. Larger: coarser steps of work.
  private static let operationsInUnit = 16

  var settings = Settings()
  private var state: UInt64 = 1
  private var sum: UInt8 = 0

  init() {}

  mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    try setup.reads(.luma(.full))
    return setup.format
  }

  mutating func process(_ frame: inout FrameView) -> Verdict {
    for _ in 0..<settings.core * Self.operationsInUnit {
      state = (state &* 6_364_136_223_846_793_005) ^ (state >> 33)
    }
    let luma = frame.luma()
    for number in 0..<settings.memory {
      let row = luma[row: number % luma.rows]
      for index in row.indices { sum &+= row[index] }
    }
    return !settings.keeps || state == 0 && sum == 0 ? .drop(.rejected) : .keep
  }
}
