// Writes and reads files with sound for Tests/Judges/test_sound_files.py, which gives it raw samples:
//
//   SprocketSound movie OUT finish|leave STILL RATE SECONDS LATE [NUMBER:RATE:CHANNELS:RAW ...]
//   SprocketSound alone OUT finish|leave NUMBER:RATE:CHANNELS:RAW
//   SprocketSound read FILE OUT [SETTING=VALUE ...]
//
// A movie shows one JPEG image RATE times a second; its sound is handed over LATE seconds behind pictures.
// What is left is as a process leaves it that is killed. `read` plays a file's sound, and says of each block
// its samples, what is missing before, and its time.

import Foundation
import SprocketCore
import SprocketLibAV
import SprocketSinks
import SprocketSources

struct Track {
  let format: PCMFormat
  let bytes: [UInt8]
  var done = 0

  init(_ text: String) throws {
    let parts = text.split(separator: ":", maxSplits: 3).map(String.init)
    format = PCMFormat(
      number: PCMFormat.Number(rawValue: parts[0])!, rate: Int(parts[1])!,
      channels: Int(parts[2])!)
    bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: parts[3])))
  }

  /// The place of the samples up to a time that were not taken before.
  mutating func take(until seconds: Double) -> Range<Int> {
    let samples = Int(max(seconds, 0) * Double(format.rate) + 0.5)
    let end = max(min(samples * format.sampleBytes, bytes.count), done)
    defer { done = end }
    return done..<end
  }
}

/// A file on the disk.
final class FileOutput: MuxerOutput {
  private let descriptor: Int32

  init(_ path: String) {
    descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o644)
  }

  deinit { close(descriptor) }

  func write(_ bytes: Span<UInt8>, at offset: Int64) -> Bool {
    unsafe bytes.withUnsafeBytes {
      unsafe pwrite(descriptor, $0.baseAddress, $0.count, Int(offset)) == $0.count
    }
  }

  func sync() -> Bool { fsync(descriptor) == 0 }
}

func movie(_ arguments: [String]) throws {
  let container = MovieContainer(path: arguments[0])!
  let image = [UInt8](try Data(contentsOf: URL(fileURLWithPath: arguments[2])))
  let (rate, seconds, late) = (
    Double(arguments[3])!, Double(arguments[4])!, Double(arguments[5])!
  )
  var tracks = try arguments.dropFirst(6).map { try Track($0) }
  let description = MovieDescription(
    width: 64, height: 48, rate: MediaRational(Int(rate * 1000), 1000), range: .full,
    matrix: .bt601, transfer: .unspecified, isGray: false)
  let sound = tracks.enumerated().map {
    SoundTrack(format: $1.format, name: "Microphone \($0 + 1)")
  }
  let output = FileOutput(arguments[0])
  var muxer = try Muxer(
    container, image.isEmpty ? nil : description, sound: sound, output: output)
  func writeSound(until time: Double) throws {
    for index in tracks.indices {
      let range = tracks[index].take(until: time)
      let bytes = tracks[index].bytes
      try muxer.write(audio: bytes.span.extracting(range), track: index)
    }
  }
  let ticks = Double(container.ticksPerSecond)
  for frame in 0..<Int(seconds * rate) {
    try writeSound(until: Double(frame) / rate - late)
    if !image.isEmpty {
      let tick = Int64((Double(frame) / rate * ticks).rounded())
      try muxer.write(image.span, tick: tick, gap: Int64(ticks / rate))
    }
  }
  guard arguments[1] == "finish" else { return }
  try writeSound(until: seconds)
  try muxer.finish(nominalTicks: Int64(ticks / rate))
}

func alone(_ arguments: [String]) throws {
  var track = try Track(arguments[2])
  let format = AudioFormat(
    number: AudioFormat.Number(rawValue: track.format.number.rawValue)!, rate: track.format.rate,
    channels: track.format.channels)
  let writer = try AudioFileWriter(path: arguments[0], overwrite: false, isMadeUp: false)
  try writer.begin(format, microphone: "Microphone", tags: [("captured_ns", "1")])
  var time = 0.0
  while track.done < track.bytes.count {
    time += 0.011
    let range = track.take(until: time)
    try writer.write(track.bytes.span.extracting(range))
  }
  if arguments[1] == "finish" { try writer.finish() }
}

func read(_ arguments: [String]) throws {
  var settings = FileSettings()
  var stream: Int?
  for argument in arguments.dropFirst(2) {
    let parts = argument.split(separator: "=").map(String.init)
    if parts[0] == "stream" {
      stream = Int(parts[1])
    } else {
      try FileSettings.settings.first { $0.name == parts[0] }!.apply(parts[1], to: &settings)
    }
  }
  let source = FileAudioSource(path: arguments[0], stream: stream, settings)
  let description = try source.open()
  let format = description.format
  print(format.number.rawValue, format.rate, format.channels, description.setup ?? "")
  var bytes = [UInt8](repeating: 0, count: description.blockSamples * format.sampleBytes)
  var found = Data()
  loop: while true {
    var span = bytes.mutableSpan
    switch try source.read(into: &span, timeout: 1_000_000_000) {
    case .nothing: continue
    case .end: break loop
    case .block(let block):
      guard case .exact(let time) = block.timing else { break }
      print(block.count, block.missing, block.isRestarted ? 1 : 0, time)
      found.append(contentsOf: bytes[..<(block.count * format.sampleBytes)])
    }
  }
  source.close()
  for note in source.notes { print(note) }
  try found.write(to: URL(fileURLWithPath: arguments[1]))
}

let arguments = Array(CommandLine.arguments.dropFirst(2))
do {
  switch CommandLine.arguments[1] {
  case "movie": try movie(arguments)
  case "alone": try alone(arguments)
  default: try read(arguments)
  }
} catch {
  print(error)
  exit(2)
}
