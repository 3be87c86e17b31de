import ArticleTools
import Sprocket
import SprocketCapture

extension ManualCamera {
  /// Changes settings as one batch, and prints the first frame that shows all of them.
  private func set(
    _ step: String, _ body: (inout CaptureDevice.Configuration) -> Void
  ) async throws {
    try await attempt(step) {
      let change = try await self.device.withConfiguration { c in body(&c) }
      let values = change.values.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
      let frame = change.firstFrame.map { ", shown by frame \($0.number)" } ?? ""
      return values.joined(separator: " ") + frame
    }
  }

  // MARK: Focus

  func focusByHand() async throws {
    say("focus continuous", device.supports(FocusMode.continuous()))
    say("focus once", device.supports(FocusMode.autoOnce()))
    if say("focus locked", device.supports(FocusMode.locked(lensPosition: 0.3))) {
      try await set("lens position 0.3") { c in c.setFocus(.locked(lensPosition: 0.3)) }
      say("lens position: \(rounded(device.lensPosition))")
    }
  }

  // MARK: Exposure and gain

  /// A slider's value, 0 to 1, as an exposure: its power gives short exposures more of the slider.
  static func exposure(slider: Double) -> Duration {
    let (shortest, longest, power) = (0.001, 1.0 / 30, 5)
    let share = (0..<power).reduce(1) { product, _ in product * slider }
    return .seconds(shortest + share * (longest - shortest))
  }

  func exposeByHand() async throws {
    say("exposure continuous", device.supports(ExposureMode.continuous()))
    say("exposure once", device.supports(ExposureMode.autoOnce()))
    say("exposure locked", device.supports(ExposureMode.locked))
    // What is left out stays as it is: here the gain.
    let time = Self.exposure(slider: 0.8)
    try await set("exposure of \(milliseconds(time))") { c in
      c.setExposure(.custom(duration: time))
    }
    // 1 is the sensor's lowest ISO.
    try await set("gain 2") { c in c.setExposure(.custom(gain: 2)) }
    say("in force: \(milliseconds(device.exposureDuration)), gain \(rounded(device.gain))")
    // A value out of range is refused with the range.
    say("exposure of 1 hour", device.supports(ExposureMode.custom(duration: .seconds(3600))))
  }

  // MARK: White balance and the rest

  func balanceWhite() async throws {
    say("white balance continuous", device.supports(WhiteBalanceMode.continuous))
    say("white balance once", device.supports(WhiteBalanceMode.autoOnce))
    try await set("white balance of 5000 K") { c in c.setWhiteBalance(.locked(kelvins: 5000)) }
  }

  func otherControls() async throws {
    try await set("zoom 2") { c in c.setZoom(2) }
    try await set("torch") { c in c.setTorch(.on()) }
    try await set("wide range of light") { c in c.setHDR(true) }
  }
}
