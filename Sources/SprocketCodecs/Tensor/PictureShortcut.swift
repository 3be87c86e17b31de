internal import SprocketCore
internal import SprocketPixels
internal import SprocketYUV

/// Makes whole pictures of bytes several times faster than `RegionPacker`: gray without floating-point
/// numbers, and RGB by libyuv.
///
/// Luma of full range is copied, that of limited range is stretched. libyuv makes RGB from JPEGs of 4:2:0 and
/// 4:2:2 with an even width. It is not used for odd widths: its last column is up to 7 levels off there.
struct PictureShortcut {
  private enum Way {
    case luma(isFull: Bool)
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
      way = .luma(isFull: format.color.range == .full)
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
    if case .luma(isFull: false) = way {
      for row in 0..<height {
        var target = bytes._mutatingExtracting(width * row..<width * (row + 1))
        stretch(image[plane: 0][row: row], into: &target)
      }
      return
    }
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

/// Levels of 16 to 235 become those of 0 to 255, rounded to the nearest: 76,309 is 255 / 219 with 16 bits
/// behind the point, and gives the nearest number for each of the 256 levels.
@inline(never)
private func stretch(_ row: Span<UInt8>, into target: inout MutableSpan<UInt8>) {
  precondition(row.count == target.count)
  for x in 0..<row.count {
    let level = ((Int32(row[x]) &- 16) &* 76_309 &+ 32_768) &>> 16
    target[x] = UInt8(truncatingIfNeeded: min(max(level, 0), 255))
  }
}
