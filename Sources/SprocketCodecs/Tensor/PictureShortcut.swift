internal import SprocketCore
internal import SprocketPixels
internal import SprocketYUV

/// Makes whole pictures of bytes by libyuv, several times faster than `RegionPacker`.
///
/// Used for full-range luma, which is copied, and for RGB from JPEGs of 4:2:0 and 4:2:2 whose width is even:
/// the library is up to 7 levels off in the last column of others.
struct PictureShortcut {
  private enum Way {
    case luma
    case color(isHalfHeight: Bool, redFirst: Bool)
  }

  private let way: Way
  private let format: FrameFormat

  /// `nil` if the plan needs `RegionPacker`.
  init?(_ plan: TensorPlan) {
    let (format, settings) = (plan.format, plan.settings)
    guard plan.isPlainPicture, let image = format.image, !image.isDeep else { return nil }
    self.format = format
    let channels = settings.usedChannels
    if channels == .gray {
      guard format.color.range == .full else { return nil }
      way = .luma
      return
    }
    let color = format.color
    guard settings.usedOrder == .nhwc, format.width.isMultiple(of: 2), color.range == .full,
      color.chromaSite == .center,
      TensorColor.matrix(settings.matrix, color.matrix) == .bt601,
      image.subsampling == .yuv420 || image.subsampling == .yuv422
    else { return nil }
    way = .color(isHalfHeight: image.subsampling == .yuv420, redFirst: channels == .rgb)
  }

  /// Fills the first bytes of `bytes` with the picture.
  func pack(_ image: borrowing ImageView, into bytes: inout MutableSpan<UInt8>) {
    let (width, height) = (format.width, format.height)
    unsafe bytes.withUnsafeMutableBufferPointer { memory in
      unsafe image[plane: 0].withUnsafeRows { luma, lumaStride in
        let y = unsafe PlaneBytes(luma, stride: lumaStride)
        guard case .color(let isHalfHeight, let redFirst) = way else {
          return PixelConversion.copy(
            y, to: unsafe MutablePlaneBytes(memory, stride: width), bytesPerRow: width,
            rows: height)
        }
        unsafe image[plane: 1].withUnsafeRows { blue, blueStride in
          unsafe image[plane: 2].withUnsafeRows { red, redStride in
            PixelConversion.interleaveJPEG(
              y: y, u: unsafe PlaneBytes(blue, stride: blueStride),
              v: unsafe PlaneBytes(red, stride: redStride), isHalfHeight: isHalfHeight,
              redFirst: redFirst,
              to: unsafe MutablePlaneBytes(memory, stride: 3 * width), width: width,
              height: height)
          }
        }
      }
    }
  }
}
