import Glibc
import Sprocket

/// Ends the program in the way that is asked for; Tests/Judges/test_traps.py looks at what it says.
struct TrapStage: Stage {
  static let order = Order.sequence
  static let plugin = Plugin("trap", "ends the program at a frame", TrapStage.self)

  enum Way: String, SettingValue, CaseIterable {
    case index, precondition, overflow, division, optional, null, stack, abort, bus, float
  }

  struct Settings: KindSettings {
    var way = Way.index
    var at = 3
    static var settings: [Setting<Self>] {
      [
        Setting("way", \.way, "how"),
        Setting("at", \.at, range: -1...1_000_000, "the frame; -1: before the first"),
      ]
    }
  }

  var settings = Settings()
  private var values = [1, 2, 3]
  private var depth = 0

  mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    if settings.at < 0 { end() }
    return setup.format
  }

  mutating func process(_ frame: inout FrameView) -> Verdict {
    if frame.record.number == UInt64(max(0, settings.at)) { end() }
    return .keep
  }

  private mutating func end() {
    let three = values.count
    switch settings.way {
    case .index: values[0] = values[three]
    case .precondition: precondition(three != 3)
    case .overflow: values[0] = Int.max + three
    case .division: values[0] = three / (three - 3)
    case .optional: values[0] = values.first { $0 > three }!
    case .null:
      values[0] = unsafe UnsafePointer<Int>(bitPattern: 8 * three).unsafelyUnwrapped.pointee
    case .stack: values[0] = descend(three)
    case .abort: abort()
    case .bus: raise(SIGBUS)
    case .float: raise(SIGFPE)
    }
  }

  @inline(never)
  private mutating func descend(_ from: Int) -> Int {
    depth &+= from
    return depth == 0 ? from : descend(from) &+ descend(depth)
  }
}

/// Takes its time on each frame.
struct SlowStage: Stage {
  static let order = Order.sequence
  static let plugin = Plugin("slow", "takes its time", SlowStage.self)

  struct Settings: KindSettings {
    var time = Duration.milliseconds(20)
    static var settings: [Setting<Self>] {
      [Setting("time", \.time, range: .zero ... .seconds(100), "on each frame")]
    }
  }

  var settings = Settings()

  mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    setup.format
  }

  mutating func process(_ frame: inout FrameView) -> Verdict {
    usleep(UInt32(settings.time / .microseconds(1)))
    return .keep
  }
}
