public import SprocketCore
internal import SprocketJPEG

/// Encodes pictures as JPEG: the planes as they are, in their own subsampling. Grey of more than 8 bits
/// is reduced to 8.
///
/// JPEG files are full range (JFIF). A picture of limited range is either expanded, for viewers that
/// know nothing else, or left as it is and marked by the comment `CS=ITU601`, as FFmpeg's encoder does and
/// its decoder understands. The matrix is never changed.
///
/// One instance serves one thread. Memory is allocated when it is made.
@safe
public final class JPEGPacker: Packer {
  /// What becomes of limited range.
  public enum LimitedRange: Sendable {
    case marked, expanded
  }

  /// What a packer of pictures like these needs.
  public struct Requirements: Sendable {
    public let parts: FrameParts
    /// Bytes that the largest image takes.
    public let capacity: Int
    /// The samples of the images that are made.
    public let range: Color.Range
    public let isGray: Bool
    /// More than 8 bits per sample are made 8.
    public let isReduced: Bool
  }

  private let format: FrameFormat
  private let subsampling: JPEGSubsampling
  private let quality: Int
  private let isLuma: Bool
  private let isMarked: Bool
  private var encoder: JPEGEncoder
  private var planes: PlaneCopies

  /// `nil` where there is no picture, or JPEG has none of that size.
  public static func requirements(
    _ format: FrameFormat, _ limitedRange: LimitedRange
  ) -> Requirements? {
    guard let image = format.image else { return nil }
    let isDeep = image == .y10 || image == .y16
    guard let subsampling = isDeep ? .gray : image.subsampling,
      let size = JPEGEncoder.maximumSize(
        width: format.width, height: format.height, subsampling: subsampling)
    else { return nil }
    let isFull = isDeep || limitedRange == .expanded || format.color.range == .full
    return Requirements(
      parts: isDeep ? .luma(.full) : .image, capacity: size + LimitedRangeMark.bytes.count,
      range: isFull ? .full : .limited, isGray: subsampling == .gray, isReduced: isDeep)
  }

  /// Traps where there are no `requirements`. `quality` is 1 to 100.
  public init(_ format: FrameFormat, quality: Int, _ limitedRange: LimitedRange) {
    guard let needs = Self.requirements(format, limitedRange) else {
      preconditionFailure("ask for the requirements before making a packer")
    }
    do throws(JPEGError) {
      encoder = try JPEGEncoder()
    } catch {
      preconditionFailure("\(error)")
    }
    self.format = format
    self.quality = quality
    subsampling = needs.isGray ? .gray : format.image?.subsampling ?? .gray
    isLuma = needs.parts != .image
    isMarked = needs.range == .limited
    planes = PlaneCopies(
      subsampling, width: format.width, height: format.height,
      expands: !isLuma && !isMarked && format.color.range == .limited)
  }

  public func pack(_ frame: borrowing FrameView, into bytes: inout MutableSpan<UInt8>) -> Int? {
    let count =
      isLuma ? encode(frame.luma(), into: &bytes) : encode(frame.image, into: &bytes)
    guard let count else { return nil }
    if isMarked { LimitedRangeMark.insert(into: &bytes) }
    return offset + count
  }

  /// Where the encoder's image begins.
  private var offset: Int { isMarked ? LimitedRangeMark.bytes.count : 0 }

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
      return try encoder.encode(
        width: format.width, height: format.height, subsampling: subsampling, y: y, u: u, v: v,
        quality: quality, into: &bytes, at: offset)
    } catch {
      return nil
    }
  }
}

/// A comment segment that says what JFIF has no word for: samples of limited range.
enum LimitedRangeMark {
  /// Marker, length 12, text, zero.
  static let bytes: [UInt8] = [0xFF, 0xFE, 0, 12] + Array("CS=ITU601".utf8) + [0]
  /// Start of image and JFIF segment, which libjpeg begins every file with and JFIF wants first.
  static let jfifCount = 20

  /// Puts the mark behind the JFIF segment of an image that begins `bytes.count` into `image`.
  static func insert(into image: inout MutableSpan<UInt8>) {
    for index in 0..<jfifCount { image[index] = image[index + bytes.count] }
    for index in bytes.indices { image[jfifCount + index] = bytes[index] }
  }
}
