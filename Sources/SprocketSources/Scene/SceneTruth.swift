/// What was true of one frame, whether or not anybody got it.
package struct SceneTruth: Sendable, Hashable {
  package var capture = SceneCapture()
  package var moment = SceneMoment()
  /// Standard deviation of the lens blur, in pixels.
  package var blurSigma = 0.0
  /// The lens position at which the scene is sharp.
  package var focus = 0.0
  /// On the scene, in EV.
  package var light = 0.0

  package init() {}
}

extension SceneTruth {
  /// Appends the frame's line of JSON, and before it one line for each sequence number lost.
  ///
  /// Keys: `sequence`, `epoch`, `number` (read-outs since the start), `taken_ns` (since the start),
  /// `dx`, `dy` (pixels), `roll_degrees`, `scale` (`sceneFromFrame`, see `SceneSimilarity`),
  /// `exposure_us`, `gain`, `lens` (where it is, 0...1), `blur_px`, `focus` (the lens position
  /// that is sharp), `light_ev` (on the scene), `startup`, `faults` (an array of names).
  /// Nothing is allocated while `text` has room: see `SceneTruth.longestLine`.
  package func append(to text: inout [UInt8]) {
    for index in 0..<Int(capture.lost) {
      let sequence = capture.sequence - capture.lost + UInt64(index)
      appendText("{\"sequence\":", &text)
      appendInteger(Int64(sequence), &text)
      appendText(",\"epoch\":", &text)
      appendInteger(Int64(capture.epoch), &text)
      appendText(",\"faults\":[\"lost\"]}\n", &text)
    }
    appendNumbers(&text)
    appendText(capture.isStartup ? ",\"startup\":true" : ",\"startup\":false", &text)
    appendText(",\"faults\":[", &text)
    var isFirst = true
    for index in 0..<SceneFault.named.count {
      guard capture.faults.contains(SceneFault.named[index].fault) else { continue }
      appendText(isFirst ? "\"" : ",\"", &text)
      appendText(SceneFault.named[index].name, &text)
      appendText("\"", &text)
      isFirst = false
    }
    appendText("]}\n", &text)
  }

  /// No line is longer, in bytes.
  package static let longestLine = 512

  private func appendNumbers(_ text: inout [UInt8]) {
    appendText("{\"sequence\":", &text)
    appendInteger(Int64(capture.sequence), &text)
    appendText(",\"epoch\":", &text)
    appendInteger(Int64(capture.epoch), &text)
    appendText(",\"number\":", &text)
    appendInteger(Int64(capture.number), &text)
    appendText(",\"taken_ns\":", &text)
    appendInteger(capture.taken, &text)
    let motion = moment.sceneFromFrame
    appendField(",\"dx\":", motion.dx, &text)
    appendField(",\"dy\":", motion.dy, &text)
    appendField(",\"roll_degrees\":", motion.rollDegrees, &text)
    appendField(",\"scale\":", motion.scale, &text)
    appendField(",\"exposure_us\":", moment.exposureMicroseconds, &text)
    appendField(",\"gain\":", moment.gain, &text)
    appendField(",\"lens\":", moment.lensPosition, &text)
    appendField(",\"blur_px\":", blurSigma, &text)
    appendField(",\"focus\":", focus, &text)
    appendField(",\"light_ev\":", light, &text)
  }
}

private func appendText(_ literal: String, _ text: inout [UInt8]) {
  for byte in literal.utf8 { text.append(byte) }
}

private func appendField(_ key: String, _ value: Double, _ text: inout [UInt8]) {
  appendText(key, &text)
  appendNumber(value, &text)
}

private func appendInteger(_ value: Int64, _ text: inout [UInt8]) {
  if value < 0 { text.append(UInt8(ascii: "-")) }
  appendDigits(value.magnitude, least: 1, &text)
}

/// A number with nine decimals, the last rounded; beyond 2^63 / 10^9 it saturates.
private func appendNumber(_ value: Double, _ text: inout [UInt8]) {
  let billionths = (value * 1e9).rounded()
  let fixed = Int64(min(max(billionths, -9.2e18), 9.2e18))
  if fixed < 0 { text.append(UInt8(ascii: "-")) }
  appendDigits(fixed.magnitude / 1_000_000_000, least: 1, &text)
  text.append(UInt8(ascii: "."))
  appendDigits(fixed.magnitude % 1_000_000_000, least: 9, &text)
}

/// Decimal digits, with zeros in front up to `least`.
private func appendDigits(_ value: UInt64, least: Int, _ text: inout [UInt8]) {
  var digits = InlineArray<20, UInt8>(repeating: UInt8(ascii: "0"))
  var rest = value
  var count = 0
  while rest > 0 || count < least {
    digits[count] = UInt8(ascii: "0") + UInt8(rest % 10)
    rest /= 10
    count += 1
  }
  while count > 0 {
    count -= 1
    text.append(digits[count])
  }
}
