// A quick camera: a preview, a photograph, front and back, and tap to focus.

import ArticleTools
import Sprocket
import SprocketCapture

@MainActor final class QuickCamera {
  private let arguments: Arguments
  private let session: CaptureSession
  private let photos = PhotoOutput()
  /// For a view of 360x640 points, which the picture fills.
  private let preview = PreviewOutput(.nv12, view: (360, 640), gravity: .aspectFill)
  private var errors: Task<Void, Never>?

  init(_ arguments: Arguments) throws {
    self.arguments = arguments
    session = try CaptureSession()
  }

  /// Input, outputs and preset are one change.
  func setUp() async throws {
    let stream = session.runtimeErrors
    errors = Task { for await error in stream { say("runtime error: \(error)") } }
    let added = try await session.configure { c throws(CaptureError) in
      c.add(try DeviceInput(arguments.back))
      c.preset = usualPreset
      return (c.add(photos), c.add(preview))
    }
    // The sensor is mounted as that of a telephone which is held upright.
    try added.0.link(for: .video).setOrientation(.quarterTurn)
    try added.1.link(for: .video).setOrientation(.quarterTurn)
    try await session.start()
    let format = await session.activeFormat
    say("camera: \(arguments.back.localizedName) \(format?.width ?? 0)x\(format?.height ?? 0)")
    say("flash: \(arguments.back.hasFlash ? "yes" : "none")")
    try await attempt("white balance once") {
      try await self.arguments.back.withConfiguration { c in c.setWhiteBalance(.autoOnce) }
      return "done"
    }
  }

  private var usualPreset: SessionPreset {
    arguments.back.supports(.vga640x480).isYes ? .vga640x480 : .medium
  }

  /// A photograph, with the size and turn that it has.
  func takePhoto(_ name: String) async throws {
    let photo = try await photos.photo()
    try photo.write(to: arguments.path(name))
    let size = photo.resolved.size
    say("photo: \(name) \(size.width)x\(size.height), \(photo.fileData.count) bytes")
  }

  /// The pitfall: the front camera has no 1080p, so that switching with that preset fails. In AVFoundation
  /// nothing happens then. Here the error says why, and what the camera has instead.
  func switchCameras() async throws {
    guard let front = arguments.front else { return say("switch: no, one camera was named") }
    try await attempt("preset 1920x1080") {
      try await self.session.configure { c in c.preset = .hd1920x1080 }
      return "set"
    }
    var alternative: SessionPreset?
    do {
      try await session.switchCamera(to: front)
    } catch {
      guard error.code == .presetUnsupported else { throw error }
      alternative = error.alternative
      say("switch: no, \(error)")
      let kept = await session.activeCamera?.localizedName ?? "none"
      say("kept: \(kept) with preset \(await session.preset)")
    }
    if let alternative {
      say("alternative: \(alternative)")
      try await switchCamera(to: front, alternative)
    }
    say("switched: \(front.localizedName) with preset \(await session.preset)")
    try await takePhoto("quick-front.jpg")
    try await switchCamera(to: arguments.back, usualPreset)
    say("switched: \(arguments.back.localizedName) with preset \(await session.preset)")
  }

  /// Camera and preset as one change: it holds wholly or not at all.
  private func switchCamera(to device: CaptureDevice, _ preset: SessionPreset) async throws {
    try await session.configure { c throws(CaptureError) in
      for input in c.inputs where input.device.mediaType == .video { c.remove(input) }
      c.add(try DeviceInput(device))
      c.preset = preset
    }
  }

  /// The view's point becomes the device's; the point is part of the mode, so the order cannot be wrong.
  func tapToFocus(x: Double, y: Double) async throws {
    let camera = arguments.back
    for stages in [[StageChoice.meter(), .autoExposure()], [.focus(), .autoFocus()]] {
      let names = stages.map(\.plugin.name).joined(separator: " and ")
      try await attempt("stages \(names)", accepting: failsToSettle) {
        try await self.session.configure { c in c.stages += stages }
        return "added"
      }
    }
    try await wait(.milliseconds(300))
    guard let point = preview.devicePoint(x: x, y: y) else {
      return say("tap: beside the picture")
    }
    say("tap: \(x)/\(y) of the view is \(rounded(point.x))/\(rounded(point.y)) of the camera")
    if say("focus at a point", camera.supports(FocusMode.autoOnce(at: point))) {
      try await attempt("focus", accepting: failsToSettle) {
        try await camera.withConfiguration { c in c.setFocus(.autoOnce(at: point)) }
        let frame = try await camera.settle(.focus, within: .seconds(3))
        return "settled with frame \(frame.number), lens at \(rounded(camera.lensPosition))"
      }
    }
    if say("expose at a point", camera.supports(ExposureMode.autoOnce(at: point))) {
      try await attempt("exposure", accepting: failsToSettle) {
        try await camera.withConfiguration { c in c.setExposure(.autoOnce(at: point)) }
        let frame = try await camera.settle(.exposure, within: .seconds(3))
        return "settled with frame \(frame.number), \(milliseconds(camera.exposureDuration))"
      }
    }
  }

  func end() async {
    await session.stop()
    errors?.cancel()
    say("stopped")
  }
}

await article("quick-camera") { arguments in
  let camera = try QuickCamera(arguments)
  try await camera.setUp()
  try await camera.takePhoto("quick-back.jpg")
  try await camera.switchCameras()
  try await camera.tapToFocus(x: 90, y: 160)
  try await camera.takePhoto("quick-focused.jpg")
  await camera.end()
}
