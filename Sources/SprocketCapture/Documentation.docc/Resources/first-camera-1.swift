import SprocketCapture

@main struct FirstCamera {
  static func main() async throws {
    let camera = CaptureDevice.default(for: .video) ?? CaptureDevice.scenes[0]
    print(camera.localizedName, camera.position)
  }
}
