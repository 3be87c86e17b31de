@testable import AutoFocus

/// A camera whose lens takes its time: writes show after a delay, the drive has a speed and play, the
/// score has noise. 30 frames a second.
struct LensBench {
  var lens = LensRange()
  /// Frames until a write shows.
  var delay = 2
  /// Frames from there until the picture shows it.
  var lag = 0
  /// Ways per second; 0 is there at once.
  var speed = 0.0
  /// Play of the lens.
  var backlash = 0.0
  /// Standard deviation of the score, as a share.
  var noise = 0.0
  var luma = 100.0
  /// The score at a position.
  var scene: (Double) -> Double?

  private(set) var position: Double
  private var drive: Double
  private var target: Double
  private var writes: [(frame: Int, position: Double)] = []
  private var showing: [(frame: Int, position: Double)] = []
  private var answer: UInt64? = 0
  private(set) var frame = 0
  private(set) var moves: [Double] = []
  private var random = SeededNoise()

  init(at position: Double, scene: @escaping (Double) -> Double?) {
    self.scene = scene
    self.position = position
    drive = position
    target = position
  }

  /// Lets the control see so many frames; stops early where `until` says so.
  mutating func run(
    _ control: inout FocusControl, frames: Int, until: (FocusControl.State) -> Bool = { _ in false }
  ) {
    for _ in 0..<frames {
      advance()
      let score = scene(position).map { $0 * (1 + noise * random.next()) }
      let time = Int64(frame) * 33_333_333
      let wanted = control.next(
        SceneLook(score: score, luma: luma), number: UInt64(frame), at: time, answer: answer,
        lens: target)
      if let wanted {
        writes.append((frame + max(delay, 1), wanted))
        showing.append((frame + max(delay, 1) + lag, wanted))
        answer = nil
        moves.append(wanted)
      }
      if until(control.state) { return }
    }
  }

  private mutating func advance() {
    frame += 1
    while let write = writes.first, write.frame <= frame {
      answer = UInt64(frame)
      writes.removeFirst()
    }
    while let write = showing.first, write.frame <= frame {
      target = lens.snapped(write.position)
      showing.removeFirst()
    }
    let reach = speed > 0 ? speed / 30 : 2
    drive = min(max(target, drive - reach), drive + reach)
    position = min(max(position, drive - backlash / 2), drive + backlash / 2)
  }
}

/// Normal numbers, the same in every run: the sum of twelve uniform ones less six.
struct SeededNoise {
  private var state: UInt64 = 1

  mutating func next() -> Double {
    var sum = -6.0
    for _ in 0..<12 {
      // Knuth's MMIX.
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      sum += Double(state >> 11) * 0x1p-53
    }
    return sum
  }
}

/// A peak as a defocused picture has it: half its height at `width` off.
func peak(at position: Double, width: Double, floor: Double = 0.02) -> (Double) -> Double {
  { at in
    let distance = (at - position) / width
    return 100 * (floor + 1 / (1 + distance * distance))
  }
}
