import Darkness
import SprocketCapture

@main struct Watch {
  static func main() async throws {
    let session = try CaptureSession()
    let reports = MetadataOutput(types: ["darkness"]) { objects in
      for object in objects {
        guard let report = object.report as? Darkness.Report else { continue }
        print(object.number, report.share)
      }
    }
    try await session.configure { c throws(CaptureError) in
      c.add(try DeviceInput(CaptureDevice.scenes[0]))
      c.stages = [StageChoice(Darkness.plugin, of: Darkness.self) { $0.below = 48 }]
      c.add(reports)
    }
    try await session.start()
    try await Task.sleep(for: .seconds(2))
    await session.stop()
  }
}
