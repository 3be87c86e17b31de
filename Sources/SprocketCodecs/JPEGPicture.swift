internal import Glibc
package import SprocketCore
internal import SprocketJPEG
package import SprocketPixels

/// Decodes JPEGs that a ``JPEGPacker`` made, into memory of its own.
@safe
package final class JPEGPicture {
  private let format: FrameFormat
  private let subsampling: ChromaSubsampling
  private var decoder: JPEGDecoder
  private let memory: UnsafeMutablePointer<UInt8>

  /// Format of the planes.
  package var image: PixelFormat { PixelFormat(subsampling) }

  /// Throws where there is no memory.
  package init(_ needs: JPEGPacker.Requirements) throws(RunError) {
    let shapes = Self.shapes(needs.subsampling, needs.format)
    let decoder: JPEGDecoder
    do throws(JPEGError) {
      decoder = try JPEGDecoder()
    } catch {
      throw Self.noMemory
    }
    guard let memory = unsafe pictureMemory(shapes.reduce(0) { $0 + $1.width * $1.height }) else {
      throw Self.noMemory
    }
    (format, subsampling) = (needs.format, needs.subsampling)
    unsafe self.memory = unsafe memory
    self.decoder = decoder
  }

  deinit { unsafe free(memory) }

  private static var noMemory: RunError {
    RunError(.failed, "no memory to decode JPEGs; use a smaller size", change: .size)
  }

  private static func shapes(_ subsampling: ChromaSubsampling, _ format: FrameFormat)
    -> [(width: Int, height: Int)]
  {
    (0..<subsampling.planeCount).map {
      (
        subsampling.planeWidth($0, imageWidth: format.width),
        subsampling.planeHeight($0, imageHeight: format.height)
      )
    }
  }

  /// Passes the planes to `body`; false, without a call, where the JPEG is damaged.
  package func withPlanes<Failure: Error>(
    of jpeg: Span<UInt8>,
    _ body: (PlaneBytes, PlaneBytes?, PlaneBytes?) throws(Failure) -> Void
  ) throws(Failure) -> Bool {
    let luma = plane(0)
    let chroma = subsampling == .gray ? nil : (plane(1), plane(2))
    do throws(JPEGError) {
      try decoder.decodePlanes(
        jpeg, width: format.width, height: format.height, subsampling: subsampling, y: luma,
        u: chroma?.0, v: chroma?.1)
    } catch {
      return false
    }
    try body(
      PlaneBytes(luma), chroma.map { PlaneBytes($0.0) }, chroma.map { PlaneBytes($0.1) })
    return true
  }

  private func plane(_ index: Int) -> MutablePlaneBytes {
    var start = 0
    for earlier in 0..<index {
      start +=
        subsampling.planeWidth(earlier, imageWidth: format.width)
        * subsampling.planeHeight(earlier, imageHeight: format.height)
    }
    let width = subsampling.planeWidth(index, imageWidth: format.width)
    let height = subsampling.planeHeight(index, imageHeight: format.height)
    return unsafe MutablePlaneBytes(
      UnsafeMutableBufferPointer(start: memory + start, count: width * height), stride: width)
  }
}
