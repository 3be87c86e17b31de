internal import SprocketCore
internal import SprocketPixels
internal import SprocketYUV

extension FrameUnpacker {
  /// The planar image of a raw frame: the source's own planes, or converted into the slot's.
  func convert(
    _ source: ImageStorage, to version: UnsafeMutablePointer<VersionStorage>, _ format: FrameFormat
  ) {
    let (width, height) = (format.width, format.height)
    let from = unsafe source.planes
    func target(_ plane: Int) -> MutablePlaneBytes {
      unsafe version.pointee.image.planes[plane].target
    }
    switch format.pixelFormat.layout {
    case .planar(_, _, let order):
      unsafe version.pointee.image = unsafe source
      if order == .redFirst {
        unsafe version.pointee.image.planes[1] = unsafe from[2]
        unsafe version.pointee.image.planes[2] = unsafe from[1]
      }
    case .semiPlanar420(let order):
      let isBlueFirst = order == .blueFirst
      unsafe PixelConversion.copy(
        from[0].source, to: target(0), bytesPerRow: width, rows: height)
      unsafe PixelConversion.split(
        from[1].source, first: target(isBlueFirst ? 1 : 2), second: target(isBlueFirst ? 2 : 1),
        width: (width + 1) / 2, height: (height + 1) / 2)
    case .semiPlanar420Words(let depth):
      unsafe PixelConversion.lowerWords(
        from[0].source, bits: depth.rawValue, to: target(0), width: width, height: height)
      unsafe PixelConversion.splitWords(
        from[1].source, bits: depth.rawValue, first: target(1), second: target(2),
        width: (width + 1) / 2, height: (height + 1) / 2)
    case .packedGray(let samples):
      unsafe PixelConversion.unpackGray(
        from[0].source, samples, to: target(0), width: width, height: height)
    case .packed422(let order):
      unsafe PixelConversion.unpack(
        from[0].source, order, y: target(0), u: target(1), v: target(2), width: width,
        height: height)
    case .rgb(let order):
      unsafe PixelConversion.planes444(
        from[0].source, order, y: target(0), u: target(1), v: target(2), width: width,
        height: height)
    case .rgbWords(let words):
      unsafe PixelConversion.planes444Words(
        from[0].source, words, y: target(0), u: target(1), v: target(2),
        width: width, height: height)
    case .encoded, .bayer: return
    }
  }
}
