internal import SprocketCodecs
internal import SprocketCore
internal import SprocketV4L2

// What a virtual camera is set to for pictures of one format. Pure.

enum VirtualFormats {
  /// Formats that can be written, the ones to try first in front: those that keep the samples, then those
  /// that most programs read.
  ///
  /// Source: what video calls read, in libwebrtc's `video_capture_v4l2.cc` (I420, YV12, YUYV, UYVY, NV12,
  /// MJPG) and Chromium's `v4l2_capture_delegate.cc` (the same and RGB24).
  static func candidates(
    _ format: FrameFormat, passesJPEG: Bool, _ wanted: PixelFormat?
  ) throws(RunError) -> [PixelFormat] {
    let image = try format.picture()
    let halves: [PixelFormat] = [.i420, .nv12, .yv12]
    let packed: [PixelFormat] = [.yuyv, .uyvy]
    let isHalf = image.subsampling == .yuv420 || image.isGrey
    let all =
      (isHalf ? halves + packed : packed + halves) + [.rgb24, .bgr24]
      + (image.isGrey ? [.grey] : [])
    let made = all.filter { FramePacker.canMake($0, width: format.width, height: format.height) }
    guard let wanted else { return made + (passesJPEG ? [.mjpeg] : []) }
    if wanted == .mjpeg, passesJPEG { return [.mjpeg] }
    if FramePacker.canMake(wanted, width: format.width, height: format.height) { return [wanted] }
    throw RunError(
      .usage,
      wanted == .mjpeg
        ? "virtual: format=MJPG hands on the JPEGs of a camera; take MJPG of the camera and leave out "
          + "stages that change pictures, or choose another format"
        : "virtual: \(wanted.settingText) cannot be made of pictures of \(format.width)x\(format.height); "
          + "choose one of \(made.map(\.settingText).joined(separator: ", "))", change: .virtual)
  }

  /// The candidate that a device was set to; `nil` where frames for it cannot be made: another format or
  /// size, or rows with padding.
  static func accepted(
    _ made: V4L2Format, _ candidates: [PixelFormat], of format: FrameFormat
  ) -> PixelFormat? {
    guard let found = candidates.first(where: { V4L2FourCC($0.fourcc) == made.fourCC }),
      made.size == V4L2Size(width: format.width, height: format.height), made.memoryPlanes == 1
    else { return nil }
    guard !found.isEncoded else { return found }
    let row = found.plane(0, width: format.width, height: format.height).bytesPerRow
    let isTight = made.bytesPerLine == row || made.bytesPerLine == 0
    return isTight && made.imageBytes >= found.byteCount(width: format.width, height: format.height)
      ? found : nil
  }

  /// Why a device was not set to any of the candidates; `made` is what it was set to instead.
  static func refusal(
    _ path: String, _ made: V4L2Format?, _ format: FrameFormat
  ) -> RunError {
    let pictures = "\(format.width)x\(format.height)"
    guard let made else {
      return RunError(
        .usage,
        "virtual: \(path) offers no format that pictures of \(pictures) can be made into; use another "
          + "device", change: .virtual)
    }
    let size = "\(made.size.width)x\(made.size.height)"
    let isSame = made.size == V4L2Size(width: format.width, height: format.height)
    return RunError(
      .usage,
      "virtual: \(path) is set to \(made.fourCC.text) \(size) and cannot be set anew while programs have it "
        + "open, or its control keep_format is on; pictures are \(pictures): close those programs"
        + (isSame
          ? ", or use another device" : ", or add the stage resize:size=\(size),mode=letterbox"),
      change: .virtual, .stage)
  }
}

extension V4L2Format {
  /// Frames of `pixels` made of pictures of `format`, with what their numbers mean.
  ///
  /// Source: `linux/videodev2.h`. A picture of which nothing else is said is taken for a webcam's: sRGB.
  init(_ pixels: PixelFormat, of format: FrameFormat) {
    let color = format.color
    let field: V4L2Field =
      switch format.presentation.fieldOrder {
      case .unknown, .progressive: .progressive
      case .topFirst: .interlacedTopFirst
      case .bottomFirst: .interlacedBottomFirst
      }
    self.init(
      fourCC: V4L2FourCC(pixels.fourcc), size: V4L2Size(width: format.width, height: format.height),
      bytesPerLine: 0, imageBytes: 0, field: field)
    let isRGB = pixels.isRGB
    // V4L2_COLORSPACE_SRGB, _JPEG, _REC709, _BT2020; V4L2_YCBCR_ENC_601, _709, _BT2020.
    let (space, encoding): (UInt32, UInt32) =
      switch color.matrix {
      case .bt709: (3, 2)
      case .bt2020: (10, 6)
      case .unspecified, .bt601: (8, 1)
      }
    colorspace = pixels.isEncoded ? 7 : space
    self.encoding = isRGB ? 0 : pixels.isEncoded ? 1 : encoding
    // V4L2_XFER_FUNC_*; 0 is that of the colour space.
    transfer =
      switch color.transfer {
      case .srgb: 2
      case .bt709: 1
      case .linear: 5
      case .pq: 7
      case .unspecified, .gamma22, .gamma28, .hlg: 0
      }
    // V4L2_QUANTIZATION_FULL_RANGE, _LIM_RANGE.
    quantization = isRGB || pixels.isEncoded || color.range == .full ? 1 : 2
  }
}
