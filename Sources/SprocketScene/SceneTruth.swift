internal import SprocketCore
internal import SprocketFiles

/// Ground truth of one frame, also of a frame that was lost.
package struct SceneTruth: Sendable, Hashable {
  package var capture = SceneCapture()
  package var moment = SceneMoment()
  /// Standard deviation of the lens blur, in pixels.
  package var blurSigma = 0.0
  /// Lens position at which the scene is in focus.
  package var focus = 0.0
  /// Light on the scene, in EV.
  package var light = 0.0

  package init() {}
}

extension TextTarget where Self: ~Copyable {
  /// Appends a frame's line of JSON, and before it one line for each sequence number lost.
  ///
  /// Keys: `sequence`, `epoch`, `number` (read-outs since the start), `taken_ns` (since the start), `dx`,
  /// `dy` (pixels), `roll_degrees`, `scale` (`sceneFromFrame`, see `SceneSimilarity`), `exposure_us`, `gain`,
  /// `lens` (its position, 0...1), `blur_px`, `focus` (the lens position that is in focus), `light_ev` (on
  /// the scene), `startup`, `faults` (an array of names).
  mutating func append(_ truth: SceneTruth) throws(RunError) {
    let capture = truth.capture
    // The range is of `Int`, because iterating over a range of `UInt64` allocates in a debug build.
    for index in 0..<Int(capture.lost) {
      try append(sequence: capture.sequence - capture.lost + UInt64(index), epoch: capture.epoch)
      try append(",\"faults\":[\"lost\"]}\n")
    }
    try append(sequence: capture.sequence, epoch: capture.epoch)
    try append(",\"number\":")
    try append(decimal: capture.number)
    try append(",\"taken_ns\":")
    try append(decimal: capture.taken)
    let motion = truth.moment.sceneFromFrame
    try append(",\"dx\":", motion.dx)
    try append(",\"dy\":", motion.dy)
    try append(",\"roll_degrees\":", motion.rollDegrees)
    try append(",\"scale\":", motion.scale)
    try append(",\"exposure_us\":", truth.moment.exposureMicroseconds)
    try append(",\"gain\":", truth.moment.gain)
    try append(",\"lens\":", truth.moment.lensPosition)
    try append(",\"blur_px\":", truth.blurSigma)
    try append(",\"focus\":", truth.focus)
    try append(",\"light_ev\":", truth.light)
    try append(capture.isStartup ? ",\"startup\":true" : ",\"startup\":false")
    try append(",\"faults\":[")
    var isFirst = true
    for index in 0..<SceneFault.named.count {
      guard capture.faults.contains(SceneFault.named[index].fault) else { continue }
      try append(isFirst ? "\"" : ",\"")
      try append(SceneFault.named[index].name)
      try append("\"")
      isFirst = false
    }
    try append("]}\n")
  }

  private mutating func append(sequence: UInt64, epoch: UInt32) throws(RunError) {
    try append("{\"sequence\":")
    try append(decimal: sequence)
    try append(",\"epoch\":")
    try append(decimal: epoch)
  }

  /// 12 significant digits: positions in pixels are exact to billionths.
  private mutating func append(_ key: StaticString, _ value: Double) throws(RunError) {
    try append(key)
    try append(value, digits: 12)
  }
}
