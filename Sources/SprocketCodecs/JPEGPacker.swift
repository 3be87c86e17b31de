public import SprocketCore
internal import SprocketJPEG

/// Encodes pictures as JPEG: the planes as they are, in their own subsampling. Grey of more than 8 bits
/// is reduced to 8.
///
/// JPEG is full range (JFIF), and viewers and players know nothing else: a picture of limited range is
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
    let subsampling: JPEGSubsampling

    public var isGray: Bool { subsampling == .gray }
  }

  private let format: FrameFormat
  private let subsampling: JPEGSubsampling
  private let quality: Int
  private let isLuma: Bool
  /// `nil` where there was no memory for it: then nothing can be packed.
  private var encoder: JPEGEncoder?
  private var planes: PlaneCopies

  /// `nil` where there is no picture, or JPEG has none of that size.
  public static func requirements(_ format: FrameFormat) -> Requirements? {
    guard let image = format.image else { return nil }
    let isDeep = image == .y10 || image == .y16
    guard let subsampling = isDeep ? .gray : image.subsampling,
      let size = JPEGEncoder.maximumSize(
        width: format.width, height: format.height, subsampling: subsampling)
    else { return nil }
    return Requirements(
      parts: isDeep ? .luma(.full) : .image, capacity: size, isReduced: isDeep, format: format,
      subsampling: subsampling)
  }

  /// For pictures of the format that was asked about. `quality` is 1 to 100.
  public init(_ needs: Requirements, quality: Int) {
    contract(1...100 ~= quality, "asks for a JPEG quality of \(quality); it is 1 to 100")
    encoder = try? JPEGEncoder()
    self.quality = quality
    (format, subsampling, isLuma) = (needs.format, needs.subsampling, needs.isReduced)
    // Luma that is made for stages is full range already.
    planes = PlaneCopies(
      subsampling, width: format.width, height: format.height,
      expands: !isLuma && format.color.range == .limited)
  }

  public func pack(_ frame: borrowing FrameView, into bytes: inout MutableSpan<UInt8>) -> Int? {
    isLuma ? encode(frame.luma(), into: &bytes) : encode(frame.image, into: &bytes)
  }

  private func encode(_ luma: borrowing Plane, into bytes: inout MutableSpan<UInt8>) -> Int? {
    unsafe luma.withUnsafeRows { memory, stride in
      let y = unsafe planes.prepared(0, JPEGPlane(memory, stride: stride))
      return encode(y, nil, nil, into: &bytes)
    }
  }

  private func encode(_ image: borrowing ImageView, into bytes: inout MutableSpan<UInt8>) -> Int? {
    if image.planeCount == 1 { return encode(image[plane: 0], into: &bytes) }
    return unsafe image[plane: 0].withUnsafeRows { memory, stride in
      let y = unsafe planes.prepared(0, JPEGPlane(memory, stride: stride))
      return unsafe image[plane: 1].withUnsafeRows { memory, stride in
        let u = unsafe planes.prepared(1, JPEGPlane(memory, stride: stride))
        return unsafe image[plane: 2].withUnsafeRows { memory, stride in
          let v = unsafe planes.prepared(2, JPEGPlane(memory, stride: stride))
          return encode(y, u, v, into: &bytes)
        }
      }
    }
  }

  private func encode(
    _ y: JPEGPlane, _ u: JPEGPlane?, _ v: JPEGPlane?, into bytes: inout MutableSpan<UInt8>
  ) -> Int? {
    do throws(JPEGError) {
      return try encoder?.encode(
        width: format.width, height: format.height, subsampling: subsampling, y: y, u: u, v: v,
        quality: quality, into: &bytes)
    } catch {
      return nil
    }
  }
}
