public import SprocketCore
internal import SprocketJPEG
internal import SprocketPixels

/// Encodes pictures as JPEG: the planes as they are, in their own subsampling. Samples of more than 8
/// bits are rounded to 8.
///
/// JPEG is full range (JFIF), and viewers and players assume it: a picture of limited range is
/// expanded. The matrix is never changed.
///
/// One instance serves one thread. Memory is allocated when it is made.
@safe
public final class JPEGPacker: Packer {
  /// What a packer of pictures like these needs.
  public struct Requirements: Sendable {
    public let parts: FrameParts
    /// Bytes that the largest image takes.
    public let capacity: Int
    /// More than 8 bits per sample are made 8.
    public let isReduced: Bool
    let format: FrameFormat
    let subsampling: ChromaSubsampling

    public var isGray: Bool { subsampling == .gray }
    /// Bytes that each packer allocates beside its images.
    public let packerBytes: Int
  }

  private let format: FrameFormat
  private let subsampling: ChromaSubsampling
  private let quality: Int
  private let isLuma: Bool
  private var encoder: JPEGEncoder
  private let planes: PlaneCopies

  /// `nil` where there is no picture, or JPEG has none of that size.
  public static func requirements(_ format: FrameFormat) -> Requirements? {
    guard let image = format.image else { return nil }
    let isDeepGrey = image.isDeep && image.isGrey
    guard let subsampling = image.subsampling,
      let size = JPEGEncoder.maximumSize(
        width: format.width, height: format.height, subsampling: subsampling)
    else { return nil }
    // Luma that is made for stages is full range already, and of 8 bits.
    let copies = PlaneCopies.byteCount(
      subsampling, width: format.width, height: format.height,
      bits: isDeepGrey ? 8 : image.bitsPerSample,
      expands: !isDeepGrey && format.color.range == .limited)
    return Requirements(
      parts: isDeepGrey ? .luma(.full) : .image, capacity: size, isReduced: image.isDeep,
      format: format, subsampling: subsampling, packerBytes: copies)
  }

  /// For pictures of the format that was asked about. `quality` is 1 to 100. Throws where there is no
  /// memory.
  public init(_ needs: Requirements, quality: Int) throws(RunError) {
    contract(1...100 ~= quality, "asks for a JPEG quality of \(quality); it is 1 to 100")
    do throws(JPEGError) {
      encoder = try JPEGEncoder()
      let isLuma = needs.parts != .image
      planes = try PlaneCopies.make(
        needs.subsampling, width: needs.format.width, height: needs.format.height,
        bits: isLuma ? 8 : needs.format.image?.bitsPerSample ?? 8,
        expands: !isLuma && needs.format.color.range == .limited)
    } catch {
      throw RunError(
        .failed,
        "no memory to make JPEGs of \(needs.format.width)x\(needs.format.height); use a smaller "
          + "size or fewer workers", change: .size, .workers)
    }
    self.quality = quality
    (format, subsampling, isLuma) = (needs.format, needs.subsampling, needs.parts != .image)
  }

  public func pack(_ frame: borrowing FrameView, into bytes: inout MutableSpan<UInt8>) -> Int? {
    let count = isLuma ? encode(frame.luma(), into: &bytes) : encode(frame.image, into: &bytes)
    if let count { format.presentation.pixelAspect.mark(&bytes, count: count) }
    return count
  }

  /// Encodes planes of the format's image that are stored one after the other without padding; of grey of
  /// more than 8 bits, its luma of 8.
  package func pack(planes: Span<UInt8>, into bytes: inout MutableSpan<UInt8>) -> Int? {
    let count = encode(planes: planes, into: &bytes)
    if let count { format.presentation.pixelAspect.mark(&bytes, count: count) }
    return count
  }

  private func encode(planes: Span<UInt8>, into bytes: inout MutableSpan<UInt8>) -> Int? {
    unsafe planes.withUnsafeBufferPointer { memory in
      var start = 0
      func next(_ index: Int) -> PlaneBytes? {
        guard index < subsampling.planeCount else { return nil }
        let image = isLuma ? .grey : format.image ?? PixelFormat(subsampling)
        let size = image.planeSize(index, width: format.width, height: format.height)
        let rows = unsafe UnsafeBufferPointer(rebasing: memory[start...])
        start += size.bytesPerRow * size.rows
        return unsafe self.planes.prepared(index, PlaneBytes(rows, stride: size.bytesPerRow))
      }
      guard let y = next(0) else { return nil }
      let u = next(1)
      return encode(y, u, next(2), into: &bytes)
    }
  }

  private func encode(_ luma: borrowing Plane, into bytes: inout MutableSpan<UInt8>) -> Int? {
    unsafe luma.withUnsafeRows { memory, stride in
      let y = unsafe planes.prepared(0, PlaneBytes(memory, stride: stride))
      return encode(y, nil, nil, into: &bytes)
    }
  }

  private func encode(_ image: borrowing ImageView, into bytes: inout MutableSpan<UInt8>) -> Int? {
    if image.planeCount == 1 { return encode(image[plane: 0], into: &bytes) }
    return unsafe image[plane: 0].withUnsafeRows { memory, stride in
      let y = unsafe planes.prepared(0, PlaneBytes(memory, stride: stride))
      return unsafe image[plane: 1].withUnsafeRows { memory, stride in
        let u = unsafe planes.prepared(1, PlaneBytes(memory, stride: stride))
        return unsafe image[plane: 2].withUnsafeRows { memory, stride in
          let v = unsafe planes.prepared(2, PlaneBytes(memory, stride: stride))
          return encode(y, u, v, into: &bytes)
        }
      }
    }
  }

  private func encode(
    _ y: PlaneBytes, _ u: PlaneBytes?, _ v: PlaneBytes?, into bytes: inout MutableSpan<UInt8>
  ) -> Int? {
    do throws(JPEGError) {
      return try encoder.encode(
        width: format.width, height: format.height, subsampling: subsampling, y: y, u: u, v: v,
        quality: quality, into: &bytes)
    } catch {
      return nil
    }
  }
}

extension PixelAspect {
  /// Writes the aspect into an image's JFIF segment, where it stands as densities without a unit (JFIF
  /// 1.02; libjpeg writes it first). What 16 bits do not hold is left at 1:1.
  fileprivate func mark(_ image: inout MutableSpan<UInt8>, count: Int) {
    // Start of image, marker, length, "JFIF" and a zero, version, unit; then both numbers.
    let start = 14
    guard isOblong, count > start + 4, image[6] == 0x4A, image[7] == 0x46,
      width <= UInt16.max, height <= UInt16.max
    else { return }
    image[start - 1] = 0
    // Not an array, which would be made anew for each frame.
    (image[start], image[start + 1]) = (UInt8(width >> 8), UInt8(width & 255))
    (image[start + 2], image[start + 3]) = (UInt8(height >> 8), UInt8(height & 255))
  }
}
