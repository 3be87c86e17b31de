// Reads a microphone, for Tests/Lab/test_microphones.py:
//
//     SprocketMicrophone NAME OUT SAMPLES [pause=BLOCK/MILLISECONDS] [control.NAME=VALUE]... [KEY=VALUE]...
//
// writes SAMPLES samples to the file OUT, and to standard output a line for the format, then one for each
// block as it comes: its first sample's number, count, missing before it, restarted, samples ahead and time of
// its status, when it was read, and allocations meanwhile. `pause` rests after a block. At the end it says the
// notes.

import CSprocketAllocations
import Foundation
import Sprocket

func say(_ words: [String], to file: FileHandle = .standardOutput) {
  file.write(Data("\(words.joined(separator: " "))\n".utf8))
}

func listen(_ arguments: [String]) throws {
  guard arguments.count >= 3, let wanted = Int(arguments[2]) else {
    throw RunError(.usage, "give NAME OUT SAMPLES [KEY=VALUE]...")
  }
  var settings = MicrophoneSettings()
  var pause: (block: Int, milliseconds: Int)?
  var controls: [(name: String, value: String)] = []
  for pair in arguments.dropFirst(3) {
    let (key, value) = (pair.prefix { $0 != "=" }, pair.drop { $0 != "=" }.dropFirst())
    if key == "pause" {
      let parts = value.split(separator: "/").compactMap { Int($0) }
      pause = (parts[0], parts[1])
    } else if key.hasPrefix("control.") {
      controls.append((String(key.dropFirst(8)), String(value)))
    } else if let setting = MicrophoneSettings.settings.first(where: { $0.name == key }) {
      try setting.apply(String(value), to: &settings)
    }
  }
  let source = MicrophoneSource(name: arguments[0], settings)
  let description = try source.open()
  for control in controls {
    if let note = try source.set(control.name, to: control.value) { say(["note", note]) }
  }
  let format = description.format
  say([
    "\(format.number)", "\(format.rate)", "\(format.channels)", "\(description.blockSamples)",
    description.setup ?? "", description.note.map { "(\($0))" } ?? "",
  ])
  var block = [UInt8](repeating: 0, count: description.blockSamples * format.sampleBytes)
  var sound: [UInt8] = []
  sound.reserveCapacity(wanted * format.sampleBytes + block.count)
  var (first, blocks) = (UInt64(0), 0)
  reading: while sound.count < wanted * format.sampleBytes {
    var span = block.mutableSpan
    let before = sprocket_allocation_count()
    let arrival = try source.read(into: &span, timeout: 100_000_000)
    let allocations = sprocket_allocation_count() - before
    switch arrival {
    case .nothing: continue
    case .end: break reading
    case .block(let found):
      guard case .status(let ahead, let time) = found.timing else { continue }
      first += found.missing
      say([
        "\(first)", "\(found.count)", "\(found.missing)", found.isRestarted ? "1" : "0", "\(ahead)",
        "\(time)", "\(monotonicNow())", "\(allocations)",
      ])
      first += UInt64(found.count)
      sound += block[..<(found.count * format.sampleBytes)]
      blocks += 1
      if let pause, blocks == pause.block {
        Thread.sleep(forTimeInterval: Double(pause.milliseconds) / 1000)
      }
    }
  }
  source.close()
  try Data(sound.prefix(wanted * format.sampleBytes)).write(to: URL(fileURLWithPath: arguments[1]))
  for note in source.notes { say(["note", note]) }
}

do {
  try listen(Array(CommandLine.arguments.dropFirst()))
} catch {
  say(["\(error)"], to: .standardError)
  exit(1)
}
