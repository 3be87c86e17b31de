// Reads a microphone, for Tests/Lab/test_microphones.py:
//
//     SprocketMicrophone NAME OUT SAMPLES [pause=BLOCK/MS] [control.NAME=VALUE]... [KEY=VALUE]...
//
// writes SAMPLES samples, or those until SIGINT, to the file OUT as they come. It says the format, then for
// each block: its first sample's number, count, missing before it, restarted, samples ahead and time of its
// status, when it was read, and allocations meanwhile. `pause` rests for MS milliseconds after a block. At
// the end it says the notes.

import CSprocketAllocations
import Dispatch
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
  signal(SIGINT, SIG_IGN)
  let interrupts = DispatchSource.makeSignalSource(signal: SIGINT, queue: .global())
  nonisolated(unsafe) let interrupted = source
  interrupts.setEventHandler { unsafe interrupted.interrupt() }
  interrupts.resume()
  defer { interrupts.cancel() }
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
  guard FileManager.default.createFile(atPath: arguments[1], contents: nil),
    let out = FileHandle(forWritingAtPath: arguments[1])
  else { throw RunError(.usage, "\(arguments[1]) cannot be written") }
  var (first, blocks, written) = (UInt64(0), 0, 0)
  reading: while written < wanted {
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
      let count = min(found.count, wanted - written)
      out.write(Data(block[..<(count * format.sampleBytes)]))
      written += count
      blocks += 1
      if let pause, blocks == pause.block {
        Thread.sleep(forTimeInterval: Double(pause.milliseconds) / 1000)
      }
    }
  }
  source.close()
  for note in source.notes { say(["note", note]) }
}

do {
  try listen(Array(CommandLine.arguments.dropFirst()))
} catch {
  say(["\(error)"], to: .standardError)
  exit(1)
}
