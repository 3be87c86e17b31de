/// Makes pictures of one format smaller or larger, or shows a part of them: what the stage `resize` and
/// movies of another size do.
///
/// One instance serves one thread. Memory is allocated when it is made: tables and a line for each plane.
package struct PictureResize {
  /// The format of the new pictures.
  package let format: FrameFormat
  /// Where their points lie in the old ones.
  package private(set) var sourceFromPicture: Projection
  /// Rows of both fields of interlaced pictures are mixed.
  package let mixesFields: Bool
  private var planes: [PlaneResize]
  private let old: FrameFormat
  private let filter: ResamplingFilter

  /// `pad` is the grey of bars, 0 to 255 in full range.
  package init(
    _ place: Placement, _ mode: ResizeMode, _ filter: ResamplingFilter = .area, pad: Int = 114,
    of old: FrameFormat, showing part: PicturePart
  ) {
    var new = old
    (new.width, new.height) = (place.width, place.height)
    if mode == .stretch {
      new.presentation.pixelAspect = old.presentation.pixelAspect.stretched(
        from: (Int(part.width.rounded()), Int(part.height.rounded())),
        to: (place.width, place.height))
    }
    mixesFields =
      old.presentation.fieldOrder.isInterlaced
      && (place.changesRows && !place.isCrop(step: old.cropStep.y))
    if mixesFields { new.presentation.fieldOrder = .unknown }
    let format = new
    (self.format, self.old, self.filter) = (format, old, filter)
    sourceFromPicture = place.sourceFromPicture
    planes = (0..<(old.image?.planeCount ?? 0)).map { plane in
      PlaneResize(
        plane, filter, place, from: old, to: format,
        padding: old.level(ofGrey: pad, plane: plane))
    }
  }

  /// Shows another part of the pictures, in the size that they have. Allocates nothing where the part is no
  /// larger than the first one.
  package mutating func show(_ place: Placement) {
    sourceFromPicture = place.sourceFromPicture
    for plane in planes.indices { planes[plane].show(filter, place, from: old, to: format) }
  }

  /// Fills a picture of `format` with one of the old format, its `source`.
  package mutating func make(_ picture: inout ImageEditor) {
    for plane in planes.indices { planes[plane].make(&picture) }
  }

  /// Fills the first `byteCount` bytes with the planes of a new picture, one behind the other, rows without
  /// padding.
  package mutating func make(
    of image: borrowing ImageView, into bytes: inout MutableSpan<UInt8>
  ) {
    var picture = ImageEditor(of: image, into: &bytes, format)
    make(&picture)
  }

  /// Bytes of a new picture.
  package var byteCount: Int {
    format.image?.byteCount(width: format.width, height: format.height) ?? 0
  }
}

extension Placement {
  /// Whether rows are copied, and begin with the same field.
  fileprivate func isCrop(step: Int) -> Bool {
    let map = sourceFromPicture
    let first = map.apply(0, 0).y
    let next = map.apply(0, 1).y
    return next - first == 1 && first == first.rounded() && Int(first) % step == 0
  }
}

extension FrameFormat {
  /// The sample of a plane that shows a grey of 0 to 255: luma in the picture's range and depth, and neutral
  /// chroma.
  fileprivate func level(ofGrey grey: Int, plane: Int) -> UInt16 {
    let bits = image?.bitsPerSample ?? 8
    let white = Double((1 << bits) - 1)
    // ITU-T H.273, equations 20 to 25.
    guard plane == 0 else { return UInt16(1 << (bits - 1)) }
    switch color.range {
    case .full: return UInt16((Double(grey) / 255 * white).rounded())
    case .limited:
      return UInt16(((16 + 219 * Double(grey) / 255) * Double(1 << (bits - 8))).rounded())
    }
  }
}

extension PixelAspect {
  /// That of pixels that were made narrower or lower with the picture.
  fileprivate func stretched(
    from old: (width: Int, height: Int), to new: (width: Int, height: Int)
  ) -> PixelAspect {
    guard old.width * new.height != new.width * old.height else { return self }
    let isKnown = self != .unknown
    var across = (isKnown ? Int(width) : 1) * old.width * new.height
    var down = (isKnown ? Int(height) : 1) * old.height * new.width
    var (common, rest) = (across, down)
    while rest > 0 { (common, rest) = (rest, common % rest) }
    (across, down) = (across / common, down / common)
    while across > Int(Int32.max) || down > Int(Int32.max) {
      (across, down) = (across / 2, down / 2)
    }
    return PixelAspect(Int32(max(across, 1)), Int32(max(down, 1)))
  }
}
