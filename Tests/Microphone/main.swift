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

/// What the command line asks for.
struct Wish {
  let name: String
  let out: FileHandle
  let samples: Int
  var settings = MicrophoneSettings()
  var controls: [(name: String, value: String)] = []
  var pause: (block: Int, milliseconds: Int) = (0, 0)

  init(_ arguments: [String]) throws {
    guard arguments.count >= 3, let samples = Int(arguments[2]),
      FileManager.default.fileExists(atPath: arguments[1])
        || FileManager.default.createFile(atPath: arguments[1], contents: nil),
      let out = FileHandle(forWritingAtPath: arguments[1])
    else { throw RunError(.usage, "give NAME OUT SAMPLES [KEY=VALUE]...") }
    (name, self.out, self.samples) = (arguments[0], out, samples)
    for pair in arguments.dropFirst(3) {
      let (key, value) = (pair.prefix { $0 != "=" }, pair.drop { $0 != "=" }.dropFirst())
      if key == "pause" {
        let parts = value.split(separator: "/").compactMap { Int($0) }
        pause = (parts[0], parts[1])
      } else if key.hasPrefix("control.") {
        controls.append((String(key.dropFirst(8)), String(value)))
      } else if let setting = MicrophoneSettings.settings.first(where: { $0.name == key }) {
        try setting.apply(String(value), to: &settings)
      } else {
        throw RunError(.usage, "there is no setting `\(key)`")
      }
    }
  }
}

func listen(_ wish: Wish, to source: MicrophoneSource) throws {
  let description = try source.open()
  for control in wish.controls {
    if let note = try description.controls?.set(control.name, to: control.value) {
      say(["note", note])
    }
  }
  let format = description.format
  say([
    "\(format.number)", "\(format.rate)", "\(format.channels)", "\(description.blockSamples)",
    description.setup ?? "", description.note.map { "(\($0))" } ?? "",
  ])
  var block = [UInt8](repeating: 0, count: description.blockSamples * format.sampleBytes)
  var (first, blocks, written) = (UInt64(0), 0, 0)
  while written < wish.samples {
    var span = block.mutableSpan
    let before = sprocket_allocation_count()
    let arrival = try source.read(into: &span, timeout: 100_000_000)
    let allocations = sprocket_allocation_count() - before
    if case .end = arrival { break }
    guard case .block(let found) = arrival, case .status(let ahead, let time) = found.timing else {
      continue
    }
    first += found.missing
    say([
      "\(first)", "\(found.count)", "\(found.missing)", found.isRestarted ? "1" : "0", "\(ahead)",
      "\(time)", "\(monotonicNow())", "\(allocations)",
    ])
    first += UInt64(found.count)
    let count = min(found.count, wish.samples - written)
    wish.out.write(Data(block[..<(count * format.sampleBytes)]))
    written += count
    blocks += 1
    if blocks == wish.pause.block {
      Thread.sleep(forTimeInterval: Double(wish.pause.milliseconds) / 1000)
    }
  }
  try? source.close()
  for note in source.notes { say(["note", note]) }
}

/// SIGINT ends it as it does a run.
func listen(_ wish: Wish) throws {
  let source = MicrophoneSource(name: wish.name, wish.settings)
  signal(SIGINT, SIG_IGN)
  let interrupts = DispatchSource.makeSignalSource(signal: SIGINT, queue: .global())
  nonisolated(unsafe) let interrupted = source
  interrupts.setEventHandler { unsafe interrupted.interrupt() }
  interrupts.resume()
  defer { interrupts.cancel() }
  try listen(wish, to: source)
}

do {
  try listen(Wish(Array(CommandLine.arguments.dropFirst())))
} catch {
  say(["\(error)"], to: .standardError)
  exit(1)
}
