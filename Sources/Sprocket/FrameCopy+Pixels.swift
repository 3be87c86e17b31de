internal import SprocketCore

extension [UInt8] {
  /// Blue, green and red, with 255 behind each pixel.
  mutating func appendBGRA(_ pixels: Span<UInt8>) {
    for pixel in 0..<pixels.count / 3 {
      append(pixels[3 * pixel])
      append(pixels[3 * pixel + 1])
      append(pixels[3 * pixel + 2])
      append(255)
    }
  }

  /// Luma, then chroma, of a planar picture.
  mutating func appendNV12(_ image: borrowing ImageView, _ format: FrameFormat) {
    let shift = image.format.bitsPerSample - 8
    let isDeep = image.format.isDeep
    for y in 0..<format.height {
      for x in 0..<format.width { append(image[plane: 0].sample(x, y, isDeep, shift)) }
    }
    let grid = format.sampleGrid(plane: 1)
    for y in 0..<(format.height + 1) / 2 {
      let rows = (2 * y / grid.rows, Swift.min(2 * y + 1, format.height - 1) / grid.rows)
      for x in 0..<(format.width + 1) / 2 {
        let columns = (2 * x / grid.columns, Swift.min(2 * x + 1, format.width - 1) / grid.columns)
        for plane in 1...2 {
          guard image.planeCount == 3 else {
            append(128)
            continue
          }
          append(image[plane: plane].mean(columns, rows, isDeep, shift))
        }
      }
    }
  }
}

extension Plane {
  fileprivate func sample(_ x: Int, _ y: Int, _ isDeep: Bool, _ shift: Int) -> UInt8 {
    isDeep ? UInt8(truncatingIfNeeded: self[row16: y][x] >> UInt16(shift)) : self[row: y][x]
  }

  /// Of the samples for 2x2 pixels, rounded.
  fileprivate func mean(
    _ columns: (Int, Int), _ rows: (Int, Int), _ isDeep: Bool, _ shift: Int
  ) -> UInt8 {
    func row(_ y: Int) -> Int {
      Int(sample(columns.0, y, isDeep, shift)) + Int(sample(columns.1, y, isDeep, shift))
    }
    let sum = row(rows.0) + row(rows.1)
    return UInt8((sum + 2) / 4)
  }
}
