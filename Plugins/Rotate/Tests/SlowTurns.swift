import SprocketTesting

/// A plane of samples as rows, which is turned step by step.
struct SlowPlane: Equatable {
  var rows: [[Int]]

  var quarterTurned: SlowPlane {
    // The left column, from the bottom up, becomes the first row.
    SlowPlane(
      rows: rows[0].indices.map { x in rows.indices.reversed().map { rows[$0][x] } })
  }

  var transposed: SlowPlane {
    SlowPlane(rows: rows[0].indices.map { x in rows.map { $0[x] } })
  }

  var mirrored: SlowPlane { SlowPlane(rows: rows.map { $0.reversed() }) }
  var flipped: SlowPlane { SlowPlane(rows: rows.reversed()) }

  func turned(_ quarters: Int) -> SlowPlane {
    (0..<quarters).reduce(self) { plane, _ in plane.quarterTurned }
  }

  /// As a viewer shows it: the words of EXIF 2.32, tag 274.
  func shown(_ orientation: Orientation) -> SlowPlane {
    switch orientation {
    case .upright: self
    case .mirrored: mirrored
    case .halfTurn: turned(2)
    case .flipped: flipped
    case .transposed: transposed
    case .quarterTurn: turned(1)
    case .transversed: transposed.turned(2)
    case .threeQuarterTurn: turned(3)
    }
  }
}

extension TestFrame {
  var slowPlanes: [SlowPlane] {
    let pixels = format.image ?? .grey
    return planes.indices.map { plane in
      let size = pixels.plane(plane, width: format.width, height: format.height)
      let bytes = planes[plane]
      return SlowPlane(
        rows: (0..<size.rows).map { y in
          let row = bytes[y * size.bytesPerRow..<(y + 1) * size.bytesPerRow].map(Int.init)
          guard pixels.isDeep else { return row }
          return stride(from: 0, to: row.count, by: 2).map { row[$0] + 256 * row[$0 + 1] }
        })
    }
  }
}
