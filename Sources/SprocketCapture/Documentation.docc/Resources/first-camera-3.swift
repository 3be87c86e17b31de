import SprocketCapture

@main struct FirstCamera {
  static func main() async throws {
    let camera = CaptureDevice.default(for: .video) ?? CaptureDevice.scenes[0]
    print(camera.localizedName, camera.position)

    let session = try CaptureSession()
    let photos = PhotoOutput()
    try await session.configure { c throws(CaptureError) in
      c.add(try DeviceInput(camera))
      c.add(photos)
    }
    try await session.start()

    let photo = try await photos.photo()
    try photo.write(to: "first.jpg")
    print("frame", photo.record?.number ?? 0)
    await session.stop()
  }
}
