internal import SprocketCore
internal import SprocketMCAP

// The record that comes before the frames of an epoch.

extension ReplayRecord {
  /// `nil` where it is not a session, or one of frames that this program does not know.
  static func session(_ bytes: Span<UInt8>) -> ReplaySession? {
    var fields = SessionFields()
    do throws(JSONScanner.Failure) {
      var json = JSONScanner()
      try json.begin("{", bytes)
      while let key = try json.nextKey(bytes) { try fields.read(&json, bytes, key) }
    } catch {
      return nil
    }
    return fields.session
  }
}

private struct SessionFields {
  private var version = 0
  private var epoch: UInt32 = 0
  private var format: PixelFormat?
  private var image: PixelFormat?
  private var width = 0
  private var height = 0
  private var rate = FrameRate.unknown
  private var color = Color(range: .limited)
  private var clock: String?
  private var presentation = Presentation()
  private var hasFieldImages = false

  mutating func read(
    _ json: inout JSONScanner, _ bytes: Span<UInt8>, _ key: Range<Int>
  ) throws(JSONScanner.Failure) {
    switch true {
    case bytes.equals("version", key): version = try json.integer(Int.self, bytes) ?? 0
    case bytes.equals("epoch", key): epoch = try json.integer(UInt32.self, bytes) ?? 0
    case bytes.equals("format", key): format = try pixelFormat(&json, bytes)
    case bytes.equals("image", key): image = try pixelFormat(&json, bytes)
    case bytes.equals("width", key): width = try json.integer(Int.self, bytes) ?? 0
    case bytes.equals("height", key): height = try json.integer(Int.self, bytes) ?? 0
    case bytes.equals("clock", key): clock = try json.string(bytes)
    case bytes.equals("orientation", key):
      let number = try json.integer(Int.self, bytes) ?? 1
      presentation.orientation =
        UInt8(exactly: number).flatMap { Orientation(rawValue: $0) } ?? .upright
    case bytes.equals("pixel_aspect", key): try readAspect(&json, bytes)
    case bytes.equals("field_order", key):
      let name = try json.string(bytes)
      presentation.fieldOrder = FieldOrder.allCases.first { "\($0)" == name } ?? .unknown
    case bytes.equals("images_per_frame", key):
      hasFieldImages = try json.integer(Int.self, bytes) == 2
    case bytes.equals("rate", key): try readRate(&json, bytes)
    case bytes.equals("color", key): try readColor(&json, bytes)
    default: try json.skip(bytes)
    }
  }

  private func pixelFormat(
    _ json: inout JSONScanner, _ bytes: Span<UInt8>
  ) throws(JSONScanner.Failure) -> PixelFormat? {
    try json.string(bytes).flatMap { PixelFormat(fourcc: $0) }
  }

  private mutating func readRate(
    _ json: inout JSONScanner, _ bytes: Span<UInt8>
  ) throws(JSONScanner.Failure) {
    try json.begin("{", bytes)
    while let key = try json.nextKey(bytes) {
      if bytes.equals("frames", key) {
        rate.frames = try json.integer(Int32.self, bytes) ?? 0
      } else if bytes.equals("seconds", key) {
        rate.seconds = try json.integer(Int32.self, bytes) ?? 1
      } else {
        try json.skip(bytes)
      }
    }
  }

  private mutating func readAspect(
    _ json: inout JSONScanner, _ bytes: Span<UInt8>
  ) throws(JSONScanner.Failure) {
    var (width, height): (Int32, Int32) = (0, 1)
    try json.begin("{", bytes)
    while let key = try json.nextKey(bytes) {
      if bytes.equals("width", key) {
        width = try json.integer(Int32.self, bytes) ?? 0
      } else if bytes.equals("height", key) {
        height = try json.integer(Int32.self, bytes) ?? 1
      } else {
        try json.skip(bytes)
      }
    }
    presentation.pixelAspect = PixelAspect(width, height)
  }

  private mutating func readColor(
    _ json: inout JSONScanner, _ bytes: Span<UInt8>
  ) throws(JSONScanner.Failure) {
    try json.begin("{", bytes)
    while let key = try json.nextKey(bytes) {
      if bytes.equals("range", key) {
        color.range = try json.string(bytes) == "full" ? .full : .limited
      } else if bytes.equals("matrix", key) {
        color.matrix = Color.Matrix(recorded: try json.string(bytes))
      } else if bytes.equals("transfer", key) {
        color.transfer = Color.Transfer(recorded: try json.string(bytes))
      } else if bytes.equals("chroma_site", key) {
        let name = try json.string(bytes)
        color.chromaSite = Color.ChromaSite.allCases.first { "\($0)" == name } ?? .center
      } else {
        try json.skip(bytes)
      }
    }
  }

  var session: ReplaySession? {
    let sides = 1...65_535
    guard version == 1, let format, sides.contains(width), sides.contains(height) else {
      return nil
    }
    let isFullRange = format.isEncoded || format.rgbOrder != nil
    if isFullRange { guard color.range == .full else { return nil } }
    // What a JPEG may be unpacked to.
    let planar: [PixelFormat] = [.i420, .yuv422p, .yuv444p, .yuv440p, .yuv411p, .grey]
    if format.isEncoded, let image, !planar.contains(image) { return nil }
    // No camera has more than 10,000 frames per second.
    let hasRate = rate.frames > 0 && rate.seconds > 0 && rate.framesPerSecond <= 10_000
    var found = ReplaySession(
      format: FrameFormat(
        pixelFormat: format, image: format.isEncoded ? image : nil, width: width, height: height,
        color: color, rate: hasRate ? rate : .unknown, presentation: presentation))
    found.format.hasFieldImages = hasFieldImages && format.isEncoded && height > 1
    found.epoch = epoch
    found.isMonotonic = clock == "monotonic"
    found.isMedia = clock == "media"
    return found
  }
}

extension Color.Matrix {
  fileprivate init(recorded name: String?) {
    let known: [Self] = [.bt601, .bt709, .bt2020]
    self = known.first { "\($0)" == name } ?? .unspecified
  }
}

extension Color.Transfer {
  fileprivate init(recorded name: String?) {
    let known: [Self] = [.srgb, .bt709, .linear, .gamma22, .gamma28, .pq, .hlg]
    self = known.first { "\($0)" == name } ?? .unspecified
  }
}
