import Foundation
import SprocketCore
import TestExpectations
import TestSupport
import Testing

@testable import SprocketSinks

@Suite(.enabled(if: Tool.hasFFmpeg)) struct AudioFileWriterTests {
  let files: Scratch

  init() throws { files = try Scratch() }

  /// A ramp that no two samples of a second share.
  static func ramp(_ format: AudioFormat, samples: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(samples * format.sampleBytes)
    for sample in 0..<samples {
      for channel in 0..<format.channels {
        let value = Int32(truncatingIfNeeded: sample &* 7919 &+ channel &* 104_729)
        let number =
          format.number == .f32
          ? (Float(value & 0xFFFF) / 65_536).bitPattern : UInt32(bitPattern: value)
        for byte in 0..<format.number.bytes {
          bytes.append(UInt8(truncatingIfNeeded: number >> UInt32(8 * byte)))
        }
      }
    }
    return bytes
  }

  func decoded(_ path: String, _ format: AudioFormat) throws -> [UInt8] {
    let name = "\(format.number.rawValue)le"
    return try Tool.run(
      "ffmpeg", ["-v", "error", "-i", path, "-f", name, "-c:a", "pcm_\(name)", "-"])
  }

  /// Writes blocks of 480 samples; `look` after each.
  func write(
    _ path: String, _ format: AudioFormat, _ bytes: [UInt8],
    look: (AudioFileWriter) throws -> Void = { _ in }
  ) throws {
    let writer = try AudioFileWriter(path: path, overwrite: false, isMadeUp: false)
    try writer.begin(
      format, microphone: "Desk", tags: [("captured_ns", "5"), ("captured_clock", "monotonic")])
    let length = 480 * format.sampleBytes
    for start in stride(from: 0, to: bytes.count, by: length) {
      try writer.write(Array(bytes[start..<min(start + length, bytes.count)]).span)
      try look(writer)
    }
    try writer.finish()
    expectEqual(writer.durableCount, UInt64(bytes.count / format.sampleBytes))
  }

  static let formats = [
    AudioFormat(number: .s16, rate: 48_000, channels: 2),
    AudioFormat(number: .s16, rate: 8000, channels: 1),
    AudioFormat(number: .s24, rate: 16_000, channels: 8),
  ]
  static let wide = [
    AudioFormat(number: .s32, rate: 44_100, channels: 1),
    AudioFormat(number: .f32, rate: 22_050, channels: 3),
  ]

  @Test(arguments: AudioContainer.allCases, formats + wide)
  func everySampleComesBack(container: AudioContainer, format: AudioFormat) throws {
    let path = files.path("sound.\(container.rawValue)")
    // An odd number of samples, and more than a second.
    let bytes = Self.ramp(format, samples: format.rate * 5 / 4 + 1)
    try write(path, format, bytes)
    try expectEqual(
      decoded(path, format), (container == .flac ? Self.rounded(format, bytes) : bytes))
    let (rate, channels) = (format.rate, format.channels)
    try expectEqual(Tool.probe(path, "stream=sample_rate,channels", "a:0"), ["\(rate),\(channels)"])
    expectFalse(FileManager.default.fileExists(atPath: files.path("sound.partial.\(container)")))
  }

  /// The nearest samples of 24 bits, which a FLAC has of samples of 32. The ramp's floats have no more.
  static func rounded(_ format: AudioFormat, _ bytes: [UInt8]) -> [UInt8] {
    guard format.number == .s32 else { return bytes }
    return stride(from: 0, to: bytes.count, by: 4).flatMap { at -> [UInt8] in
      let bits = (0..<4).reduce(UInt32(0)) { $0 | UInt32(bytes[at + $1]) << UInt32(8 * $1) }
      let nearest = (Double(Int32(bitPattern: bits)) / 256 + 0.5).rounded(.down)
      let result = UInt32(bitPattern: Int32(min(nearest, 0x7F_FFFF))) << 8
      return (0..<4).map { UInt8(truncatingIfNeeded: result >> UInt32(8 * $0)) }
    }
  }

  @Test(arguments: AudioContainer.allCases) func tagsAreInTheFile(container: AudioContainer) throws
  {
    let path = files.path("tags.\(container.rawValue)")
    let format = Self.formats[0]
    try write(path, format, Self.ramp(format, samples: 48_000))
    let tags = try Tool.probe(path, "format_tags").joined(separator: ",")
    expectTrue(tags.contains("Desk"))
    expectTrue(container == .wav ? tags.contains("captured_ns=5") : tags.contains("monotonic"))
  }

  /// What a killed process leaves: the file as it is, under its partial name.
  @Test(arguments: AudioContainer.allCases)
  func canBePlayedUpToTheLastWholeSecond(container: AudioContainer) throws {
    let path = files.path("cut.\(container.rawValue)")
    let format = Self.formats[0]
    let bytes = Self.ramp(format, samples: 48_000 * 2 + 100)
    var looks = 0
    try write(path, format, bytes) { writer in
      looks += 1
      guard looks % 37 == 0, writer.durableCount > 0 else { return }
      let left = files.path("left.\(container.rawValue)")
      try? FileManager.default.removeItem(atPath: left)
      try FileManager.default.copyItem(
        atPath: files.path("cut.partial.\(container.rawValue)"), toPath: left)
      let found = try decoded(left, format)
      expectEqual(found, Array(bytes[..<found.count]))
      expectAtLeast(found.count, Int(writer.durableCount) * format.sampleBytes)
      expectAtLeast(found.count, (looks * 480 - 48_000 - 4608) * format.sampleBytes)
    }
    expectGreater(looks, 200)
  }

  @Test func fourGigabytesAreAnRF64() throws {
    let format = Self.formats[0]
    var header = WAVHeader(format, tags: [])
    for size: UInt64 in [4, 0xFFFF_FF00, 0xFFFF_FFF0, 1 << 32, 40 << 30] {
      header.tell(dataBytes: size)
      let bytes = header.bytes
      let isLong = UInt64(bytes.count) - 8 + size > UInt64(UInt32.max)
      expectEqual(String(decoding: bytes[..<4], as: UTF8.self), (isLong ? "RF64" : "RIFF"))
      let path = try files.write("long.wav", bytes)
      let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
      // A hole, which takes no room on the disk.
      try file.truncate(atOffset: UInt64(bytes.count) + size)
      try file.close()
      let ticks = try Tool.probe(path, "stream=duration_ts", "a:0")
      expectEqual(ticks, ["\(size / 4)"])
    }
  }

  @Test func refusalsSayWhatToDo() throws {
    func refusal(_ name: String, _ format: AudioFormat) throws -> String? {
      let error = #expect(throws: RunError.self) {
        let writer = try AudioFileWriter(
          path: files.path(name), overwrite: false, isMadeUp: false)
        defer { writer.abandon() }
        try writer.begin(format, microphone: "", tags: [])
      }
      return error?.description
    }
    let float = AudioFormat(number: .f32, rate: 48_000, channels: 1)
    let odd = AudioFormat(number: .s16, rate: 96_001, channels: 1)
    try expectEqual(refusal("a.mp3", float)?.hasSuffix("give one of .wav, .flac, .mov, .mkv"), true)
    try expectEqual(refusal("flac", float)?.contains("the ending says"), true)
    try expectEqual(refusal("a.flac", odd)?.contains("does not have the rate 96001 Hz"), true)
    try expectEmpty(FileManager.default.contentsOfDirectory(atPath: files.path("")))
  }
}
