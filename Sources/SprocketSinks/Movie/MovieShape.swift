internal import SprocketCodecs
public import SprocketCore

/// Which part of the pictures a movie shows, and in which size: of this movie alone. All other outputs, and
/// the reports of stages, keep to the whole picture.
public struct MovieShape: Sendable, Hashable {
  /// The part that is shown, in fractions of the picture as it leaves the stages. It begins on a whole sample
  /// of chroma.
  public var crop = Region.whole
  /// Width and height in pixels, of which one may be open; `none`: those of the part. They are those of the
  /// file, which a player turns where an orientation says so.
  public var size = TargetSize.none
  /// What becomes of a part whose aspect is not that of `size`.
  public var fit = ResizeMode.fit

  /// All of the picture, in its own size.
  public init() {}

  public init(crop: Region = .whole, size: TargetSize = .none, fit: ResizeMode = .fit) {
    (self.crop, self.size, self.fit) = (crop, size, fit)
  }

  /// Whether pictures stay as they are.
  var isWhole: Bool { crop == .whole && size == .none }

  static var settings: [Setting<MovieShape>] {
    [
      Setting("crop", \.crop, "the part that the movie shows, in fractions of the picture"),
      Setting("size", \.size, "of the movie, in pixels; of one side, the other by the aspect"),
      Setting("fit", \.fit, "what becomes of a part that has another aspect than `size`"),
    ]
  }

  /// Makes pictures of that format the movie's; `nil` where they stay as they are.
  func resize(_ format: FrameFormat) -> PictureResize? {
    guard !isWhole else { return nil }
    let part = PicturePart(wholePixelsOf: crop, of: format)
    let own = TargetSize(width: Int(part.width), height: Int(part.height))
    guard size != .none, size != own else {
      let place = Placement(own, .stretch, of: format, showing: part)
      return PictureResize(place, .stretch, of: format, showing: part)
    }
    let place = Placement(size, fit, of: format, showing: part)
    return PictureResize(place, fit, of: format, showing: part)
  }
}

extension MovieSink {
  public func makePacker() throws(RunError) -> (any Packer)? {
    // Of its own, so that no memory is shared that it would copy at the first frame.
    let resize = given.flatMap { shape.resize($0) }
    guard let needs else { return resize.map { ResizePacker($0) } }
    let quality = encoding == nil ? quality : Self.keptQuality
    guard let resize else { return try JPEGPacker(needs, quality: quality) }
    return try ResizedJPEGPacker(resize, needs, quality: quality)
  }

  /// Quality of JPEGs that are encoded once more. Larger: finer pictures, and more memory of a pre-roll.
  private static let keptQuality = 97

  /// Declares packers that make pictures of the movie's shape, for an encoder to take.
  func declareResized(_ setup: inout SinkSetup, _ resize: PictureResize) {
    setup.packs(capacity: resize.byteCount, packerBytes: resize.byteCount / 4)
  }

  /// Declares packers of JPEGs of `format`: the movie's pictures, but for what is said of their samples.
  func declareJPEGs(
    _ setup: inout SinkSetup, _ format: FrameFormat
  ) throws(RunError) -> JPEGPacker.Requirements {
    guard let resize else { return try setup.packsJPEGs(name, format, note) }
    let image = try format.picture()
    guard !(image.isDeep && image.isGrey) else {
      throw RunError(
        .usage,
        "\(name): of grey pictures of more than 8 bits no part is made as JPEG, nor another size; choose the "
          + "codec h264, or the stages crop and resize", change: .codec)
    }
    let needs = try setup.packsJPEGs(name, format, note)
    setup.packs(
      capacity: needs.capacity, packerBytes: needs.packerBytes + resize.byteCount * 5 / 4)
    return needs
  }

  /// Says what a movie of another shape costs or loses.
  func noteShape(_ setup: borrowing SinkSetup) {
    guard let resize else { return }
    let source = setup.source.format
    let passed =
      source.pixelFormat == .mjpeg && codec.isJPEG || source.packets != nil && codec.isAutomatic
    if setup.isUntouched, passed {
      note(
        "\(name): the camera's own pictures are encoded anew, because the movie has a part of them, or "
          + "another size")
    }
    if resize.mixesFields {
      note(
        "\(name): the pictures are interlaced, and rows of both fields are mixed: deinterlace before"
      )
    }
  }
}
