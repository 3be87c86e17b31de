internal import Glibc

/// Divides motions that were measured across frames of unknown motion (blurred, blank or covered ones) into
/// one for each frame.
///
/// `stabilize/estimate` compares a frame with one further back where those in between cannot be measured. So
/// the sum of their motions is known: the ones in between lie on the smoothest curve through what is known
/// before and behind them (the cubic through two positions on either side), blended with what was measured of
/// each, and the frame itself gets the rest. Frames that were already shown stay as they were; how their
/// motion was misjudged is told, so that the path goes on from what was seen.
///
/// No allocation.
struct MotionBridge {
  /// A frame's motion as it was used.
  struct Step {
    var motion = Similarity.identity
    var seconds = 0.0
    /// Share of the motion that was measured, 0 to 1; the rest was predicted.
    var weight = 0.0
  }

  /// How the latest frames were misjudged before they were shown, as seen from the frame behind them.
  struct Correction {
    /// Errors of the last frame's motion, and of the sum of all unknown motions.
    var last = Pose.zero
    var sum = Pose.zero
  }

  /// Steps of frames that were shown, the latest first, and how many are valid.
  private var shown = InlineArray<3, Step>(repeating: Step())
  private var shownCount = 0
  /// Steps from the frame that was compared with to this one; and where the frames in between lie.
  private var span = InlineArray<4, Step>(repeating: Step())

  /// Whether the latest shown frame's motion was not measured at all.
  var endsUnknown: Bool { shownCount > 0 && shown[0].weight == 0 }

  /// Notes how a shown frame's motion was taken.
  mutating func show(_ step: Step) {
    for index in stride(from: 2, to: 0, by: -1) { shown[index] = shown[index - 1] }
    shown[0] = step
    shownCount = min(shownCount + 1, 3)
  }

  /// Replaces each of `motions`, the first of which leads to the frame that is next to be shown, by the
  /// motion since the frame just before, those in between included.
  /// `belief` is the weight of a measured motion.
  mutating func divide(_ motions: inout [FrameMotion], belief: (FrameMotion) -> Double)
    -> Correction?
  {
    var correction: Correction?
    for index in motions.indices where motions[index].framesBack > 1 {
      let found = divide(&motions, at: index, belief)
      if index == 0 { correction = found }
    }
    return correction
  }

  private mutating func divide(
    _ motions: inout [FrameMotion], at index: Int, _ belief: (FrameMotion) -> Double
  ) -> Correction? {
    let motion = motions[index]
    let first = index - motion.framesBack + 1
    motions[index].framesBack = 1
    guard belief(motion) > 0, motion.framesBack <= 4, -first <= shownCount else {
      motions[index].comparison = .blank
      return nil
    }
    var (rest, seconds) = (motion.fromEarlier, motion.seconds)
    var start = first
    for place in first..<index {
      let step = step(place, motions, belief)
      span[place - first] = step
      seconds -= step.seconds
      // Frames at the beginning whose motion is known keep it: only the rest of the sum is divided.
      guard start == place, step.weight >= 1 else { continue }
      rest = rest * step.motion.inverse
      start += 1
    }
    motions[index].seconds = seconds
    var correction = Correction()
    if start < index {
      let curve = Curve(
        from: start > first ? span[start - first - 1] : known(start - 1, motions, belief),
        over: Step(motion: rest, seconds: motion.seconds(from: start, first, span)),
        to: known(index + 1, motions, belief))
      var time = 0.0
      for place in start..<index {
        var step = span[place - first]
        let smooth = curve.motion(from: time, to: time + step.seconds)
        time += step.seconds
        let divided = Similarity.blend(step.motion, smooth, 1 - step.weight)
        if place < 0 {
          correction.last = divided.pose - step.motion.pose
          correction.sum += correction.last
        } else {
          motions[place].fromEarlier = divided
          motions[place].comparison = .tracked
          motions[place].confidence = max(motions[place].confidence, motion.confidence)
        }
        step.motion = divided
        rest = rest * divided.inverse
      }
    }
    motions[index].fromEarlier = rest
    return correction
  }

  /// The step to the frame at `place`; below 0 it was shown.
  private func step(_ place: Int, _ motions: [FrameMotion], _ belief: (FrameMotion) -> Double)
    -> Step
  {
    guard place >= 0 else { return shown[-place - 1] }
    let weight = belief(motions[place])
    let motion = weight > 0 ? motions[place].fromEarlier : .identity
    return Step(motion: motion, seconds: motions[place].seconds, weight: weight)
  }

  /// That step, if it is known.
  private func known(_ place: Int, _ motions: [FrameMotion], _ belief: (FrameMotion) -> Double)
    -> Step?
  {
    guard place < motions.count, -place <= shownCount else { return nil }
    guard place < 0 || motions[place].framesBack == 1 else { return nil }
    let step = step(place, motions, belief)
    return step.weight >= 1 && step.seconds > 0 ? step : nil
  }

  /// The smoothest motion over a span of time of which the sum is known, by Lagrange's polynomial through
  /// the positions at its ends, and one before and behind them where these are known.
  private struct Curve {
    private var times = InlineArray<4, Double>(repeating: 0)
    private var places = InlineArray<4, SIMD4<Double>>(repeating: .zero)
    private var count = 0

    init(from before: Step?, over span: Step, to after: Step?) {
      if let before { add(-before.seconds, -before.motion.logarithm) }
      add(0, .zero)
      add(span.seconds, span.motion.logarithm)
      guard let after else { return }
      add(span.seconds + after.seconds, span.motion.logarithm + after.motion.logarithm)
    }

    private mutating func add(_ time: Double, _ place: SIMD4<Double>) {
      (times[count], places[count]) = (time, place)
      count += 1
    }

    private func place(_ time: Double) -> SIMD4<Double> {
      var sum = SIMD4<Double>.zero
      for index in 0..<count {
        var part = 1.0
        for other in 0..<count where other != index {
          part *= (time - times[other]) / (times[index] - times[other])
        }
        sum += part * places[index]
      }
      return sum
    }

    func motion(from start: Double, to end: Double) -> Similarity {
      let step = place(end) - place(start)
      return Similarity(shiftX: step[0], shiftY: step[1], roll: step[2], scale: exp(step[3]))
    }
  }
}

extension FrameMotion {
  /// Time from before the step at `start` to this frame, the span's steps before `start` taken off.
  fileprivate func seconds(
    from start: Int, _ first: Int, _ span: InlineArray<4, MotionBridge.Step>
  ) -> Double {
    var rest = seconds
    for place in first..<start { rest -= span[place - first].seconds }
    return rest
  }
}

extension Similarity {
  /// Shift of the picture's middle, and its roll.
  var pose: Pose { Pose(shiftX, shiftY, roll) }
  /// Shift, roll, and logarithm of the scale: small motions one after another add up in these.
  fileprivate var logarithm: SIMD4<Double> { SIMD4(shiftX, shiftY, roll, log(scale)) }

  /// `first`, and `part` of the way on to `second`.
  static func blend(_ first: Similarity, _ second: Similarity, _ part: Double)
    -> Similarity
  {
    var result = Similarity()
    result.a = first.a + (second.a - first.a) * part
    result.b = first.b + (second.b - first.b) * part
    result.shiftX = first.shiftX + (second.shiftX - first.shiftX) * part
    result.shiftY = first.shiftY + (second.shiftY - first.shiftY) * part
    return result
  }
}
