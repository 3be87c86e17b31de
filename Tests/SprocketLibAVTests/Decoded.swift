import Foundation
import SprocketLibAV
import SprocketPixels
import TestSupport

extension Scratch {
  /// A test picture with 12 frames a second, of any size; `arguments` are ffmpeg's for the output.
  func make(
    _ name: String, size: String = "53x37", frames: Int = 8, _ arguments: [String]
  ) throws -> String {
    let scale = ["-vf", "scale=" + size.replacingOccurrences(of: "x", with: ":")]
    return try make(name, size: "128x96", rate: 12, frames: frames, scale + arguments)
  }
}

/// What a whole file decodes to.
struct Decoded {
  var frames: [[UInt8]] = []
  var times: [Int64] = []
  var formats: Set<PixelFormat> = []
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
