package import SprocketCore
internal import SprocketMCAP

private typealias Key = SessionKey

/// What a dump says of an epoch.
package struct ReplaySession: Sendable {
  package var epoch: UInt32 = 0
  package var format: FrameFormat
  /// `captured` is on the monotonic clock of the machine that recorded the dump.
  package var isMonotonic = false
  /// Frames waited, and their times are those of a film.
  package var isMedia = false

  package init(format: FrameFormat) { self.format = format }
}

extension SessionRecord {
  /// `nil` where it is not a session, or one of frames that this program does not know.
  package static func read(_ bytes: Span<UInt8>) -> ReplaySession? {
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
  private var clock: Timestamp.Clock?
  private var presentation = Presentation()
  private var hasFieldImages = false

  mutating func read(
    _ json: inout JSONScanner, _ bytes: Span<UInt8>, _ key: Range<Int>
  ) throws(JSONScanner.Failure) {
    switch true {
    case bytes.equals(Key.version, key): version = try json.integer(Int.self, bytes) ?? 0
    case bytes.equals(FrameKey.epoch, key): epoch = try json.integer(UInt32.self, bytes) ?? 0
    case bytes.equals(Key.format, key): format = try pixelFormat(&json, bytes)
    case bytes.equals(Key.image, key): image = try pixelFormat(&json, bytes)
    case bytes.equals(Key.width, key): width = try json.integer(Int.self, bytes) ?? 0
    case bytes.equals(Key.height, key): height = try json.integer(Int.self, bytes) ?? 0
    case bytes.equals(FrameKey.clock, key): clock = try json.word(bytes)
    case bytes.equals(Key.orientation, key):
      let number = try json.integer(Int.self, bytes) ?? 1
      presentation.orientation =
        UInt8(exactly: number).flatMap { Orientation(rawValue: $0) } ?? .upright
    case bytes.equals(Key.pixelAspect, key): try readAspect(&json, bytes)
    case bytes.equals(Key.fieldOrder, key):
      let name = try json.string(bytes)
      presentation.fieldOrder = FieldOrder.allCases.first { "\($0)" == name } ?? .unknown
    case bytes.equals(Key.images, key):
      hasFieldImages = try json.integer(Int.self, bytes) == 2
    case bytes.equals(Key.rate, key): try readRate(&json, bytes)
    case bytes.equals(Key.color, key): try readColor(&json, bytes)
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
      if bytes.equals(Key.frames, key) {
        rate.frames = try json.integer(Int32.self, bytes) ?? 0
      } else if bytes.equals(Key.seconds, key) {
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
      if bytes.equals(Key.width, key) {
        width = try json.integer(Int32.self, bytes) ?? 0
      } else if bytes.equals(Key.height, key) {
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
      if bytes.equals(Key.range, key) {
        color.range = try json.string(bytes) == "full" ? .full : .limited
      } else if bytes.equals(Key.matrix, key) {
        color.matrix = Color.Matrix(recorded: try json.string(bytes))
      } else if bytes.equals(Key.transfer, key) {
        color.transfer = Color.Transfer(recorded: try json.string(bytes))
      } else if bytes.equals(Key.chromaSite, key) {
        let name = try json.string(bytes)
        color.chromaSite = Color.ChromaSite.allCases.first { "\($0)" == name } ?? .center
      } else {
        try json.skip(bytes)
      }
    }
  }

  var session: ReplaySession? {
    let sides = 1...65_535
    guard version == SessionRecord.version, let format, !format.isPackets, sides.contains(width),
      sides.contains(height)
    else {
      return nil
    }
    let isFullRange = format.isEncoded || format.isRGB
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
    found.isMonotonic = clock == .monotonic
    found.isMedia = clock == .media
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
