internal import SprocketCore
internal import SprocketYUV

extension FrameUnpacker {
  /// The planar image of a raw frame: the source's own planes, or converted into the slot's.
  func convert(
    _ source: ImageStorage, to version: UnsafeMutablePointer<VersionStorage>, _ format: FrameFormat
  ) {
    let (width, height) = (format.width, format.height)
    let from = unsafe source.planes
    if format.pixelFormat.isPlanar {
      unsafe version.pointee.image = unsafe source
      if format.pixelFormat == .yv12 {
        unsafe version.pointee.image.planes[1] = unsafe from[2]
        unsafe version.pointee.image.planes[2] = unsafe from[1]
      }
      return
    }
    let y = unsafe version.pointee.image.planes[0].target
    let u = unsafe version.pointee.image.planes[1].target
    let v = unsafe version.pointee.image.planes[2].target
    switch format.pixelFormat {
    case .nv12, .nv21:
      let isBlueFirst = format.pixelFormat == .nv12
      unsafe PixelConversion.copy(from[0].source, to: y, bytesPerRow: width, rows: height)
      unsafe PixelConversion.split(
        from[1].source, first: isBlueFirst ? u : v, second: isBlueFirst ? v : u,
        width: (width + 1) / 2, height: (height + 1) / 2)
    case .yuyv, .uyvy:
      unsafe PixelConversion.unpack(
        from[0].source, format.pixelFormat == .yuyv ? .yuyv : .uyvy, y: y, u: u, v: v,
        width: width, height: height)
    default:
      guard let order = format.pixelFormat.rgbOrder else { return }
      unsafe PixelConversion.planes444(
        from[0].source, order, y: y, u: u, v: v, width: width, height: height)
    }
  }
}
