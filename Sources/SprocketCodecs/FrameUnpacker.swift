public import SprocketCore
internal import SprocketJPEG

/// Unpacks frames of every source format into the planar image and the luma that a chain declared.
///
/// | Source | image | full luma |
/// |---|---|---|
/// | MJPEG | its own planes, decoded | plane 0 of the image; else decoded alone |
/// | planar YUV, grey | the source's memory (YV12: chroma exchanged) | the source's, if full range |
/// | planar YUV and grey of 10 to 16 bits | the source's memory, 16-bit words | rounded to 8 bits |
/// | P010, P012 | 4:2:0 of 10 and 12 bits | rounded to 8 bits |
/// | grey, packed | words | rounded to 8 bits |
/// | NV12, NV21 | 4:2:0 | plane 0 of the image, or the source's, if full range |
/// | YUYV, UYVY | 4:2:2 | plane 0 of the image, if full range; else unpacked alone |
/// | RGB | 4:4:4, JFIF | plane 0 of the image; else converted alone |
/// | RGB of 16 bits | 4:4:4 of 16 bits, JFIF | rounded to 8 bits |
/// | Bayer | none | none |
///
/// Limited-range luma is expanded: `round((y - 16) * 255 / 219)`, clamped. JPEG and RGB are full range
/// and their format must say so. Nothing is converted that is not declared.
///
/// Of Motion-JPEG whose fields are an image each, every other row is of one of them.
///
/// ## Scaled luma
///
/// It is the box mean of full luma, exactly, with one exception. Where a JPEG's luma at 1/8 is all that
/// is declared, and its sides are multiples of 8, the decoder's own 1/8 is taken (a block's DC term) for
/// 2 ms instead of 4.5 at 1080p. It differs from the box mean by at most 1 level, in every JPEG and
/// every frame of Motion-JPEG among the test data; by more only where a coarse quantizer overshoots black
/// or white, which decoding clips and the DC term does not (13 levels in binary noise at quality 25).
/// At 1/2 and 1/4 the decoder's results are up to 4 levels off, and boxes that the picture's edge cuts
/// up to 41, so there the picture is decoded in full.
///
/// One instance serves one thread. Memory is allocated in `configure`.
@safe
public final class FrameUnpacker: Unpacker {
  var format: FrameFormat?
  var parts: FrameParts = []
  let luma = LumaWriter()
  var jpeg: JPEGWorker?

  /// With `verifies`, all picture data of a JPEG is read once more than decoding reads it, which finds damage
  /// that the decoder shows as a picture: see `JPEGDecoder.verifies`.
  private let verifies: Bool

  public init(verifies: Bool = false) { self.verifies = verifies }

  public func plan(format: FrameFormat, parts: FrameParts) -> UnpackPlan {
    let isRGB = format.pixelFormat.isRGB
    contract(
      format.color.range == .full || !(format.pixelFormat.isEncoded || isRGB),
      "unpacks limited-range \(format.pixelFormat.fourcc), which is full range; let the source say so in "
        + "its format's colour")
    let hasImage = parts.contains(.image)
    let pixels = format.pixelFormat
    let hasLumaPlane =
      switch pixels.layout {
      case .planar, .semiPlanar420: true
      case .encoded, .semiPlanar420Words, .packedGray, .packed422, .rgb, .rgbWords,
        .bayer:
        false
      }
    let isJPEG = pixels.isEncoded && format.image?.subsampling != nil
    return UnpackPlan(
      borrowsImage: pixels.isPlanar, borrowsLuma: format.lumaIsPlane && (hasImage || hasLumaPlane),
      workingBytes: isJPEG ? JPEGWorker.workingBytes(format, parts) : 0)
  }

  public func configure(format: FrameFormat, parts: FrameParts) throws(RunError)
    -> UnpackPlan
  {
    let plan = plan(format: format, parts: parts)
    self.format = format
    self.parts = parts
    jpeg = nil
    guard let image = format.image, format.pixelFormat.isEncoded else { return plan }
    do throws(JPEGError) {
      jpeg = try JPEGWorker(format: format, image: image, parts: parts)
      jpeg?.decoder.verifies = verifies
    } catch {
      throw RunError(
        .failed,
        "no memory to decode JPEGs of \(format.width)x\(format.height); use a smaller size or fewer "
          + "workers", change: .size, .workers)
    }
    return plan
  }

  public func unpack(_ slot: UnsafeMutablePointer<FrameStorage>) -> Bool {
    guard let format else { contractBroken("unpacks without a format; call `configure` first") }
    guard let image = format.image else { return true }
    if format.pixelFormat.isEncoded { return unsafe unpackJPEG(slot, format) }
    let pixels = format.pixelFormat
    for plane in 0..<pixels.planeCount {
      let size = pixels.plane(plane, width: format.width, height: format.height)
      guard unsafe slot.pointee.source.planes[plane].holds(size) else { return false }
    }
    let version = unsafe slot.pointee.versions
    if parts.contains(.image) { unsafe convert(slot.pointee.source, to: version, format) }
    guard !parts.isDisjoint(with: .anyLuma) else { return true }
    let source =
      parts.contains(.image)
      ? unsafe LumaSource(version.pointee.image.planes[0], image, range: format.color.range)
      : unsafe LumaSource(slot.pointee.source.planes[0], pixels, range: format.color.range)
    unsafe luma.write(
      source, to: version, width: format.width, height: format.height, parts: parts)
    return true
  }

  public func deriveLuma(
    _ slot: UnsafeMutablePointer<FrameStorage>, version: VersionIndex, format: FrameFormat,
    parts: FrameParts
  ) {
    guard let image = format.image else { return }
    let target = unsafe slot.pointee.versions + version.place
    let source = unsafe LumaSource(
      target.pointee.image.planes[0], image, range: format.color.range)
    unsafe luma.write(
      source, to: target, width: format.width, height: format.height, parts: parts)
  }
}
