internal import CSprocketLibAV

/// Returns true if a pixel of a frame is not opaque. False for frames of floats, and for formats without
/// alpha.
///
/// Cost: looks at each pixel of a format with alpha, up to the first that is not opaque. The corresponding C
/// type is `AVPixFmtDescriptor`.
func isTransparent(_ frame: UnsafeMutablePointer<AVFrame>) -> Bool {
  guard
    let format = unsafe libav.av_pix_fmt_desc_get(AVPixelFormat(frame.pointee.format))?.pointee
  else { return false }
  let planes = unsafe (
    frame.pointee.data.0, frame.pointee.data.1, frame.pointee.data.2, frame.pointee.data.3
  )
  let size = unsafe (width: Int(frame.pointee.width), height: Int(frame.pointee.height))
  if unsafe format.flags & UInt64(AV_PIX_FMT_FLAG_PAL) != 0 {
    guard let indices = unsafe planes.0, let palette = unsafe planes.1 else { return false }
    let stride = unsafe Int(frame.pointee.linesize.0)
    for y in 0..<size.height {
      for x in 0..<size.width {
        // Each colour is a number of 32 bits with alpha in its uppermost byte.
        let color = unsafe 4 * Int(indices[y * stride + x])
        if unsafe palette[color + 3] != 0xFF { return true }
      }
    }
    return false
  }
  guard unsafe format.flags & UInt64(AV_PIX_FMT_FLAG_ALPHA) != 0,
    unsafe format.flags & UInt64(AV_PIX_FMT_FLAG_FLOAT) == 0
  else { return false }
  let part = unsafe format.nb_components == 2 ? format.comp.1 : format.comp.3
  let lines = unsafe frame.pointee.linesize
  let plane = unsafe part.plane == 3 ? planes.3 : part.plane == 1 ? planes.1 : planes.0
  let line = part.plane == 3 ? lines.3 : part.plane == 1 ? lines.1 : lines.0
  guard let base = unsafe plane else { return false }
  let (stride, step) = (Int(line), Int(part.step))
  let isWide = part.depth > 8
  let isBigEndian = unsafe format.flags & UInt64(AV_PIX_FMT_FLAG_BE) != 0
  let opaque = 1 << Int(part.depth) - 1
  for y in 0..<size.height {
    for x in 0..<size.width {
      let place = y * stride + x * step + Int(part.offset)
      var alpha = unsafe Int(base[place])
      if isWide {
        let other = unsafe Int(base[place + 1])
        alpha = isBigEndian ? alpha << 8 | other : other << 8 | alpha
      }
      if alpha & opaque != opaque { return true }
    }
  }
  return false
}
