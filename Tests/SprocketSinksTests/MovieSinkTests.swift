import Foundation
import SprocketCore
import SprocketSinks
import TestExpectations
import TestSupport
import Testing

@Suite(.enabled(if: Tool.find("ffmpeg") != nil)) struct MovieSinkTests {
  let scratch: Scratch
  let jpeg: [UInt8]

  static func format(
    _ pixels: PixelFormat, image: PixelFormat? = nil, width: Int = 64, height: Int = 48,
    rate: FrameRate = FrameRate(frames: 10), color: Color = .jpeg
  ) -> FrameFormat {
    FrameFormat(
      pixelFormat: pixels, image: image, width: width, height: height, color: color, rate: rate)
  }

  static let mjpeg = format(.mjpeg, image: .i420)

  init() throws {
    scratch = try Scratch()
    jpeg = try Tool.run(
      "ffmpeg",
      [
        "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=64x48", "-frames:v", "1", "-c:v",
        "mjpeg", "-pix_fmt", "yuvj420p", "-f", "mjpeg", "-",
      ])
  }

  func frame(_ seconds: Double) -> SinkFrame {
    // A frame that has no planar picture is filled with the source's bytes.
    let frame = SinkFrame(Self.format(.bayerRGGB), jpeg)
    frame.record.captured = Timestamp(nanoseconds: Int64(seconds * 1e9), clock: .media)
    return frame
  }

  func packetTimes(_ name: String) throws -> [String] {
    let text = try Tool.run(
      "ffprobe",
      [
        "-v", "error", "-show_entries", "packet=pts_time", "-of", "csv=p=0", scratch.path(name),
      ])
    return String(decoding: text, as: UTF8.self).split(separator: "\n").map(String.init)
  }

  @Test func untouchedFramesAreReadAsTheyCame() throws {
    var setup = SinkSetup.test(Self.mjpeg, isUntouched: true)
    let sink = MovieSink(path: scratch.path("m.mov"))
    try sink.configure(&setup)
    expectEqual(setup.parts, .encoded)
    expectEqual(setup.packedCapacity, 0)
    try expectTrue(sink.makePacker() == nil && sink.makeSelector() == nil)
    expectEqual(setup.backlog, 5)
    try sink.finish()
  }

  @Test func changedFramesAreEncodedInThePacker() throws {
    var setup = SinkSetup.test(Self.mjpeg, isUntouched: false)
    let sink = MovieSink(path: scratch.path("m.mov"))
    try sink.configure(&setup)
    expectEqual(setup.parts, .image)
    expectGreater(setup.packedCapacity, 64 * 48)
    try expectNotNil(sink.makePacker())
    try sink.finish()
  }

  @Test(arguments: [(60, 30), (25, 13), (5, 4), (0, 4)])
  func halfASecondMayWait(rate: Int32, backlog: Int) throws {
    var setup = SinkSetup.test(Self.format(.i420, rate: FrameRate(frames: rate)), isLive: true)
    let sink = MovieSink(path: scratch.path("m.mov"))
    try sink.configure(&setup)
    expectEqual(setup.backlog, backlog)
    try sink.finish()
  }

  @Test func deepGreyIsReadAsLuma() throws {
    var setup = SinkSetup.test(Self.format(.y16))
    let sink = MovieSink(path: scratch.path("m.mov"))
    try sink.configure(&setup)
    expectTrue(setup.parts.contains(.luma(.full)))
    expectTrue(sink.notes.contains { $0.contains("reduced to 8 bits") })
    try sink.finish()
  }

  @Test func framesAreSafeWithTheirFragment() throws {
    var setup = SinkSetup.test(Self.mjpeg)
    let sink = MovieSink(path: scratch.path("m.mov"))
    try sink.configure(&setup)
    for index in 0..<10 { try frame(Double(index) / 10).write(to: sink) }
    expectEqual(sink.durableCount, 0)
    // A second after the first, a fragment is whole.
    try frame(1).write(to: sink)
    expectEqual(sink.durableCount, 10)
    try sink.finish()
    expectEqual(sink.durableCount, 11)
    try expectEqual(packetTimes("m.mov").count, 11)
  }

  @Test func anEpochOfTheSameFormatGoesOnInTheSameFile() throws {
    let sink = MovieSink(path: scratch.path("m.mov"))
    var setup = SinkSetup.test(Self.mjpeg)
    try sink.configure(&setup)
    for seconds in [5, 5.1] { try frame(seconds).write(to: sink) }
    try sink.configure(&setup)
    // The device was gone for a second; its clock went on.
    for seconds in [6.1, 6.2] { try frame(seconds).write(to: sink) }
    try sink.configure(&setup)
    // Its clock began anew: the next frame is due a tenth of a second later.
    for seconds in [0, 0.1] { try frame(seconds).write(to: sink) }
    try sink.finish()
    let expected = ["0.000000", "0.100000", "1.100000", "1.200000", "1.300000", "1.400000"]
    try expectEqual(packetTimes("m.mov"), expected)
    expectEqual(sink.notes, [])
  }

  @Test func anotherFormatGoesOnInANameThatIsFree() throws {
    try Data("mine".utf8).write(to: scratch.url.appendingPathComponent("m-2.mov"))
    let sink = MovieSink(path: scratch.path("m.mov"))
    var setup = SinkSetup.test(Self.mjpeg)
    try sink.configure(&setup)
    try frame(5).write(to: sink)
    setup = SinkSetup.test(Self.format(.mjpeg, image: .i420, width: 32, height: 24))
    try sink.configure(&setup)
    for seconds in [6, 6.1] { try frame(seconds).write(to: sink) }
    try expectEqual(packetTimes("m.mov").count, 1)
    try sink.finish()
    try expectEqual(packetTimes("m-3.mov"), ["0.000000", "0.100000"])
    try expectEqual(scratch.text("m-2.mov"), "mine")
    expectEqual(sink.durableCount, 3)
    expectTrue(sink.notes.contains { $0.contains("goes on in \(scratch.path("m-3.mov"))") })
  }

  /// A run may announce a format and go back to the one before: no file is begun without a frame.
  @Test func aFormatWithoutAFrameBeginsNoFile() throws {
    let other = Self.format(.mjpeg, image: .i420, width: 32, height: 24)
    let sink = MovieSink(path: scratch.path("m.mov"))
    for format in [other, Self.mjpeg] {
      var setup = SinkSetup.test(format)
      try sink.configure(&setup)
    }
    try frame(5).write(to: sink)
    for format in [other, Self.mjpeg] {
      var setup = SinkSetup.test(format)
      try sink.configure(&setup)
    }
    try frame(5.1).write(to: sink)
    try sink.finish()
    try expectEqual(packetTimes("m.mov"), ["0.000000", "0.100000"])
    expectFalse(FileManager.default.fileExists(atPath: scratch.path("m-2.mov")))
    expectEqual(sink.notes, [])
  }

  @Test func encodesWhatThePackerIsGiven() throws {
    let format = Self.format(.i420, color: .video)
    let sink = MovieSink(path: scratch.path("m.mov"), quality: 100)
    var setup = SinkSetup.test(format)
    try sink.configure(&setup)
    let packer = try #require(try sink.makePacker())
    // A ramp downwards in luma; chroma is even.
    let bytes = (0..<3072).map { UInt8(40 + $0 / 64) } + [UInt8](repeating: 110, count: 1536)
    for padding in [0, 9] {
      let frame = SinkFrame(
        format, bytes, padding: padding, packedCapacity: setup.packedCapacity)
      frame.record.captured = Timestamp(nanoseconds: Int64(padding) * 10_000_000, clock: .media)
      try frame.write(to: sink, packer: packer)
    }
    try sink.finish()
    let decoded = try Tool.run(
      "ffmpeg", ["-v", "error", "-i", scratch.path("m.mov"), "-f", "rawvideo", "-"])
    // Full range: luma (y - 16) * 255 / 219, chroma (110 - 128) * 255 / 224 + 128, rounded.
    let full = bytes.enumerated().map { place, value in
      place < 3072 ? (Int(value) - 16) * 255 / 219 : 108
    }
    let differences = zip(decoded, full + full).map { abs(Int($0) - $1) }
    expectEqual(decoded.count, 2 * bytes.count)
    expectAtMost(differences.max() ?? 0, 2)
  }
}
