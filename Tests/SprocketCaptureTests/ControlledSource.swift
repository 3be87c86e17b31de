import Sprocket
import SprocketCapture

/// A scene with the controls of a webcam, which shows each value with the next frame.
final class ControlledSource: Source {
  static let controls = [
    ControlDescription(
      name: "zoom_absolute", unit: "", minimum: 100, maximum: 400, step: 10, defaultValue: 100),
    ControlDescription(
      name: "white_balance_automatic", unit: "", minimum: 0, maximum: 1, kind: .boolean, step: 1,
      defaultValue: 1),
    ControlDescription(
      name: "white_balance_temperature", unit: "", minimum: 2800, maximum: 6500, step: 10,
      defaultValue: 4600),
    ControlDescription(
      name: "red_balance", unit: "", minimum: 0, maximum: 255, step: 1, defaultValue: 100),
    ControlDescription(
      name: "blue_balance", unit: "", minimum: 0, maximum: 255, step: 1, defaultValue: 80),
    ControlDescription(
      name: "auto_exposure", unit: "", minimum: 0, maximum: 3,
      kind: .menu([
        ControlChoice(value: 1, name: "manual_mode"),
        ControlChoice(value: 3, name: "aperture_priority_mode"),
      ]), step: 1, defaultValue: 3),
    ControlDescription(
      name: "exposure_time_absolute", unit: "100 us", minimum: 3, maximum: 2047, step: 1,
      defaultValue: 250),
    ControlDescription(
      name: "led_mode", unit: "", minimum: 0, maximum: 2,
      kind: .menu([
        ControlChoice(value: 0, name: "none"), ControlChoice(value: 2, name: "torch"),
      ]), step: 1, defaultValue: 0),
    ControlDescription(
      name: "intensity_torch_mode", unit: "", minimum: 0, maximum: 100, step: 5, defaultValue: 50),
    ControlDescription(
      name: "saturation", unit: "", minimum: -10, maximum: 10, step: 2, defaultValue: 0),
  ]

  private let scene: SceneSource
  private let port: ControlPort
  private var answers = EventQueue()
  /// Values of one control, in the order of the writes.
  private let written: Shared<[Double]>
  private let watched: String

  init(_ choice: FormatChoice, _ watched: String, _ written: Shared<[Double]>) throws(RunError) {
    var settings = SceneSettings()
    settings.noise = 0
    settings.cached = 8
    (settings.width, settings.height) = (choice.size.width, choice.size.height)
    scene = try SceneSource(settings)
    port = ControlPort(controls: Self.controls, tellsWhatShows: true)
    (self.watched, self.written) = (watched, written)
    for (index, control) in Self.controls.enumerated() {
      port.report(control.defaultValue ?? 0, of: UInt16(index))
    }
  }

  func open() throws(RunError) -> SourceDescription {
    var description = try scene.open()
    description.controls = port
    return description
  }

  func next(timeout: Int64) throws(RunError) -> Arrival {
    while let write = port.take() {
      port.report(write.value, of: write.control)
      answers.add(
        Event(
          kind: .controlApplied, control: write.control, ticket: write.ticket, value: write.value))
      if Self.controls[Int(write.control)].name == watched {
        written.change { $0.append(write.value) }
      }
    }
    return try scene.next(timeout: timeout)
  }

  func takeEvents(into events: inout EventQueue) { events.take(from: &answers) }
  func take(into slot: inout CaptureSlot) { scene.take(into: &slot) }
  func discard() { scene.discard() }
  func reclaim(_ lent: UnsafeMutableRawPointer) {}
  func interrupt() { scene.interrupt() }
  func close() throws(RunError) { try scene.close() }

  /// A camera of such sources, and what it gets written to one control.
  static func camera(
    watching control: String = "zoom_absolute"
  ) -> (device: CaptureDevice, written: Shared<[Double]>) {
    let written = Shared<[Double]>([])
    let rates = CameraRates.these([FrameRate(frames: 30)])
    let device = CaptureDevice(
      name: "webcam", formats: [DeviceFormat(Cameras.middle, .mjpeg, rates: rates)]
    ) { choice throws(RunError) in try ControlledSource(choice, control, written) }
    return (device, written)
  }
}
