internal import SprocketCodecs
internal import SprocketCore

/// How stills of an epoch are made: what they hold, who packs it, and the pieces that a file consists of.
struct StillContent {
  private enum Kind {
    /// The camera's own bytes.
    case own(FrameFormat)
    case encoded(JPEGPacker.Requirements, FrameFormat)
    case plan(StillPlan)
  }

  private let kind: Kind
  let origin: FrameOrigin
  private let turn: OrientationSetting?

  /// Declares what such stills need of each frame. `note` is told what a still cannot keep.
  init(
    _ format: StillFormat, of sink: String, mosaic: MosaicLevels, turn: OrientationSetting? = nil,
    _ setup: inout SinkSetup, _ note: (String) -> Void
  ) throws(RunError) {
    origin = setup.source.origin
    self.turn = turn
    guard format == .jpeg else {
      let plan = try StillPlan(
        format, setup.format, of: setup.source, isUntouched: setup.isUntouched, mosaic: mosaic,
        turn: turn)
      try setup.reads(plan.parts)
      setup.packs(capacity: plan.capacity, packerBytes: plan.packerBytes)
      kind = .plan(plan)
      return
    }
    // A file of two images, a field each, is half a picture to every viewer.
    let needs = try setup.readsJPEGs(
      sink, passesOn: !setup.source.format.hasFieldImages, note)
    let head = JPEGStillPacker.headRoom
    setup.packs(
      capacity: head + (needs?.capacity ?? 0), packerBytes: 8 * head + (needs?.packerBytes ?? 0))
    if let needs {
      kind = .encoded(needs, setup.format)
    } else {
      kind = .own(setup.format)
    }
    if let matrix = setup.format.color.matrixUnknownToJPEG, needs?.isGray == false {
      note("\(sink): colours are \(matrix)'s; viewers take BT.601's for granted")
    }
  }

  func makePacker(quality: Int, hasThumbnail: Bool) throws(RunError) -> any Packer {
    switch kind {
    case .own(let format):
      try JPEGStillPacker(
        nil, quality: quality, origin: origin, format, hasThumbnail: hasThumbnail, turn: turn)
    case .encoded(let needs, let format):
      try JPEGStillPacker(
        needs, quality: quality, origin: origin, format, hasThumbnail: hasThumbnail, turn: turn)
    case .plan(let plan): try plan.makePacker()
    }
  }

  /// Lends the pieces of a frame's file, in order.
  func withPieces(
    of frame: borrowing PackedFrame, _ completer: inout JPEGCompleter,
    _ body: (Span<UInt8>, Span<UInt8>, Span<UInt8>) throws(RunError) -> Void
  ) throws(RunError) {
    guard case .own = kind else { return try body(frame.packed, Span(), Span()) }
    // What was packed begins the file in place of the first two bytes, and of EXIF that the camera wrote.
    try completer.complete(frame.view.encoded, isThorough: true) { image throws(RunError) in
      let start = min(2, image.count)
      let cut = CameraStill.exif(in: image) ?? start..<start
      try body(
        frame.packed, image.extracting(start..<cut.lowerBound),
        image.extracting(cut.upperBound..<image.count))
    }
  }
}
