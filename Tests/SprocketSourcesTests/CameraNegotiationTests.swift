import SprocketCore
import TestExpectations
import Testing

@testable import SprocketSources

@Suite struct CameraNegotiationTests {
  private static func sizes(_ width: Int, _ height: Int, _ rates: Int32...) -> CameraSizes {
    let size = CameraSize(width, height)
    return CameraSizes(
      smallest: size, largest: size, step: CameraSize(1, 1),
      rates: .these(rates.map { FrameRate(frames: $0) }))
  }

  private static func format(_ fourCC: String, isEmulated: Bool = false, _ sizes: CameraSizes...)
    -> CameraFormat
  {
    CameraFormat(
      fourCC: fourCC, text: "", pixelFormat: PixelFormat(fourcc: fourCC), isEmulated: isEmulated,
      sizes: sizes)
  }

  /// A usual webcam: raw at high rate only when small, all sizes as JPEG.
  static let webcam = [
    format(
      "MJPG", sizes(640, 480, 30, 15), sizes(1280, 720, 30), sizes(1920, 1080, 30),
      sizes(2560, 1440, 15)),
    format("YUYV", sizes(640, 480, 30, 15), sizes(1280, 720, 10), sizes(1920, 1080, 5)),
    format("H264", sizes(1920, 1080, 30)), format("VP80", sizes(640, 480, 30)),
  ]

  private func choose(
    _ formats: [CameraFormat] = webcam, _ request: FormatRequest = FormatRequest(),
    rates: @escaping (String, CameraSize) -> CameraRates = { _, _ in .these([]) }
  ) throws(RunError) -> CameraMode {
    try CameraNegotiation(name: "cam", formats: formats, rates: rates).choose(request)
  }

  private func mode(_ fourCC: String, _ width: Int, _ height: Int, _ rate: Int32?) -> CameraMode {
    CameraMode(
      fourCC: fourCC, pixelFormat: PixelFormat(fourcc: fourCC) ?? .grey,
      size: CameraSize(width, height), rate: rate.map { FrameRate(frames: $0) })
  }

  @Test func unaskedIsTheLargestFullHDAtSpeed() throws {
    try expectEqual(choose(), mode("MJPG", 1920, 1080, 30))
  }

  @Test func exactPixelsGoBeforeCompressedOnes() throws {
    var request = FormatRequest()
    request.size = FrameSize(640, 480)
    try expectEqual(choose(Self.webcam, request), mode("YUYV", 640, 480, 30))
  }

  @Test func whatWasAskedForIsGiven() throws {
    let request = FormatRequest(
      format: .yuyv, size: FrameSize(1920, 1080), rate: FrameRate(frames: 5))
    try expectEqual(choose(Self.webcam, request), mode("YUYV", 1920, 1080, 5))
    var slow = FormatRequest()
    slow.rate = FrameRate(frames: 15)
    // At 15 frames/s nothing reaches 24, so what comes closest to it is the fastest that has 15.
    try expectEqual(choose(Self.webcam, slow).rate, FrameRate(frames: 15))
  }

  @Test func slowCamerasGiveTheirFastestThenLargest() throws {
    let slow = [Self.format("YUYV", Self.sizes(640, 480, 10), Self.sizes(1280, 720, 10, 5))]
    try expectEqual(choose(slow), mode("YUYV", 1280, 720, 10))
  }

  @Test func beyondFullHDTheSmallestIsTaken() throws {
    let large = [Self.format("GREY", Self.sizes(4096, 3072, 30), Self.sizes(2592, 1944, 30))]
    try expectEqual(choose(large), mode("GREY", 2592, 1944, 30))
  }

  @Test func emulatedFormatsComeLastUnlessAskedFor() throws {
    let both = [
      Self.format("YU12", isEmulated: true, Self.sizes(640, 480, 30)),
      Self.format("MJPG", Self.sizes(640, 480, 30)),
    ]
    try expectEqual(choose(both).fourCC, "MJPG")
    try expectEqual(choose(both, FormatRequest(format: .i420)).fourCC, "YU12")
  }

