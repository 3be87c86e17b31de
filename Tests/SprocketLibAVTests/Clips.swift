import Foundation
import SprocketLibAV
import TestSupport

/// Short movies that ffmpeg makes for a test, in a folder that goes with this value.
final class Clips {
  let folder: URL

  init() throws {
    folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("sprocket-clips-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  func path(_ name: String) -> String { folder.appendingPathComponent(name).path }

  /// A test picture with 12 frames a second; `arguments` are ffmpeg's for the output.
  func make(
    _ name: String, size: String = "53x37", frames: Int = 8, _ arguments: [String]
  ) throws -> String {
    _ = try Tool.run(
      "ffmpeg",
      [
        "-v", "quiet", "-f", "lavfi", "-i", "testsrc2=size=128x96:rate=12", "-frames:v",
        "\(frames)", "-vf", "scale=" + size.replacingOccurrences(of: "x", with: ":"),
      ] + arguments + ["-y", path(name)])
    return path(name)
  }

  /// A file with these bytes.
  func write(_ name: String, _ bytes: [UInt8]) throws -> String {
    try Data(bytes).write(to: folder.appendingPathComponent(name))
    return path(name)
  }

  static func bytes(_ path: String) throws -> [UInt8] {
    [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
  }
}

/// What a whole file decodes to.
struct Decoded {
  var frames: [[UInt8]] = []
  var times: [Int64] = []
  var formats: Set<MediaPixelFormat> = []
  var colors: [MediaColor] = []
  var corruptFrames = 0
  var corruptUnits = 0
  var failure: MediaError?

  /// Reads all frames; pixels are kept without padding, if wanted.
  init(_ path: String, threadCount: Int = 0, keepsPixels: Bool = true) throws {
    var reader = try MediaReader(path: path, threadCount: threadCount)
    var isAtEnd = false
    while !isAtEnd {
      do throws(MediaError) {
        switch try reader.nextFrame() {
        case .frame(let frame):
          times.append(frame.timeNanoseconds)
          formats.insert(frame.format)
          colors.append(frame.color)
          corruptFrames += frame.isCorrupt ? 1 : 0
          if keepsPixels { frames.append(pixels(frame)) }
        case .corrupt: corruptUnits += 1
        case .end: isAtEnd = true
        }
      } catch {
        failure = error
        isAtEnd = true
      }
    }
  }
}

/// A frame's planes, one after the other, without padding.
func pixels(_ frame: borrowing DecodedFrame) -> [UInt8] {
  var bytes: [UInt8] = []
  for index in 0..<frame.format.planeCount {
    let plane = unsafe frame.plane(index)
    for row in 0..<(unsafe plane.rows) {
      unsafe bytes.append(
        contentsOf: UnsafeBufferPointer(
          start: plane.base + row * plane.stride, count: plane.bytesPerRow))
    }
  }
  return bytes
}

/// Numbers that ffprobe prints, one per line.
func probe(_ path: String, _ entries: String, stream: Int = 0) throws -> [String] {
  let printed = try Tool.run(
    "ffprobe",
    [
      "-v", "quiet", "-select_streams", "\(stream)", "-show_entries", entries, "-of", "csv=p=0",
      path,
    ])
  return String(decoding: printed, as: UTF8.self).split(whereSeparator: \.isNewline)
    .map { $0.trimmingCharacters(in: CharacterSet(charactersIn: ", ")) }.filter { !$0.isEmpty }
}

/// What `ffmpeg` decodes a file to.
func decodeWithFFmpeg(_ path: String, _ pixelFormat: String) throws -> [UInt8] {
  try Tool.run(
    "ffmpeg",
    [
      "-v", "quiet", "-i", path, "-map", "0:v", "-vsync", "passthrough", "-pix_fmt", pixelFormat,
      "-sws_flags",
      "bicubic+accurate_rnd+full_chroma_int", "-f", "rawvideo", "-",
    ])
}

let hasFFmpeg = Tool.find("ffmpeg") != nil && Tool.find("ffprobe") != nil
