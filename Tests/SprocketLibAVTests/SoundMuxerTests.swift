import Foundation
import SprocketLibAV
import TestExpectations
import TestSupport
import Testing

@Suite(.enabled(if: Tool.hasFFmpeg)) struct SoundMuxerTests {
  let files: Scratch
  let image: [UInt8]

  init() throws {
    files = try Scratch()
    image = try Scratch.bytes(
      try files.make("still.mjpeg", frames: 1, ["-c:v", "mjpeg", "-q:v", "3"]))
  }

  static let description = MovieDescription(
    width: 64, height: 48, rate: MediaRational(25, 1), range: .full, matrix: .bt601,
    transfer: .unspecified, isGray: false)

  static let containers = MovieContainer.allCases.filter(\.holdsPCM)

  /// Noise: any cut at a wrong place shows.
  static func noise(_ format: PCMFormat, samples: Int) -> [UInt8] {
    var state = UInt64(format.rate * 8 + format.channels)
    return (0..<samples * format.sampleBytes).map { index in
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      // Floats are finite: their exponent is that of numbers from 1/2 to 1.
      let place = index % 4
      if format.number == .f32, place > 1 { return place == 2 ? 0x00 | UInt8(state >> 57) : 0x3F }
      return UInt8(truncatingIfNeeded: state >> 33)
    }
  }

  /// What ffmpeg decodes a track to, in the track's own format.
  func decoded(_ path: String, _ format: PCMFormat, track: Int = 0) throws -> [UInt8] {
    let name = format.number == .f32 ? "f32le" : "\(format.number.rawValue)le"
    return try Tool.run(
      "ffmpeg",
      [
        "-v", "error", "-i", path, "-map", "0:a:\(track)", "-f", name, "-c:a", "pcm_\(name)", "-",
      ])
  }

  /// A movie at 25 pictures per second: the sound of each picture's time, and then the picture.
  func write(
    _ container: MovieContainer, seconds: Int, _ sound: [(PCMFormat, [UInt8])],
    to output: MemoryOutput, withPictures: Bool = true
  ) throws(MuxerError) -> Muxer {
    let tracks = sound.enumerated().map { SoundTrack(format: $1.0, name: "Microphone \($0)") }
    var muxer = try Muxer(
      container, withPictures ? Self.description : nil, sound: tracks, output: output)
    var done = sound.map { _ in 0 }
    let gap = Int64(container.ticksPerSecond) / 25
    for frame in 0...seconds * 25 {
      for (track, (format, bytes)) in sound.enumerated() {
        let end = format.rate * frame / 25 * format.sampleBytes
        try muxer.write(audio: Array(bytes[done[track]..<end]).span, track: track)
        done[track] = end
      }
      if withPictures, frame < seconds * 25 {
        try muxer.write(image.span, tick: Int64(frame) * gap, gap: gap)
      }
    }
    return muxer
  }

  /// Judges have all numbers, rates and channels.
  static let formats = [
    PCMFormat(number: .s16, rate: 48_000, channels: 2),
    PCMFormat(number: .s24, rate: 11_025, channels: 3),
    PCMFormat(number: .f32, rate: 47_999, channels: 1),
    PCMFormat(number: .s32, rate: 96_000, channels: 1),
  ]

  @Test(arguments: containers, formats)
  func everySampleComesBack(container: MovieContainer, format: PCMFormat) throws {
    let output = MemoryOutput()
    let bytes = Self.noise(format, samples: format.rate * 3)
    var muxer = try write(container, seconds: 3, [(format, bytes)], to: output)
    try muxer.finish(nominalTicks: nil)
    expectEqual(muxer.durableSamples(ofTrack: 0), UInt64(format.rate * 3))
    let path = try files.write("sound.\(container.rawValue)", output.bytes)
    try expectEqual(decoded(path, format), bytes)
    try expectEqual(Tool.probe(path, "packet=pts").count, 75)
    try expectEqual(Tool.probe(path, "stream=channels", "a:0"), ["\(format.channels)"])
    try expectEqual(Tool.probe(path, "stream=start_time", "a:0"), ["0.000000"])
  }

  @Test(arguments: containers) func tracksAreApart(container: MovieContainer) throws {
    let output = MemoryOutput()
    let sound = Self.formats.map { ($0, Self.noise($0, samples: $0.rate * 3)) }
    var muxer = try write(container, seconds: 3, sound, to: output)
    try muxer.finish(nominalTicks: nil)
    let path = try files.write("tracks.\(container.rawValue)", output.bytes)
    for (track, (format, bytes)) in sound.enumerated() {
      try expectEqual(decoded(path, format, track: track), bytes)
      let name = container == .mkv ? "title" : "handler_name"
      try expectEqual(
        Tool.probe(path, "stream_tags=\(name)", "a:\(track)"), ["Microphone \(track)"])
    }
  }

  @Test(arguments: containers) func soundAlone(container: MovieContainer) throws {
    let output = MemoryOutput()
    let format = Self.formats[0]
    let bytes = Self.noise(format, samples: format.rate * 3)
    var muxer = try write(
      container, seconds: 3, [(format, bytes)], to: output, withPictures: false)
    expectGreater(muxer.durableSamples(ofTrack: 0), UInt64(format.rate * 19 / 10))
    try muxer.finish(nominalTicks: nil)
    let path = try files.write("alone.\(container.rawValue)", output.bytes)
    try expectEqual(decoded(path, format), bytes)
    try expectEqual(Tool.probe(path, "format=duration"), ["3.000000"])
  }

  /// Cut off after any step, sound and pictures go equally far, but within a fragment that is being written.
  @Test(arguments: containers) func eachStepIsInStep(container: MovieContainer) throws {
    let output = MemoryOutput()
    output.keepsSteps = true
    let format = Self.formats[0]
    let bytes = Self.noise(format, samples: format.rate * 4)
    var muxer = try write(container, seconds: 4, [(format, bytes)], to: output)
    try muxer.finish(nominalTicks: Int64(container.ticksPerSecond) / 25)
    var seen: Set<Int> = []
    for step in output.steps.dropFirst() {
      let path = try files.write("step.\(container.rawValue)", step)
      let frames = try Tool.probe(path, "packet=pts").count
      guard frames > 0 else { continue }
      let sound = try decoded(path, format)
      expectEqual(sound, Array(bytes[..<sound.count]))
      let samples = sound.count / format.sampleBytes
      // A picture is 1920 samples; MKV keeps up to two blocks of 960 for the next fragment.
      expectTrue(((frames - 25) * 1920 - 3840...(frames + 1) * 1920).contains(samples))
      if samples >= frames * 1920 - 3840 { seen.insert(frames) }
    }
    expectTrue(seen.isSuperset(of: [25, 50, 75, 100]))
  }

  /// What `durableSamples` says is in the file up to `durableEnd`.
  @Test(arguments: containers) func vouchesForSamplesThatTheDiskTook(container: MovieContainer)
    throws
  {
    let output = MemoryOutput()
    let format = Self.formats[0]
    let bytes = Self.noise(format, samples: format.rate * 4)
    let muxer = try write(container, seconds: 4, [(format, bytes)], to: output)
    let (samples, end) = (muxer.durableSamples(ofTrack: 0), muxer.durableEnd)
    let path = try files.write(
      "part.\(container.rawValue)", Array(output.bytes[..<Int(end)]))
    expectAtLeast(samples, UInt64(format.rate) * 29 / 10)
    try expectEqual(decoded(path, format), Array(bytes[..<(Int(samples) * format.sampleBytes)]))
  }

  /// The sound of a microphone that begins late comes a fragment or more behind its pictures, and a camera
  /// that stalls leaves sound alone.
  @Test(arguments: containers) func tracksNeedNotAdvanceTogether(container: MovieContainer) throws {
    let output = MemoryOutput()
    let format = Self.formats[0]
    let bytes = Self.noise(format, samples: format.rate * 9)
    var muxer = try Muxer(
      container, Self.description, sound: [SoundTrack(format: format)], output: output)
    let gap = Int64(container.ticksPerSecond) / 25
    for frame in 0..<75 { try muxer.write(image.span, tick: Int64(frame) * gap, gap: gap) }
    try muxer.write(audio: bytes.span, track: 0)
    try muxer.write(image.span, tick: 224 * gap, gap: gap)
    try muxer.finish(nominalTicks: gap)
    let path = try files.write("apart.\(container.rawValue)", output.bytes)
    try expectEqual(decoded(path, format), bytes)
    let ticks = (0..<Int64(75)).map { "\($0 * gap)" } + ["\(224 * gap)"]
    try expectEqual(Tool.probe(path, "packet=pts"), ticks)
    try expectEqual(Tool.probe(path, "format=duration"), ["9.000000"])
  }

  /// Pieces of any length make the same file.
  @Test(arguments: containers) func theLengthOfWritesDoesNotShow(container: MovieContainer) throws {
    let format = PCMFormat(number: .s24, rate: 11_025, channels: 1)
    let bytes = Self.noise(format, samples: 30_000)
    var files: [[UInt8]] = []
    for length in [1, 220, 221, 4001, 30_000] {
      let output = MemoryOutput()
      var muxer = try Muxer(
        container, nil, sound: [SoundTrack(format: format)], output: output)
      for start in stride(from: 0, to: 30_000, by: length) {
        let end = min(start + length, 30_000)
        try muxer.write(audio: Array(bytes[start * 3..<end * 3]).span, track: 0)
      }
      try muxer.finish(nominalTicks: nil)
      files.append(output.bytes)
    }
    if container == .mov {
      expectTrue(files.allSatisfy { $0 == files[0] })
    } else {
      // Each has a random identity.
      expectTrue(files.allSatisfy { $0.count == files[0].count })
    }
  }
}
