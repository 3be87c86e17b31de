import SprocketPixels
import TestSupport

/// A plane of a test: rows of `width` bytes, `padding` bytes apart, which must stay as they are.
struct TestPlane {
  let width: Int
  let height: Int
  let stride: Int
  let buffer: TestBuffer

  /// Filled with a pattern; the padding holds 0xEE.
  init(
    _ width: Int, _ height: Int, _ pattern: TestPattern? = nil, seed: UInt64 = 1, padding: Int = 5
  ) {
    self.width = width
    self.height = height
    stride = width + padding
    // The last row has no padding: a step beyond it is a step out of the memory.
    var bytes = [UInt8](repeating: 0xEE, count: stride * (height - 1) + width)
    if let pattern {
      let contents = pattern.bytes(width * height, seed: seed)
      for row in 0..<height {
        for column in 0..<width { bytes[row * stride + column] = contents[row * width + column] }
      }
    }
    buffer = TestBuffer(bytes)
  }

  var source: PlaneBytes {
    unsafe PlaneBytes(UnsafeBufferPointer(buffer.memory), stride: stride)
  }

  var target: MutablePlaneBytes { unsafe MutablePlaneBytes(buffer.memory, stride: stride) }

  subscript(column: Int, row: Int) -> Int { unsafe Int(buffer.memory[row * stride + column]) }

  func set(_ column: Int, _ row: Int, _ value: UInt8) {
    unsafe buffer.memory[row * stride + column] = value
  }

  /// Rows without padding.
  var rows: [[Int]] {
    (0..<height).map { row in (0..<width).map { column in self[column, row] } }
  }

  /// Whether nothing was written between rows.
  var isPaddingIntact: Bool {
    (0..<height - 1).allSatisfy { row in
      (width..<stride).allSatisfy { column in self[column, row] == 0xEE }
    }
  }

  /// The plane that `value` describes.
  static func expected(_ width: Int, _ height: Int, _ value: (Int, Int) -> Int) -> [[Int]] {
    (0..<height).map { row in (0..<width).map { column in value(column, row) } }
  }
}

/// Sizes around the widths of vectors, odd and even.
let sizes = [(1, 1), (2, 2), (7, 5), (16, 4), (33, 9), (64, 8), (131, 17), (319, 6), (640, 3)]
