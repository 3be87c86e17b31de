import SprocketCore

/// Makes all planes of a picture anew as a similarity carries them, by Lanczos' kernel of three lobes.
///
/// What lies outside the source has the level of the nearest sample. Shifts by whole samples are
/// exact, and so is what is flat. Chroma is taken to lie amidst its luma; where it lies beside it, as
/// in MPEG-2, it is off by at most a quarter of what the zoom crops of a sample.
///
/// Memory for all is allocated by `init`.
struct PictureWarp {
  private let format: PixelFormat
  private let width: Int
  private let height: Int
  private var bytes: ByteWarp?
  private var words: WordWarp?

  /// `format` must be planar.
  init(_ format: PixelFormat, width: Int, height: Int) {
    self.format = format
    self.width = width
    self.height = height
    if format.isDeep {
      words = WordWarp(width: width, height: height)
    } else {
      bytes = ByteWarp(width: width)
    }
  }

  /// Whether `warp` accepts this matrix: finite, turned by at most 50 degrees, or 35 with chroma of 4:1:1 and
  /// no zoom. It accepts every pose of a `CropWindow`.
  func canWarp(_ sensorFromStabilized: Similarity) -> Bool {
    (0..<format.planeCount).allSatisfy { geometry($0, sensorFromStabilized).isUsable }
  }

  /// Fills in the picture from `picture.source`. `sensorFromStabilized` is about the picture's middle;
  /// it traps where `canWarp` is false.
  mutating func warp(_ picture: inout ImageEditor, sensorFromStabilized: Similarity) {
    for plane in 0..<picture.planeCount {
      let geometry = geometry(plane, sensorFromStabilized)
      bytes?.warp(plane, of: &picture, geometry)
      words?.warp(plane, of: &picture, geometry)
    }
  }

  private func geometry(_ plane: Int, _ sensorFromStabilized: Similarity) -> PlaneGeometry {
    let chroma = plane > 0 ? format.subsampling : nil
    return PlaneGeometry(
      sensorFromStabilized, width: width, height: height, columns: chroma?.horizontalFactor ?? 1,
      rows: chroma?.verticalFactor ?? 1)
  }
}
