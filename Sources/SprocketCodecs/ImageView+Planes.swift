package import SprocketCore
package import SprocketPixels

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
