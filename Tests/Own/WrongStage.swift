import Sprocket

/// Has a default beyond its range, and a name that is given to it.
struct WrongStage: Stage {
  static let order = Order.any

  struct Settings: KindSettings {
    var share = 1.5
    static var settings: [Setting<Self>] {
      [Setting("share", \.share, range: 0...1, "of the light")]
    }
  }

  var settings = Settings()

  mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    setup.format
  }

  mutating func process(_ frame: inout FrameView) -> Verdict { .keep }
}
