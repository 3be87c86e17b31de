import SprocketCapture

@main struct FirstCamera {
  static func main() async throws {
    let camera = CaptureDevice.default(for: .video) ?? CaptureDevice.scenes[0]
    print(camera.localizedName, camera.position)

    let session = try CaptureSession()
    let photos = PhotoOutput()
    let movies = MovieFileOutput()
    try await session.configure { c throws(CaptureError) in
      c.add(try DeviceInput(camera))
      if let microphone = CaptureDevice.default(for: .audio) { c.add(try DeviceInput(microphone)) }
      c.add(photos)
      c.add(movies)
    }
    let watch = Task {
      for await interruption in session.interruptions { print(interruption) }
    }
    try await session.start()

    let photo = try await photos.photo()
    try photo.write(to: "first.jpg")
    print("frame", photo.record?.number ?? 0)

    let recording = try movies.startRecording(to: "first.mov")
    try await Task.sleep(for: .seconds(3))
    recording.stop()
    let result = await recording.finished()
    print(result.path, result.duration, result.error?.description ?? "complete")
    await session.stop()
    watch.cancel()
  }
}
