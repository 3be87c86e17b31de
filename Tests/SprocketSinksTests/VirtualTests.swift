import SprocketCore
import SprocketV4L2
import TestExpectations
import Testing

@testable import SprocketSinks

/// What a virtual camera is set to. The lab tries it on v4l2loopback.
@Suite struct VirtualTests {
  private static func format(
    _ image: PixelFormat, _ width: Int = 320, _ height: Int = 240, _ color: Color = .jpeg
  ) -> FrameFormat {
    FrameFormat(
      pixelFormat: .mjpeg, image: image, width: width, height: height, color: color,
      rate: FrameRate(frames: 30))
  }

  @Test(arguments: [
    (PixelFormat.i420, 320, 240, PixelFormat.i420), (.yuv422p, 320, 240, .yuyv),
    (.yuv444p, 320, 240, .yuyv), (.grey, 320, 240, .i420), (.yuv420p10, 320, 240, .i420),
    (.yuv422p12, 320, 240, .yuyv), (.yuv411p, 320, 240, .yuyv), (.i420, 320, 241, .yuyv),
    (.i420, 321, 240, .rgb24), (.yuv422p, 321, 241, .rgb24),
  ])
  func theFirstFormatKeepsMost(
    image: PixelFormat, width: Int, height: Int, expected: PixelFormat
  ) throws {
    let found = try VirtualFormats.candidates(
      Self.format(image, width, height), passesJPEG: true, nil)
    expectEqual(found.first, expected)
    // What nobody else made is handed on where a device takes nothing else.
    expectEqual(found.last, .mjpeg)
    expectTrue(found.contains(.bgr24))
  }

  @Test func aFormatThatIsAskedForIsTheOnlyOne() throws {
    let format = Self.format(.i420)
    try expectEqual(VirtualFormats.candidates(format, passesJPEG: true, .nv12), [.nv12])
    try expectEqual(VirtualFormats.candidates(format, passesJPEG: true, .mjpeg), [.mjpeg])
    try expectEqual(VirtualFormats.candidates(format, passesJPEG: false, .grey), [.grey])
    let stages = #expect(throws: RunError.self) {
      try VirtualFormats.candidates(format, passesJPEG: false, .mjpeg)
    }
    expectEqual(stages?.description.contains("leave out stages"), true)
    let odd = #expect(throws: RunError.self) {
      try VirtualFormats.candidates(Self.format(.i420, 321, 240), passesJPEG: false, .nv12)
    }
    expectEqual(odd?.description.contains("NV12 cannot be made of pictures of 321x240"), true)
    expectEqual(odd?.description.contains("BGR3"), true)
  }

  @Test func aMosaicIsRefusedWithTheStageToAdd() {
    let format = FrameFormat(
      pixelFormat: .bayerRGGB, width: 64, height: 48, color: .jpeg, rate: .unknown)
    let error = #expect(throws: RunError.self) {
      try VirtualFormats.candidates(format, passesJPEG: false, nil)
    }
    expectEqual(error?.description.contains("debayer"), true)
  }

  private static func made(
    _ code: String, _ width: Int = 320, _ height: Int = 240, line: Int, bytes: Int
  ) -> V4L2Format {
    V4L2Format(
      fourCC: V4L2FourCC(code), size: V4L2Size(width: width, height: height), bytesPerLine: line,
      imageBytes: bytes)
  }

  @Test func onlyFramesThatCanBeMadeAreAccepted() throws {
    let format = Self.format(.i420)
    let all = try VirtualFormats.candidates(format, passesJPEG: true, nil)
    func accepted(_ made: V4L2Format) -> PixelFormat? {
      VirtualFormats.accepted(made, all, of: format)
    }
    expectEqual(accepted(Self.made("YUYV", line: 640, bytes: 153_600)), .yuyv)
    expectEqual(accepted(Self.made("YU12", line: 320, bytes: 118_784)), .i420)
    expectEqual(accepted(Self.made("MJPG", line: 0, bytes: 307_200)), .mjpeg)
    // Rows with padding, too little room, another size, another format.
    expectNil(accepted(Self.made("YUYV", line: 768, bytes: 184_320)))
    expectNil(accepted(Self.made("YUYV", line: 640, bytes: 153_599)))
    expectNil(accepted(Self.made("YUYV", 640, 480, line: 1280, bytes: 614_400)))
    expectNil(accepted(Self.made("H264", line: 0, bytes: 614_400)))
  }

  @Test func aDeviceThatIsHeldSaysHowToGoOn() {
    let held = Self.made("YUYV", 640, 480, line: 1280, bytes: 614_400)
    let error = VirtualFormats.refusal("/dev/video9", held, Self.format(.i420))
    expectTrue(error.description.contains("set to YUYV 640x480"))
    expectTrue(error.description.contains("pictures are 320x240"))
    expectTrue(error.description.contains("the stage resize:size=640x480"))
    let other = Self.made("H264", line: 0, bytes: 614_400)
    expectFalse(
      VirtualFormats.refusal("/dev/video9", other, Self.format(.i420)).description.contains(
        "resize"))
  }

  /// The numbers of `linux/videodev2.h`.
  @Test func colourIsToldAsItIs() {
    func numbers(_ pixels: PixelFormat, _ color: Color) -> [UInt32] {
      let made = V4L2Format(pixels, of: Self.format(.i420, 320, 240, color))
      return [made.colorspace, made.encoding, made.quantization, made.transfer]
    }
    expectEqual(numbers(.yuyv, .jpeg), [8, 1, 1, 2])
    expectEqual(numbers(.yuyv, .video), [8, 1, 2, 0])
    expectEqual(
      numbers(.i420, Color(range: .limited, matrix: .bt709, transfer: .bt709)), [3, 2, 2, 1])
    expectEqual(
      numbers(.nv12, Color(range: .limited, matrix: .bt2020, transfer: .pq)), [10, 6, 2, 7])
    // RGB is made with full range.
    expectEqual(numbers(.rgb24, .video), [8, 0, 1, 0])
    expectEqual(numbers(.mjpeg, .jpeg), [7, 1, 1, 2])
  }

  @Test(arguments: [
    ("/dev/video4095", "there is no device"), ("/dev/null", "is no virtual camera"),
    ("/etc/passwd", "is no virtual camera"), ("/", "is no virtual camera"),
  ])
  func whatIsNoVirtualCameraIsRefusedBeforeTheRun(path: String, words: String) {
    let sink = VirtualSink(path: path)
    var setup = SinkSetup.test(Self.format(.i420), isLive: true)
    let error = #expect(throws: RunError.self) { try sink.configure(&setup) }
    expectEqual(error?.code, error?.device == .notFound ? .failed : .usage)
    expectEqual(error?.description.contains(words), true)
    expectEqual(error?.description.contains("modprobe v4l2loopback"), true)
  }
}
