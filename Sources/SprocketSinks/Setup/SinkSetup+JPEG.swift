internal import SprocketCodecs
internal import SprocketCore

extension SinkSetup {
  /// Declares what `sink`, which stores JPEGs, reads of each frame: the camera's own bytes where these
  /// are JPEGs that no stage changes, unless `passesOn` is false, then it returns `nil`; else the picture,
  /// for packers with those requirements. `note` is told what a JPEG cannot keep.
  mutating func readsJPEGs(
    _ sink: String, passesOn: Bool = true, _ note: (String) -> Void
  ) throws(RunError) -> JPEGPacker.Requirements? {
    if passesOn, isUntouched, source.format.pixelFormat == .mjpeg {
      try reads(.encoded)
      return nil
    }
    return try packsJPEGs(sink, format, note)
  }

  /// Declares packers of JPEGs of `format`, the setup's own but for what is said of its samples.
  mutating func packsJPEGs(
    _ sink: String, _ format: FrameFormat, _ note: (String) -> Void
  ) throws(RunError) -> JPEGPacker.Requirements {
    try reads(.image)
    guard let needs = JPEGPacker.requirements(format) else {
      throw RunError(
        .usage,
        "pictures of \(format.width)x\(format.height) are too large for JPEG, which \(sink) makes of "
          + "them; choose a smaller size", change: .size)
    }
    try reads(needs.parts)
    packs(capacity: needs.capacity, packerBytes: needs.packerBytes)
    if needs.isReduced {
      note("\(sink): \(format.pixelFormat.settingText) pictures are reduced to 8 bits")
    }
    return needs
  }
}

extension FrameFormat {
  /// As if samples had full range, so that JPEGs keep them as they are.
  var withFullRange: FrameFormat {
    var format = self
    format.color.range = .full
    return format
  }
}

extension Color {
  /// The name of a matrix other than the one that JFIF has.
  var matrixUnknownToJPEG: String? {
    switch matrix {
    case .bt709: "BT.709"
    case .bt2020: "BT.2020"
    case .unspecified, .bt601: nil
    }
  }
}
