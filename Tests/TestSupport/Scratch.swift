public import Foundation

/// A temporary folder that is removed when this value is released, and files that ffmpeg makes in it.
public final class Scratch {
  public let url = FileManager.default.temporaryDirectory
    .appendingPathComponent("sprocket-" + UUID().uuidString)

  public init() throws {
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: url) }

  public func path(_ name: String) -> String { url.appendingPathComponent(name).path }

  public func bytes(_ name: String) throws -> [UInt8] { try Self.bytes(path(name)) }

  public func text(_ name: String) throws -> String {
    String(decoding: try bytes(name), as: UTF8.self)
  }

  /// A file with these bytes; returns its path.
  public func write(_ name: String, _ bytes: [UInt8]) throws -> String {
    try Data(bytes).write(to: url.appendingPathComponent(name))
    return path(name)
  }

  /// A moving test picture; `arguments` are ffmpeg's for the output. Returns its path.
  public func make(
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

  public static func bytes(_ path: String) throws -> [UInt8] {
    [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
  }
}

extension Tool {
  public static let hasFFmpeg = find("ffmpeg") != nil && find("ffprobe") != nil

  /// ffprobe's output about a stream, line by line.
  public static func probe(
    _ path: String, _ entries: String, _ stream: String = "v:0", _ more: [String] = []
  ) throws -> [String] {
    let printed = try run(
      "ffprobe",
      ["-v", "quiet"] + more + [
        "-select_streams", stream, "-show_entries", entries, "-of", "csv=p=0", path,
      ])
    return String(decoding: printed, as: UTF8.self).split(whereSeparator: \.isNewline)
      .map { $0.trimmingCharacters(in: CharacterSet(charactersIn: ", ")) }.filter { !$0.isEmpty }
  }
}