  @Test func otherSizesAreRefusedWithThoseThatThereAre() {
    let error = #expect(throws: RunError.self) {
      try choose(Self.webcam, FormatRequest(format: .yuyv, size: FrameSize(800, 600)))
    }
    expectEqual(error?.code, .usage)
    expectEqual(
      error?.description,
      "cam does not offer 800x600 in YUYV; it offers 640x480, 1280x720, 1920x1080")
  }

  /// However large and fast they are.
  @Test func packetsAreTakenWhereTheyAreAskedForOrAlone() throws {
    let packets = Self.format("H264", Self.sizes(1920, 1080, 30))
    let pictures = Self.format("YUYV", Self.sizes(160, 120, 5))
    try expectEqual(choose([packets, pictures]), mode("YUYV", 160, 120, 5))
    try expectEqual(
      choose([packets, pictures], FormatRequest(format: .h264)), mode("H264", 1920, 1080, 30))
    try expectEqual(choose([packets]), mode("H264", 1920, 1080, 30))
  }

  @Test func otherFormatsAndRatesAreRefusedToo() {
    let format = #expect(throws: RunError.self) {
      try choose(Self.webcam, FormatRequest(format: .nv12))
    }
    expectEqual(format?.description, "cam does not offer NV12; it offers MJPG, YUYV, H264")
    let rate = #expect(throws: RunError.self) {
      try choose(
        Self.webcam, FormatRequest(size: FrameSize(1280, 720), rate: FrameRate(frames: 60)))
    }
    expectEqual(
      rate?.description,
      "cam does not offer 60 frames/s at 1280x720; it offers 30 frames/s in MJPG; "
        + "10 frames/s in YUYV")
  }

  @Test("a camera of many formats and sizes is refused in a short sentence")
  func refusalsAreShort() {
    let known = ["YUYV", "UYVY", "MJPG", "NV12", "RGB3", "GREY"].map { name in
      var format = Self.format(name)
      format.sizes = (1...20).map { Self.sizes(160 * $0, 90 * $0, 60) }
      return format
    }
    let rate = #expect(throws: RunError.self) {
      try choose(known, FormatRequest(rate: FrameRate(frames: 55)))
    }
    expectEqual(rate?.description, "cam does not offer 55 frames/s; it offers 60 frames/s")
    let size = #expect(throws: RunError.self) {
      try choose(known, FormatRequest(size: FrameSize(1, 1)))
    }
    expectEqual(
      size?.description.hasPrefix("cam does not offer 1x1; it offers 160x90, 320x180, "), true)
    expectEqual(size?.description.hasSuffix("1920x1080 and 8 more"), true)
  }

  @Test("cameras of one name that are refused for one reason share a sentence")
  func refusalsOfEqualCameras() {
    let nodes = ["/dev/video0", "/dev/video2"].map { CameraNode(path: $0, card: "vivid") }
    let other = CameraNode(path: "/dev/video4", card: "cam")
    let refusals =
      nodes.map { ($0, "\($0.title) does not offer 1x1") } + [(other, "cam is busy")]
    expectEqual(
      CameraWish.joined(refusals),
      "vivid (/dev/video0, /dev/video2) does not offer 1x1; cam is busy")
    let barred = nodes.map { ($0, "you may not use \($0.path): join the group") }
    expectEqual(
      CameraWish.joined(barred), "you may not use /dev/video0, /dev/video2: join the group")
  }

  @Test func nothingAndTheUnknownAreTold() {
    let none = #expect(throws: RunError.self) { try choose([]) }
    expectEqual(none?.description.contains("nobody feeds"), true)
    expectEqual(none?.code, .failed)
    let unknown = #expect(throws: RunError.self) {
      try choose([Self.format("VP80", Self.sizes(640, 480, 30))])
    }
    expectEqual(unknown?.description.contains("conversion=on"), true)
  }

  /// USB cameras count intervals in 100 ns: 333333 is 30 frames/s, 333667 is 29.97.
  @Test func ratesNeedNotBeExactButAreNotConfused() throws {
    let usb = FrameRate(frames: 10_000_000, seconds: 333_333)
    expectTrue(CameraNegotiation.isSame(usb, 30))
    expectFalse(CameraNegotiation.isSame(FrameRate(frames: 30_000, seconds: 1001), 30))
    var sizes = Self.sizes(640, 480)
    sizes.rates = .these([usb])
    let camera = [Self.format("YUYV", sizes)]
    let request = FormatRequest(rate: FrameRate(frames: 30))
    try expectEqual(choose(camera, request).rate, usb)
  }

  /// 1310 is 16 and 161 steps of 8 and 6 more: not on a step, and the largest all the same.
  @Test func theLargestOfARangeNeedNotLieOnAStep() throws {
    let range = CameraSizes(
      smallest: CameraSize(16, 16), largest: CameraSize(1310, 1001), step: CameraSize(8, 2),
      rates: .these([FrameRate(frames: 30)]))
    let camera = [Self.format("GREY", range)]
    let asked = FormatRequest(size: FrameSize(1310, 1001))
    try expectEqual(choose(camera, asked), mode("GREY", 1310, 1001, 30))
    #expect(throws: RunError.self) {
      try choose(camera, FormatRequest(size: FrameSize(1309, 1001)))
    }
  }

  @Test func whereSizesAreNotListedOthersAreTried() throws {
    var sizes = Self.sizes(640, 480)
    sizes.isTold = false
    let camera = [Self.format("GREY", sizes)]
    try expectEqual(choose(camera).size, CameraSize(640, 480))
    try expectEqual(
      choose(camera, FormatRequest(size: FrameSize(800, 600))).size, CameraSize(800, 600))
  }

  @Test func rangesOfSizesTakeEveryStep() throws {
    let range = CameraSizes(
      smallest: CameraSize(16, 16), largest: CameraSize(4096, 2160), step: CameraSize(8, 2),
      rates: .range(FrameRate(frames: 1), FrameRate(frames: 60)))
    let camera = [Self.format("NV12", range)]
    let atSize: (String, CameraSize) -> CameraRates = { _, _ in
      .range(FrameRate(frames: 1), FrameRate(frames: 120))
    }
    try expectEqual(choose(camera, rates: atSize), mode("NV12", 1920, 1080, 30))
    let asked = FormatRequest(size: FrameSize(808, 602), rate: FrameRate(frames: 100))
    try expectEqual(choose(camera, asked, rates: atSize), mode("NV12", 808, 602, 100))
    let error = #expect(throws: RunError.self) {
      try choose(camera, FormatRequest(size: FrameSize(801, 600)), rates: atSize)
    }
    expectEqual(error?.description.contains("16x16 to 4096x2160 in steps of 8x2"), true)
  }
}
