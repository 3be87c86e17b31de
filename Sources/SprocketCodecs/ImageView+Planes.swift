package import SprocketCore
package import SprocketPixels

extension FrameFormat {
  /// Passes to `body` where the planes of a picture are, which lie one behind the other without padding.
  /// Returns false, and does nothing, where there are too few bytes.
  package func withPlanes<Failure: Error>(
    of bytes: Span<UInt8>,
    _ body: (PlaneBytes, PlaneBytes?, PlaneBytes?) throws(Failure) -> Void
  ) throws(Failure) -> Bool {
    guard let image, bytes.count >= image.byteCount(width: width, height: height) else {
      return false
    }
    try unsafe bytes.withUnsafeBufferPointer { (memory) throws(Failure) in
      var place = 0
      func next(_ index: Int) -> PlaneBytes? {
        guard index < image.planeCount else { return nil }
        let size = image.planeSize(index, width: width, height: height)
        let rows = unsafe UnsafeBufferPointer(rebasing: memory[place...])
        place += size.bytesPerRow * size.rows
        return unsafe PlaneBytes(rows, stride: size.bytesPerRow)
      }
      guard let luma = next(0) else { return }
      let blue = next(1)
      try body(luma, blue, next(2))
    }
    return true
  }
}

extension ImageView {
  /// Passes to `body` where the planes are in memory: luma, and chroma where there is some.
  package borrowing func withPlanes<Failure: Error>(
    _ body: (PlaneBytes, PlaneBytes?, PlaneBytes?) throws(Failure) -> Void
  ) throws(Failure) {
    try unsafe self[plane: 0].withUnsafeRows { (memory, stride) throws(Failure) in
      let luma = unsafe PlaneBytes(memory, stride: stride)
      guard planeCount > 2 else { return try body(luma, nil, nil) }
      try unsafe self[plane: 1].withUnsafeRows { (memory, stride) throws(Failure) in
        let blue = unsafe PlaneBytes(memory, stride: stride)
        try unsafe self[plane: 2].withUnsafeRows { (memory, stride) throws(Failure) in
          try body(luma, blue, unsafe PlaneBytes(memory, stride: stride))
        }
      }
    }
  }
}
