import Foundation
import SprocketCapture

// A window with the camera's picture. A click exposes for that place, and focuses there where the camera's
// lens can be moved; space takes a photograph, r begins and ends a recording, s switches the camera, q ends
// it.
//
//   window [--seconds N] [--click X,Y] [--save PICTURE.bmp]
//
// Without a camera it shows the scene. The options are for tests: a click after a second, the picture at the
// end.

@MainActor final class Viewer {
  private let session: CaptureSession
  private let preview: PreviewOutput
  private let photos = PhotoOutput()
  private let movies = MovieFileOutput()
  private let view: View
  private var recording: Recording?
  private var count = 0

  init(_ view: View) throws {
    self.view = view
    session = try CaptureSession()
    preview = PreviewOutput(.nv12, gravity: .aspectFit)
  }

  func start() async throws {
    let camera = CaptureDevice.default(for: .video) ?? CaptureDevice.scenes[0]
    try await session.configure { c throws(CaptureError) in
      c.add(try DeviceInput(camera))
      c.preset = .medium
      c.stages = [.meter(), .autoExposure()]
      c.add(preview)
      c.add(photos)
      c.add(movies)
    }
    try await session.start()
    print("showing", camera.localizedName)
  }

  /// Shows frames until the window is closed, or the time is over.
  func run(seconds: Double, click: (x: Double, y: Double)?, save: String?) async throws {
    let begin = Date()
    var click = click
    var shown: UInt64?
    while Date().timeIntervalSince(begin) < seconds {
      if let place = click, Date().timeIntervalSince(begin) > 1 {
        view.click(x: place.x, y: place.y)
        click = nil
      }
      for input in view.inputs() where await !handle(input) { return }
      if let frame = preview.newestFrame, frame.record.number != shown {
        (preview.geometry.viewWidth, preview.geometry.viewHeight) = view.viewSize
        view.show(frame, preview.geometry)
        shown = frame.record.number
      }
      try await Task.sleep(for: .milliseconds(5))
    }
    if let save, !view.save(save) { print("cannot write \(save): \(View.error)") }
  }

  /// False where the program is to end.
  private func handle(_ input: View.Input) async -> Bool {
    do {
      switch input {
      case .close, .key("q"): return false
      case .click(let x, let y):
        guard let point = preview.devicePoint(x: x, y: y), let camera = await session.activeCamera
        else { break }
        print("exposes for", point.x, point.y)
        try await camera.withConfiguration { c in c.setExposure(.continuous(at: point)) }
        if camera.supports(FocusMode.autoOnce(at: point)).isYes {
          try await camera.withConfiguration { c in c.setFocus(.autoOnce(at: point)) }
        }
      case .key(" "):
        count += 1
        try await photos.photo().write(to: "photo-\(count).jpg", overwrite: true)
        print("took photo-\(count).jpg")
      case .key("r"):
        if let recording {
          recording.stop()
          print("recorded", await recording.finished().duration)
          self.recording = nil
        } else {
          count += 1
          recording = try movies.startRecording(to: "movie-\(count).mov")
        }
      case .key("s"):
        if let other = await session.inactiveCamera { try await session.switchCamera(to: other) }
      case .key: break
      }
    } catch {
      print(error)
    }
    return true
  }

  func stop() async { await session.stop() }
}

/// The value behind an option.
func option(_ name: String) -> String? {
  let words = CommandLine.arguments
  return words.firstIndex(of: name).flatMap { $0 + 1 < words.count ? words[$0 + 1] : nil }
}

guard let view = View(width: 640, height: 360) else {
  print("there is no window: \(View.error); set SDL_VIDEODRIVER=dummy to draw into memory")
  exit(1)
}
let place = option("--click")?.split(separator: ",").compactMap { Double($0) } ?? []
let viewer = try Viewer(view)
try await viewer.start()
try await viewer.run(
  seconds: option("--seconds").flatMap { Double($0) } ?? .infinity,
  click: place.count == 2 ? (place[0], place[1]) : nil, save: option("--save"))
await viewer.stop()
