internal import SprocketCodecs
package import SprocketCore
internal import SprocketPixels
internal import SprocketYUV

/// Draws frames of the scene in any of its formats: unpadded, planes one after the other. After `init` only
/// libturbojpeg allocates.
package struct SceneFrameWriter {
  /// Largest possible frame in bytes; the exact size of every frame except JPEG.
  package let capacity: Int
  private var renderer: SceneRenderer
  private let format: PixelFormat
  /// Layout of `planes`, or of the frame itself if the scene is drawn directly into it.
  private let layout: SceneLayout
  /// Drawn planes, before they are packed or encoded. Empty if the scene is drawn directly into the frame.
  private var planes: [UInt8]
  /// `nil` for other formats.
  private var mosaic: SceneMosaic?
  private let packer: JPEGPacker?

  /// The scene's formats besides MJPEG.
  package static let rawFormats: [PixelFormat] =
    [
      .yuyv, .uyvy, .nv12, .nv21, .i420, .yv12, .yuv422p, .yuv444p, .grey, .y10, .y16, .rgb24,
      .bgr24, .bgr32, .rgb32,
    ] + PixelFormat.allCases.filter(\.isBayer)

  /// `quality` is JPEG's. Throws if there is no memory for the encoder.
  package init(
    _ renderer: SceneRenderer, format: FrameFormat, quality: Int = 85
  ) throws(RunError) {
    self.renderer = renderer
    self.format = format.pixelFormat
    capacity = Self.capacity(format)
    layout = Self.layout(format)
    planes = [UInt8](repeating: 0, count: Self.planeBytes(format))
    mosaic =
      if case .bayer(let order, let samples) = format.pixelFormat.layout {
        SceneMosaic(order, samples, width: format.width)
      } else { nil }
    let needs = format.pixelFormat.isEncoded ? JPEGPacker.requirements(format) : nil
    packer = if let needs { try JPEGPacker(needs, quality: quality) } else { nil }
  }

  /// Largest possible frame of `format` in bytes.
  static func capacity(_ format: FrameFormat) -> Int {
    guard format.pixelFormat.isEncoded else {
      return format.pixelFormat.byteCount(width: format.width, height: format.height)
    }
    return JPEGPacker.requirements(format)?.capacity ?? 0
  }

  /// Size of `planes` in bytes; 0 if the scene is drawn directly into the frame.
  static func planeBytes(_ format: FrameFormat) -> Int {
    switch format.pixelFormat.layout {
    case .planar: 0
    case .encoded, .semiPlanar420, .semiPlanar420Words, .packedGray, .packed422, .rgb, .rgbWords,
      .bayer:
      layout(format).byteCount(width: format.width, height: format.height)
    }
  }

  private static func layout(_ format: FrameFormat) -> SceneLayout {
    let (width, height) = (format.width, format.height)
    switch format.pixelFormat.layout {
    case .planar(let chroma, let depth, let order):
      var layout = SceneLayout(width: width, height: height, chroma: chroma, depth: depth)
      if order == .redFirst { swap(&layout.u, &layout.v) }
      return layout
    case .encoded:
      let chroma = format.image?.subsampling ?? .yuv420
      return SceneLayout(width: width, height: height, chroma: chroma)
    // Those with words or packed luma are none of `rawFormats`.
    case .semiPlanar420, .semiPlanar420Words, .packedGray:
      return SceneLayout(width: width, height: height, chroma: .yuv420)
    case .packed422:
      // Rounded up to whole pairs of pixels.
      let pairs = (width + 1) & ~1
      return SceneLayout(width: width, height: height, chroma: .yuv422, lumaStride: pairs)
    case .rgb, .rgbWords: return SceneLayout(width: width, height: height, chroma: .yuv444)
    case .bayer(_, let samples):
      let depth = SceneMosaic.lumaDepth(samples)
      return SceneLayout(width: width, height: height, chroma: .yuv444, depth: depth)
    }
  }

  /// Draws one frame into `out`, which has `capacity` bytes; returns the frame's size in bytes.
  ///
  /// `out` has room for the largest JPEG, so encoding fails only if there is no memory. The frame is empty
  /// then, and counts as `corrupt`.
  package mutating func write(_ moment: SceneMoment, into out: inout MutableSpan<UInt8>) -> Int {
    precondition(out.count == capacity, "A frame is drawn into memory of just its size.")
    if planes.isEmpty {
      renderer.draw(moment, layout: layout, into: &out)
      return capacity
    }
    Self.draw(&renderer, moment, layout, &planes)
    if let packer { return packer.pack(planes: planes.span, into: &out) ?? 0 }
    if mosaic != nil {
      let rowBytes = capacity / renderer.height
      let (planes, layout) = (planes, layout)
      for row in 0..<renderer.height {
        var line = out._mutatingExtracting(row * rowBytes..<(row + 1) * rowBytes)
        mosaic?.write(planes.span, layout, row: row, into: &line)
      }
      return capacity
    }
    unsafe out.withUnsafeMutableBufferPointer { out in
      unsafe Self.pack(
        &planes, layout, format, width: renderer.width, height: renderer.height, into: out)
    }
    return capacity
  }

  private static func draw(
    _ renderer: inout SceneRenderer, _ moment: SceneMoment, _ layout: SceneLayout,
    _ memory: inout [UInt8]
  ) {
    var span = memory.mutableSpan
    renderer.draw(moment, layout: layout, into: &span)
  }

  /// Converts the drawn planes to a raw format.
  private static func pack(
    _ planes: inout [UInt8], _ layout: SceneLayout, _ format: PixelFormat, width: Int, height: Int,
    into out: UnsafeMutableBufferPointer<UInt8>
  ) {
    func target(_ start: Int = 0, stride: Int) -> MutablePlaneBytes {
      unsafe MutablePlaneBytes(
        UnsafeMutableBufferPointer(rebasing: out[start...]), stride: stride)
    }
    unsafe planes.withUnsafeMutableBufferPointer { memory in
      func plane(_ start: Int, stride: Int) -> MutablePlaneBytes {
        unsafe MutablePlaneBytes(
          UnsafeMutableBufferPointer(rebasing: memory[start...]), stride: stride)
      }
      let luma = plane(0, stride: layout.lumaStride)
      let y = PlaneBytes(luma)
      let u = PlaneBytes(plane(layout.u, stride: layout.chromaStride))
      let v = PlaneBytes(plane(layout.v, stride: layout.chromaStride))
      switch format.layout {
      case .semiPlanar420(let order):
        let (columns, rows) = ((width + 1) / 2, (height + 1) / 2)
        PixelConversion.copy(y, to: target(stride: width), bytesPerRow: width, rows: height)
        PixelConversion.merge(
          first: order == .blueFirst ? u : v, second: order == .blueFirst ? v : u,
          to: target(width * height, stride: 2 * columns), width: columns, height: rows)
      case .packed422(let order):
        let pairs = layout.lumaStride
        PixelConversion.repeatEdges(
          luma, width: width, height: height, paddedWidth: pairs, paddedHeight: height)
        PixelConversion.pack422(
          y: y, u: u, v: v, to: target(stride: 2 * pairs), order, width: pairs, height: height)
      case .rgb(let order):
        PixelConversion.pack444(
          y: y, u: u, v: v, to: target(stride: order.bytesPerPixel * width), order, width: width,
          height: height)
      case .planar, .semiPlanar420Words, .packedGray, .rgbWords, .encoded, .bayer: break
      }
    }
  }
}
