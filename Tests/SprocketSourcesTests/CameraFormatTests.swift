import SprocketCore
import SprocketV4L2
import TestExpectations
import Testing

@testable import SprocketSources

/// Numbers are those of linux/videodev2.h: colour spaces, transfers, encodings, quantizations.
@Suite struct CameraFormatTests {
  private func color(
    _ pixels: PixelFormat, colorspace: UInt32, transfer: UInt32 = 0, encoding: UInt32 = 0,
    quantization: UInt32 = 0
  ) -> Color {
    Color(
      V4L2Format(
        fourCC: V4L2FourCC(pixels.fourcc), size: V4L2Size(width: 2, height: 2), bytesPerLine: 0,
        imageBytes: 0, colorspace: colorspace, transfer: transfer, encoding: encoding,
        quantization: quantization), pixels)
  }

  @Test(arguments: [
    (V4L2Field.progressive, 480, FieldOrder.unknown), (.interlaced, 480, .bottomFirst),
    (.interlaced, 576, .topFirst), (.interlacedTopFirst, 480, .topFirst),
    (.interlacedBottomFirst, 576, .bottomFirst),
  ])
  func fieldsComeInTheStandardsOrder(field: V4L2Field, height: Int, order: FieldOrder) {
    let presentation = Presentation(field, height: height, aspect: (59, 54))
    expectEqual(presentation.fieldOrder, order)
    expectEqual(presentation.pixelAspect, PixelAspect(59, 54))
    expectEqual(Presentation(field, height: height, aspect: nil).pixelAspect, .unknown)
    expectEqual(Presentation(field, height: height, aspect: (.max, 1)).pixelAspect, .unknown)
  }

  /// `V4L2_MAP_XFER_FUNC_DEFAULT` and `V4L2_MAP_YCBCR_ENC_DEFAULT`, for each colour space.
  @Test(arguments: [
    (UInt32(1), Color.Matrix.bt601, Color.Transfer.bt709), (2, .unspecified, .unspecified),
    (3, .bt709, .bt709), (4, .bt601, .bt709), (5, .bt601, .bt709), (6, .bt601, .bt709),
    (8, .bt601, .srgb), (9, .bt601, .unspecified), (10, .bt2020, .bt709), (11, .bt601, .linear),
    (12, .bt709, .unspecified),
  ])
  func coloursHaveV4L2sDefaults(
    _ colorspace: UInt32, _ matrix: Color.Matrix, _ transfer: Color.Transfer
  ) {
    expectEqual(
      color(.yuyv, colorspace: colorspace),
      Color(range: .limited, matrix: matrix, transfer: transfer, chromaSite: .left))
  }

  @Test func whatTheDriverSaysGoesBeforeDefaults() {
    expectEqual(
      color(.nv12, colorspace: 8, transfer: 7, encoding: 6, quantization: 1),
      Color(range: .full, matrix: .bt2020, transfer: .pq, chromaSite: .left))
    expectEqual(color(.nv12, colorspace: 8, encoding: 2).matrix, .bt709)
    expectEqual(color(.grey, colorspace: 8, quantization: 2).range, .limited)
  }

  /// `V4L2_MAP_QUANTIZATION_DEFAULT`: full for RGB and the colour space of JPEG, else limited.
  @Test func rangesHaveV4L2sDefaults() {
    expectEqual(color(.yuyv, colorspace: 7).range, .full)
    expectEqual(
      color(.rgb24, colorspace: 8),
      Color(range: .full, matrix: .bt601, transfer: .srgb, chromaSite: .left))
    expectEqual(color(.grey, colorspace: 8).range, .full)
    expectEqual(color(.bayerRGGB, colorspace: 11).range, .full)
    expectEqual(color(.mjpeg, colorspace: 3, quantization: 2).range, .full)
  }

  @Test func everyFormatIsFoundByItsCode() {
    for format in PixelFormat.allCases where format.fourcc.utf8.count == 4 {
      expectEqual(PixelFormat(V4L2FourCC(format.fourcc)), format)
    }
    // Not the beginning of `YUV420P10`, which V4L2 has no code for.
    expectNil(PixelFormat(V4L2FourCC("YUV4")))
    expectEqual(PixelFormat(V4L2FourCC("XR24")), .bgr32)
    expectEqual(PixelFormat(V4L2FourCC("JPEG")), .mjpeg)
    expectEqual(PixelFormat(V4L2FourCC("H264")), .h264)
    expectNil(PixelFormat(V4L2FourCC("VP80")))
  }

  /// The kernel's "Image Formats": planes follow each other, chroma has a fraction of luma's stride.
  @Test func planesLieWhereTheDriverPutsThem() {
    let nv12 = CameraLayout(.nv12, width: 6, height: 4, bytesPerLine: 16)
    expectEqual(
      nv12.planes,
      [
        .init(offset: 0, stride: 16, bytesPerRow: 6, rows: 4),
        .init(offset: 64, stride: 16, bytesPerRow: 6, rows: 2),
      ])
    expectEqual(nv12.byteCounts, [64 + 16 + 6])
    let i420 = CameraLayout(.i420, width: 6, height: 4, bytesPerLine: 16)
    expectEqual(i420.planes.map(\.offset), [0, 64, 80])
    expectEqual(i420.planes.map(\.stride), [16, 8, 8])
    let yuyv = CameraLayout(.yuyv, width: 6, height: 4, bytesPerLine: 0)
    expectEqual(yuyv.planes, [.init(offset: 0, stride: 12, bytesPerRow: 12, rows: 4)])
    expectEqual(yuyv.byteCounts, [PixelFormat.yuyv.byteCount(width: 6, height: 4)])
    let apart = CameraLayout(.i420, width: 6, height: 4, bytesPerLine: [16, 0, 8])
    expectEqual(
      apart.planes,
      [
        .init(piece: 0, stride: 16, bytesPerRow: 6, rows: 4),
        .init(piece: 1, stride: 3, bytesPerRow: 3, rows: 2),
        .init(piece: 2, stride: 8, bytesPerRow: 3, rows: 2),
      ])
    expectEqual(apart.byteCounts, [54, 6, 11])
  }
}
