internal import Glibc
internal import SprocketJPEG
internal import SprocketPixels

/// Copies of a picture's planes in the layout that the JPEG encoder needs. A plane that already has
/// this layout is not copied.
///
/// If the width or height of luma is not a multiple of the chroma subsampling factor, the last column and
/// row are repeated, so that the padding does not change the edge of the picture. If `expands` is true,
/// limited range becomes full range: luma `round((y - 16) * 255 / 219)`, chroma `round((c - 128) * 255 /
/// 224) + 128`, both clamped (ITU-R BT.601 and JFIF). Samples of more than 8 bits, little-endian words, are
/// rounded to 8 in the same step; of full range `v * 255 / (2^bits - 1)`, and for chroma the same from its
/// middle.
///
/// This is a class because of a defect of Swift 6.3.1. Release builds release the arrays of a
/// noncopyable structure with a throwing initializer once too often if a class stores the
/// structure.
@safe
final class PlaneCopies {
  private struct Shape {
    /// Sizes of the picture's plane, and of the padded plane that the encoder reads.
    let width, height, paddedWidth, paddedHeight: Int
    var isPadded: Bool { width != paddedWidth || height != paddedHeight }
    var byteCount: Int { paddedWidth * paddedHeight }
  }

  private let shapes: [Shape]
  /// Samples of the source are words.
  private let isDeep: Bool
  /// Samples are converted with the tables, which are indexed by the source's sample value.
  private let converts: Bool
  private let luma: [UInt8]
  private let chroma: [UInt8]
  private let memory: UnsafeMutablePointer<UInt8>

  /// Throws where there is no memory.
  static func make(
    _ subsampling: ChromaSubsampling, width: Int, height: Int, bits: Int, expands: Bool
  ) throws(JPEGError) -> PlaneCopies {
    let needed = byteCount(
      subsampling, width: width, height: height, bits: bits, expands: expands)
    guard let memory = unsafe pictureMemory(needed) else { throw .outOfMemory }
    return unsafe PlaneCopies(
      shapes(subsampling, width: width, height: height), bits: bits, expands: expands, memory)
  }

  private init(
    _ shapes: [Shape], bits: Int, expands: Bool, _ memory: UnsafeMutablePointer<UInt8>
  ) {
    self.shapes = shapes
    isDeep = bits > 8
    converts = expands || isDeep
    let one = 1 << (bits - 8)
    let samples = 0..<(converts ? 256 * one : 0)
    luma = samples.map {
      UInt8(
        clamping: expands ? Self.scaled($0 - 16 * one, 219 * one) : Self.scaled($0, 256 * one - 1))
    }
    chroma = samples.map {
      UInt8(
        clamping: 128 + Self.scaled($0 - 128 * one, expands ? 224 * one : 256 * one - 1))
    }
    unsafe self.memory = unsafe memory
  }

  deinit { unsafe free(memory) }

  /// Bytes that such copies take.
  static func byteCount(
    _ subsampling: ChromaSubsampling, width: Int, height: Int, bits: Int, expands: Bool
  ) -> Int {
    let converts = expands || bits > 8
    return shapes(subsampling, width: width, height: height).reduce(0) {
      $0 + (converts || $1.isPadded ? $1.byteCount : 0)
    }
  }

  private static func shapes(_ subsampling: ChromaSubsampling, width: Int, height: Int) -> [Shape] {
    (0..<subsampling.planeCount).map { plane in
      let paddedWidth = subsampling.planeWidth(plane, imageWidth: width)
      let paddedHeight = subsampling.planeHeight(plane, imageHeight: height)
      return Shape(
        width: plane == 0 ? width : paddedWidth, height: plane == 0 ? height : paddedHeight,
        paddedWidth: paddedWidth, paddedHeight: paddedHeight)
    }
  }

  /// `value * 255 / range`, rounded to nearest.
  private static func scaled(_ value: Int, _ range: Int) -> Int {
    (2 * 255 * abs(value) + range) / (2 * range) * value.signum()
  }

  /// `plane` itself if it needs no copy.
  func prepared(_ index: Int, _ plane: PlaneBytes) -> PlaneBytes {
    let shape = shapes[index]
    guard converts || shape.isPadded else { return plane }
    var start = 0
    for other in 0..<index where converts || shapes[other].isPadded {
      start += shapes[other].byteCount
    }
    let target = unsafe UnsafeMutableBufferPointer(
      start: memory + start, count: shape.byteCount)
    let rowBytes = isDeep ? 2 * shape.width : shape.width
    plane.forEachRow(width: rowBytes, height: shape.height) { source, row in
      let to = unsafe target.baseAddress.unsafelyUnwrapped + row * shape.paddedWidth
      var span = unsafe MutableSpan(_unsafeStart: to, count: shape.paddedWidth)
      fill(&span, from: source, isLuma: index == 0)
    }
    for row in shape.height..<shape.paddedHeight {
      let to = unsafe memory + start + row * shape.paddedWidth
      unsafe to.update(from: to - shape.paddedWidth, count: shape.paddedWidth)
    }
    return unsafe PlaneBytes(UnsafeBufferPointer(target), stride: shape.paddedWidth)
  }

  private func fill(
    _ row: inout MutableSpan<UInt8>, from source: Span<UInt8>, isLuma: Bool
  ) {
    let count = isDeep ? source.count / 2 : source.count
    let levels = isLuma ? luma : chroma
    let table = levels.span
    if isDeep {
      // A damaged file may contain words above the largest sample value; they are clamped to it.
      for x in 0..<count {
        let word = Int(source[2 * x]) | Int(source[2 * x + 1]) << 8
        row[x] = table[min(word, table.count - 1)]
      }
    } else if converts {
      for x in 0..<count { row[x] = table[Int(source[x])] }
    } else {
      for x in 0..<count { row[x] = source[x] }
    }
    for x in count..<row.count { row[x] = row[count - 1] }
  }
}

/// Memory for a picture, to be given back with `free`; `nil` where the system has none left.
/// `UnsafeMutablePointer.allocate` would trap.
func pictureMemory(_ byteCount: Int) -> UnsafeMutablePointer<UInt8>? {
  unsafe malloc(max(byteCount, 1))?.assumingMemoryBound(to: UInt8.self)
}
