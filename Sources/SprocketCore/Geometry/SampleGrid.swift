/// Where the samples of a plane lie in the picture: sample (i, j) is at (`left` + i `columns`,
/// `top` + j `rows`), in pixels. Whole numbers are the middles of pixels, as for `Projection`.
public struct SampleGrid: Sendable, Hashable, BitwiseCopyable {
  /// Pixels from one sample to the next.
  public let columns: Int
  public let rows: Int
  /// Where the first sample is.
  public let left: Double
  public let top: Double
}

extension FrameFormat {
  /// The grid of plane `index` of the image; of luma, that of the pixels themselves. The one place that
  /// knows where chroma lies, by `color.chromaSite`.
  public func sampleGrid(plane index: Int) -> SampleGrid {
    let chroma = index > 0 ? image?.subsampling : nil
    let (columns, rows) = (chroma?.horizontalFactor ?? 1, chroma?.verticalFactor ?? 1)
    let site = color.chromaSite
    return SampleGrid(
      columns: columns, rows: rows, left: site == .center ? Double(columns - 1) / 2 : 0,
      top: site == .topLeft ? 0 : Double(rows - 1) / 2)
  }
}
