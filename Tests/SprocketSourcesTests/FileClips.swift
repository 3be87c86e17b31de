import Foundation
import SprocketCodecs
import SprocketCore
import SprocketSources
import TestSupport

/// Files that ffmpeg makes for a test, in a folder that goes with this value.
final class FileClips {
  let folder: URL

  init() throws {
    folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("sprocket-files-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  func path(_ name: String) -> String { folder.appendingPathComponent(name).path }

  /// A moving test picture; `arguments` are ffmpeg's for the output.
  func make(
    _ name: String, size: String = "64x48", rate: Int = 25, frames: Int = 10, _ arguments: [String]
  ) throws -> String {
    _ = try Tool.run(
      "ffmpeg",
      [
        "-v", "quiet", "-f", "lavfi", "-i", "testsrc2=size=\(size):rate=\(rate)", "-frames:v",
        "\(frames)",
      ] + arguments + ["-y", path(name)])
    return path(name)
  }

  func write(_ name: String, _ bytes: [UInt8]) throws -> String {
    try Data(bytes).write(to: folder.appendingPathComponent(name))
    return path(name)
  }

  static func bytes(_ path: String) throws -> [UInt8] {
    [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
  }
}

/// A whole file, as the engine would see it.
struct Played {
  struct Frame {
    var announced: ArrivedFrame
    var format: FrameFormat
    var byteCount: Int
  }

  var description: SourceDescription
  var frames: [Frame] = []
  /// Index of the first frame of each epoch but the first.
  var epochs: [Int] = []

  /// Plays `path`; `look` gets each frame that is not corrupt, as it lies in its slot.
  init(
    _ path: String, _ settings: FileSettings = FileSettings(), limit: Int = .max,
    look: (Int, FrameFormat, TestSlot) throws -> Void = { _, _, _ in }
  ) throws {
    let source = FileSource(path: path, settings)
    description = try source.open()
    defer { source.close() }
    var format = description.format
    while frames.count < limit {
      switch try source.next(timeout: 1_000_000_000) {
      case .nothing: continue
      case .end: return
      case .epoch(let new, let reason):
        precondition(reason == .formatChange)
        format = new.format
        epochs.append(frames.count)
      case .frame(let frame):
        let slot = TestSlot()
        let count = slot.take(source, format)
        frames.append(Frame(announced: frame, format: format, byteCount: count))
        if !frame.isCorrupt { try look(frames.count - 1, format, slot) }
        slot.giveBack(to: source)
      }
    }
  }

  var times: [Int64] { frames.map(\.announced.captured.nanoseconds) }
  var corrupt: [Int] { frames.indices.filter { frames[$0].announced.isCorrupt } }
}

/// Full luma of a frame as the unpacker makes it.
func unpackedLuma(_ slot: TestSlot, _ format: FrameFormat) -> [[UInt8]]? {
  let unpacker = FrameUnpacker()
  let plan = unpacker.prepare(format: format, parts: .luma(.full))
  slot.addMemory(format, parts: .luma(.full), plan)
  return slot.unpack(with: unpacker) ? slot.lumaRows(.full) : nil
}

/// What ffprobe says of a stream, line by line.
func probe(
  _ path: String, _ entries: String, _ stream: String = "v:0", _ more: [String] = []
) throws -> [String] {
  let printed = try Tool.run(
    "ffprobe",
    ["-v", "quiet"] + more + [
      "-select_streams", stream, "-show_entries", entries, "-of", "csv=p=0", path,
    ])
  return String(decoding: printed, as: UTF8.self).split(whereSeparator: \.isNewline)
    .map { $0.trimmingCharacters(in: CharacterSet(charactersIn: ", ")) }.filter { !$0.isEmpty }
}

let hasFFmpeg = Tool.find("ffmpeg") != nil && Tool.find("ffprobe") != nil
