package import SprocketCore

/// Draws frames of the scene in any raw format that Sprocket knows, unpadded, planes one behind the
/// other. Nothing is allocated after `init`.
package struct SceneFrameWriter: Sendable {
  private var renderer: SceneRenderer
  private let format: PixelFormat
  /// Of every frame.
  private let byteCount: Int
  /// Planar YUV, where the format is packed from it.
  private var scratch: [UInt8]
  private let scratchLayout: SceneLayout

  /// Formats that the scene offers besides MJPEG.
  package static let rawFormats: [PixelFormat] = [
    .yuyv, .uyvy, .nv12, .nv21, .i420, .yv12, .yuv422p, .yuv444p, .grey, .y10, .y16, .rgb24,
    .bgr24, .bgr32, .rgb32, .bayerRGGB, .bayerGRBG, .bayerGBRG, .bayerBGGR,
  ]

  package init(_ renderer: SceneRenderer, format: PixelFormat) {
    precondition(Self.rawFormats.contains(format), "The scene does not draw \(format.fourcc).")
    self.renderer = renderer
    self.format = format
    byteCount = format.byteCount(width: renderer.width, height: renderer.height)
    scratchLayout = SceneLayout(
      width: renderer.width, height: renderer.height, chroma: Self.scratchChroma(format))
    let isPacked = scratchLayout.chroma != .none
    let bytes = scratchLayout.byteCount(width: renderer.width, height: renderer.height)
    scratch = [UInt8](repeating: 0, count: isPacked ? bytes : 0)
  }

  /// Draws one frame; `out` holds exactly its bytes.
  package mutating func write(_ moment: SceneMoment, into out: inout MutableSpan<UInt8>) {
    let (width, height) = (renderer.width, renderer.height)
    precondition(out.count == byteCount, "A frame is drawn into memory of just its size.")
    if let layout = Self.directLayout(format, width: width, height: height) {
      renderer.draw(moment, layout: layout, into: &out)
      return
    }
    Self.draw(&renderer, moment, scratchLayout, &scratch)
    let planes = scratch.span
    for row in 0..<height { pack(row, planes, into: &out) }
  }

  private static func draw(
    _ renderer: inout SceneRenderer, _ moment: SceneMoment, _ layout: SceneLayout,
    _ memory: inout [UInt8]
  ) {
    var span = memory.mutableSpan
    renderer.draw(moment, layout: layout, into: &span)
  }

  /// Where planes go for a format that is drawn in place.
  private static func directLayout(_ format: PixelFormat, width: Int, height: Int) -> SceneLayout? {
    switch format {
    case .i420: return SceneLayout(width: width, height: height, chroma: .half420)
    case .yv12:
      var layout = SceneLayout(width: width, height: height, chroma: .half420)
      swap(&layout.u, &layout.v)
      return layout
    case .yuv422p: return SceneLayout(width: width, height: height, chroma: .half422)
    case .yuv444p: return SceneLayout(width: width, height: height, chroma: .full444)
    case .grey: return SceneLayout(width: width, height: height, chroma: .none)
    case .y10: return SceneLayout(width: width, height: height, chroma: .none, lumaBits: 10)
    case .y16: return SceneLayout(width: width, height: height, chroma: .none, lumaBits: 16)
    default: return nil
    }
  }

  private static func scratchChroma(_ format: PixelFormat) -> SceneChroma {
    switch format {
    case .nv12, .nv21: .half420
    case .yuyv, .uyvy: .half422
    case .rgb24, .bgr24, .rgb32, .bgr32: .full444
    default: format.isBayer ? .full444 : .none
    }
  }

  /// Packs one row of the planes in `scratch`.
  private func pack(_ row: Int, _ planes: Span<UInt8>, into out: inout MutableSpan<UInt8>) {
    let width = renderer.width
    let luma = planes.extracting(row * width..<row * width + width)
    if format == .nv12 || format == .nv21 {
      return packHalf(row, planes, luma, into: &out)
    }
    let stride = scratchLayout.chromaStride
    let u = planes.extracting(scratchLayout.u + row * stride..<scratchLayout.u + (row + 1) * stride)
    let v = planes.extracting(scratchLayout.v + row * stride..<scratchLayout.v + (row + 1) * stride)
    let rowBytes = format.plane(0, width: width, height: renderer.height).bytesPerRow
    var line = out._mutatingExtracting(row * rowBytes..<(row + 1) * rowBytes)
    switch format {
    case .yuyv: packPairsRow(luma, u, v, isChromaFirst: false, into: &line)
    case .uyvy: packPairsRow(luma, u, v, isChromaFirst: true, into: &line)
    case .rgb24: packRGBRow(luma, u, v, order: .rgb24, into: &line)
    case .bgr24: packRGBRow(luma, u, v, order: .bgr24, into: &line)
    case .rgb32: packRGBRow(luma, u, v, order: .rgb32, into: &line)
    case .bgr32: packRGBRow(luma, u, v, order: .bgr32, into: &line)
    default:
      let colors = Self.mosaic(format, row: row)
      packBayerRow(luma, u, v, even: colors.even, odd: colors.odd, into: &line)
    }
  }

  /// NV12 and NV21: luma as it is, and a row of chroma for every other row of luma.
  private func packHalf(
    _ row: Int, _ planes: Span<UInt8>, _ luma: Span<UInt8>, into out: inout MutableSpan<UInt8>
  ) {
    let width = renderer.width
    for column in 0..<width { out[row * width + column] = luma[column] }
    guard row % 2 == 0 else { return }
    let stride = scratchLayout.chromaStride
    let start = row / 2 * stride
    let u = planes.extracting(scratchLayout.u + start..<scratchLayout.u + start + stride)
    let v = planes.extracting(scratchLayout.v + start..<scratchLayout.v + start + stride)
    let first = width * renderer.height + 2 * start
    var line = out._mutatingExtracting(first..<first + 2 * stride)
    if format == .nv12 {
      interleaveRow(u, v, into: &line)
    } else {
      interleaveRow(v, u, into: &line)
    }
  }

  /// The channels (0 red, 1 green, 2 blue) of even and odd columns in a row of a mosaic.
  private static func mosaic(_ format: PixelFormat, row: Int) -> (even: Int, odd: Int) {
    let isEven = row % 2 == 0
    switch format {
    case .bayerRGGB: return isEven ? (0, 1) : (1, 2)
    case .bayerGRBG: return isEven ? (1, 0) : (2, 1)
    case .bayerGBRG: return isEven ? (1, 2) : (0, 1)
    default: return isEven ? (2, 1) : (1, 0)
    }
  }
}
