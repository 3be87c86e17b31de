internal import SprocketCodecs
public import SprocketCore

// Copies of a frame that is lent, of bytes, and of another copy.
extension FrameCopy {
  /// Copies a frame that is lent, in a callback or a sink. `.image`, `.nv12`, `.bgra` and `.rgb` need
  /// `reading: .image`, the others their own part; reading what was not declared stops the program with a
  /// sentence (`docs/traps.md`).
  ///
  /// Cost: an allocation and a copy; of `.bgra` and `.rgb` also tables of some kilobytes, which
  /// `FrameCopies` and outputs with `copies` make once.
  public init(_ frame: borrowing FrameView, _ content: Content) {
    guard let settings = content.packing else {
      self.init(frame, content, packed: Span())
      return
    }
    // Stops where `.image` was not declared; a frame that has it has a plan.
    let pixels = frame.image.format
    guard let plan = try? TensorPlan(settings, for: frame.format, limit: .max) else {
      preconditionFailure("a picture of \(pixels.fourcc) has no colours")
    }
    var packed = [UInt8](repeating: 0, count: plan.byteCount)
    var room = packed.mutableSpan
    _ = TensorPacker(plan).pack(frame, into: &room)
    self.init(frame, content, packed: packed.span)
  }

  /// A picture of the program's own: drawn, computed, received.
  ///
  ///     let copy = try FrameCopy(
  ///       bytes, pixels: .rgb24, width: 640, height: 480, at: Timestamp(nanoseconds: 0, clock: .media))
  ///
  /// - Parameters:
  ///   - bytes: the planes of `pixels` one behind the other, rows without padding; of `.mjpeg` one JPEG.
  ///   - pixels: how they lie in memory.
  ///   - width: in pixels, 1 to 65,535.
  ///   - height: in pixels, 1 to 65,535.
  ///   - color: how samples stand for light. `.jpeg` is full range and BT.601, as RGB, grey and JPEGs are;
  ///     video has mostly limited range.
  ///   - time: when it was captured, or is to be shown.
  ///
  /// Throws where the bytes are not those of such a picture. Costs no copy; a JPEG's structure is checked.
  public init(
    _ bytes: [UInt8], pixels: PixelFormat, width: Int, height: Int, color: Color = .jpeg,
    at time: Timestamp
  ) throws(RunError) {
    let text = "\(pixels.fourcc) \(width)x\(height)"
    guard Self.sides.contains(width), Self.sides.contains(height) else {
      throw RunError(.usage, "a frame has 1x1 to 65535x65535 pixels, not \(width)x\(height)")
    }
    guard !pixels.isPackets else {
      throw RunError(
        .usage, "a packet of \(pixels.fourcc) is no picture by itself; decode it, or give a JPEG")
    }
    guard color.range == .full || !(pixels.isRGB || pixels.isEncoded) else {
      throw RunError(.usage, "\(pixels.fourcc) has full range; give the color .jpeg")
    }
    var format = FrameFormat(
      pixelFormat: pixels, width: width, height: height, color: color, rate: .unknown)
    if pixels.isEncoded {
      guard let header = EncodedFrame(checking: bytes.span), header.width == width,
        header.height == height
      else {
        throw RunError(
          .usage, "the bytes are no whole JPEG of \(width)x\(height) pixels; give one with its size"
        )
      }
      format = header.described(format)
    }
    let expected = pixels.byteCount(width: width, height: height)
    guard pixels.isEncoded || bytes.count == expected else {
      throw RunError(
        .usage,
        "a picture of \(text) has \(expected) bytes, not \(bytes.count); give whole pictures without "
          + "padding")
    }
    var record = FrameRecord()
    (record.captured, record.byteCount) = (time, bytes.count)
    self.init(bytes, pixels, format, record)
  }

  /// A picture that the program made of a frame: it keeps the frame's number, time, exposure and camera, its
  /// rate and what makes it upright.
  ///
  ///     let bright = try FrameCopy(
  ///       brightened(copy.bytes), pixels: copy.pixels, width: copy.width, height: copy.height,
  ///       color: copy.color, like: copy)
  ///
  /// Parameters, errors and cost are those of the initialiser with a time. `sensorPoint` stays the frame's
  /// where the picture has the frame's size; of a picture of another size it is not known, and gives the
  /// picture's own points.
  public init(
    _ bytes: [UInt8], pixels: PixelFormat, width: Int, height: Int, color: Color = .jpeg,
    like frame: FrameCopy
  ) throws(RunError) {
    try self.init(
      bytes, pixels: pixels, width: width, height: height, color: color, at: frame.record.captured)
    let count = record.byteCount
    setRecord(frame.record, frame.origin)
    record.byteCount = count
    (format.rate, format.presentation) = (frame.format.rate, frame.format.presentation)
    if width == frame.format.width, height == frame.format.height {
      (sensorMap, format.lens) = (frame.sensorMap, frame.format.lens)
    }
  }

  /// Sides of a picture, in pixels: what JPEG allows. Larger: sums of bytes might leave 64 bits.
  private static let sides = 1...65_535

  /// The copy at another time: for a movie whose pictures are moved, slowed down or counted. Nothing else
  /// changes, and the bytes are shared.
  public func at(_ time: Timestamp) -> FrameCopy {
    var copy = self
    copy.record.captured = time
    return copy
  }

  /// Makes it a copy of a frame that is known.
  package mutating func setRecord(_ record: FrameRecord, _ origin: FrameOrigin) {
    (self.record, self.origin) = (record, origin)
  }

  /// The format of `bytes` themselves: what a `PushSource` or a writer's input for copies like this one is
  /// made with.
  public var pictureFormat: FrameFormat {
    var own = format
    if pixels != format.pixelFormat {
      (own.pixelFormat, own.image, own.packets) = (pixels, pixels.imageFormat, nil)
      own.hasFieldImages = false
    }
    own.color = color
    (own.width, own.height) = (width, height)
    return own
  }

  /// The picture with other pixels: NV12, BGRA, RGB, the planar picture, or luma, of any format that has a
  /// picture; a JPEG is decoded. `.encoded` is the copy itself.
  ///
  /// YUV keeps its range and matrix, and `color` says which these are. RGB is made by the
  /// matrix of the picture, BT.601 where none is known; what is made of RGB is JFIF: full range, BT.601.
  ///
  /// Throws if the copy is a sensor's mosaic (the stage `debayer` makes a picture of it), or a damaged JPEG.
  /// Costs memory for the picture's planes, and the copy.
  public func converted(to content: Content) throws(RunError) -> FrameCopy {
    let own = pictureFormat
    guard content != .encoded else { return self }
    let sink = CopySink(content)
    try LoneFrame.pass(bytes.span, own, record, sensorMap, origin, to: sink)
    guard var copy = sink.copy else { return self }
    copy.format = format
    return copy
  }
}
