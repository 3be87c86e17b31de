internal import SprocketJPEG

/// Planes as the JPEG encoder wants them, where a picture's own are not.
///
/// A width or height of luma that is no multiple of what shares a chroma sample is filled up by
/// repeating the last column and row, so that the edge of the picture stays what it was. Limited range
/// is expanded where `expands` says so: luma `round((y - 16) * 255 / 219)`, chroma
/// `round((c - 128) * 255 / 224) + 128`, both clamped (ITU-R BT.601 and JFIF).
@safe
struct PlaneCopies: ~Copyable {
  private struct Shape {
    /// Of the picture, and of the plane that the encoder reads.
    let width, height, paddedWidth, paddedHeight: Int
    var isPadded: Bool { width != paddedWidth || height != paddedHeight }
    var byteCount: Int { paddedWidth * paddedHeight }
  }

  private let shapes: [Shape]
  private let expands: Bool
  private let luma: [UInt8]
  private let chroma: [UInt8]
  private let memory: UnsafeMutablePointer<UInt8>

  init(_ subsampling: JPEGSubsampling, width: Int, height: Int, expands: Bool) {
    shapes = (0..<subsampling.planeCount).map { plane in
      let paddedWidth = subsampling.planeWidth(plane, imageWidth: width)
      let paddedHeight = subsampling.planeHeight(plane, imageHeight: height)
      return Shape(
        width: plane == 0 ? width : paddedWidth, height: plane == 0 ? height : paddedHeight,
        paddedWidth: paddedWidth, paddedHeight: paddedHeight)
    }
    self.expands = expands
    luma = (0..<256).map { UInt8(clamping: Self.scaled($0 - 16, 219)) }
    chroma = (0..<256).map { UInt8(clamping: Self.scaled($0 - 128, 224) + 128) }
    let needed = shapes.reduce(0) { $0 + (expands || $1.isPadded ? $1.byteCount : 0) }
    unsafe memory = .allocate(capacity: max(needed, 1))
  }

  deinit { unsafe memory.deallocate() }

  /// `value * 255 / range`, rounded to nearest.
  private static func scaled(_ value: Int, _ range: Int) -> Int {
    (2 * 255 * abs(value) + range) / (2 * range) * value.signum()
  }

  /// `plane` itself if it will do.
  func prepared(_ index: Int, _ plane: JPEGPlane) -> JPEGPlane {
    let shape = shapes[index]
    guard expands || shape.isPadded else { return plane }
    var start = 0
    for other in 0..<index where expands || shapes[other].isPadded {
      start += shapes[other].byteCount
    }
    let target = unsafe UnsafeMutableBufferPointer(
      start: memory + start, count: shape.byteCount)
    plane.copy(width: shape.width, height: shape.height) { source, row in
      let to = unsafe target.baseAddress.unsafelyUnwrapped + row * shape.paddedWidth
      var span = unsafe MutableSpan(_unsafeStart: to, count: shape.paddedWidth)
      fill(&span, from: source, isLuma: index == 0)
    }
    for row in shape.height..<shape.paddedHeight {
      let to = unsafe memory + start + row * shape.paddedWidth
      unsafe to.update(from: to - shape.paddedWidth, count: shape.paddedWidth)
    }
    return unsafe JPEGPlane(UnsafeBufferPointer(target), stride: shape.paddedWidth)
  }

  private func fill(
    _ row: inout MutableSpan<UInt8>, from source: Span<UInt8>, isLuma: Bool
  ) {
    if expands {
      let table = isLuma ? luma.span : chroma.span
      for x in source.indices { row[x] = table[Int(source[x])] }
    } else {
      for x in source.indices { row[x] = source[x] }
    }
    for x in source.count..<row.count { row[x] = row[source.count - 1] }
  }
}
