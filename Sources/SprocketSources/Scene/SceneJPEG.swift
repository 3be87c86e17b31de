internal import SprocketJPEG

/// Draws frames of the scene as JPEG images. Nothing but what libturbojpeg needs inside is allocated
/// after `init`.
struct SceneJPEG: ~Copyable {
  private var renderer: SceneRenderer
  private var encoder: JPEGEncoder
  private let subsampling: JPEGSubsampling
  private let quality: Int
  private let layout: SceneLayout
  /// Planes with luma rounded up to whole chroma samples, as the encoder reads it.
  private var planes: [UInt8]
  private let lumaSize: (width: Int, height: Int)
  private let chromaSize: (width: Int, height: Int)

  /// `nil` where libturbojpeg has no memory.
  init?(_ renderer: SceneRenderer, subsampling: SceneChroma, quality: Int) {
    guard let encoder = try? JPEGEncoder() else { return nil }
    let (width, height) = (renderer.width, renderer.height)
    self.renderer = renderer
    self.subsampling = subsampling == .half422 ? .yuv422 : .yuv420
    self.quality = quality
    self.encoder = encoder
    lumaSize = (
      self.subsampling.planeWidth(0, imageWidth: width),
      self.subsampling.planeHeight(0, imageHeight: height)
    )
    chromaSize = (
      self.subsampling.planeWidth(1, imageWidth: width),
      self.subsampling.planeHeight(1, imageHeight: height)
    )
    var layout = SceneLayout(width: width, height: height, chroma: subsampling)
    layout.lumaStride = lumaSize.width
    layout.u = lumaSize.width * lumaSize.height
    layout.v = layout.u + chromaSize.width * chromaSize.height
    self.layout = layout
    planes = [UInt8](repeating: 0, count: layout.v + chromaSize.width * chromaSize.height)
  }

  /// Bytes that any frame fits in.
  static func capacity(width: Int, height: Int, subsampling: SceneChroma) -> Int? {
    JPEGEncoder.maximumSize(
      width: width, height: height, subsampling: subsampling == .half422 ? .yuv422 : .yuv420)
  }

  /// Draws and encodes one frame; returns its bytes. `out` holds at least `capacity`.
  ///
  /// With room for the worst case encoding fails only for want of memory: the frame is empty then,
  /// and that is `corrupt`.
  mutating func write(_ moment: SceneMoment, into out: inout MutableSpan<UInt8>) -> Int {
    Self.draw(&renderer, moment, layout, &planes)
    repeatLastColumnAndRow()
    return encode(into: &out)
  }

  private static func draw(
    _ renderer: inout SceneRenderer, _ moment: SceneMoment, _ layout: SceneLayout,
    _ memory: inout [UInt8]
  ) {
    var span = memory.mutableSpan
    renderer.draw(moment, layout: layout, into: &span)
  }

  private mutating func repeatLastColumnAndRow() {
    let stride = lumaSize.width
    if stride > renderer.width {
      for row in 1...renderer.height { planes[row * stride - 1] = planes[row * stride - 2] }
    }
    if lumaSize.height > renderer.height {
      let last = renderer.height * stride
      for column in 0..<stride { planes[last + column] = planes[last - stride + column] }
    }
  }

  private mutating func encode(into out: inout MutableSpan<UInt8>) -> Int {
    // The wrapper takes planes by address: they are three parts of one array.
    unsafe planes.withUnsafeBufferPointer { bytes in
      let luma = unsafe UnsafeBufferPointer(rebasing: bytes[..<layout.u])
      let u = unsafe UnsafeBufferPointer(rebasing: bytes[layout.u..<layout.v])
      let v = unsafe UnsafeBufferPointer(rebasing: bytes[layout.v...])
      let count = try? encoder.encode(
        width: renderer.width, height: renderer.height, subsampling: subsampling,
        y: unsafe JPEGPlane(luma, stride: layout.lumaStride),
        u: unsafe JPEGPlane(u, stride: layout.chromaStride),
        v: unsafe JPEGPlane(v, stride: layout.chromaStride), quality: quality, into: &out)
      return count ?? 0
    }
  }
}

/// Whether the bytes are one whole JPEG image by markers and lengths.
func isWholeJPEG(_ bytes: Span<UInt8>) -> Bool {
  do throws(JPEGError) {
    _ = try JPEGStructure(bytes)
    return true
  } catch {
    return false
  }
}
