internal import CSprocketV4L2
internal import Glibc

// Formats, sizes and frame rates: what is offered, and setting them.

extension V4L2Device {
  /// The formats that the device offers, in its own order. Empty for a loopback that nobody feeds.
  ///
  /// The corresponding C function is `v4l2_ioctl` with `VIDIOC_ENUM_FMT`.
  public func formats() -> [V4L2FormatOffer] {
    Self.enumerate { index in
      var found = v4l2_fmtdesc()
      found.index = index
      found.type = bufferType
      guard request(SPROCKET_VIDIOC_ENUM_FMT, &found) else { return nil }
      return V4L2FormatOffer(
        fourCC: V4L2FourCC(rawValue: found.pixelformat), text: text(found.description),
        isEmulated: found.flags & UInt32(V4L2_FMT_FLAG_EMULATED) != 0)
    }
  }

  /// The sizes of a format; none where the driver does not tell.
  ///
  /// The corresponding C function is `v4l2_ioctl` with `VIDIOC_ENUM_FRAMESIZES`.
  public func sizes(of format: V4L2FourCC) -> V4L2Sizes {
    var range: V4L2Sizes?
    let discrete = Self.enumerate { index -> V4L2Size? in
      var found = v4l2_frmsizeenum()
      found.index = index
      found.pixel_format = format.rawValue
      guard range == nil, request(SPROCKET_VIDIOC_ENUM_FRAMESIZES, &found) else { return nil }
      if found.type == V4L2_FRMSIZE_TYPE_DISCRETE.rawValue {
        return V4L2Size(width: Int(found.discrete.width), height: Int(found.discrete.height))
      }
      let given = found.stepwise
      range = .stepwise(
        smallest: V4L2Size(width: Int(given.min_width), height: Int(given.min_height)),
        largest: V4L2Size(width: Int(given.max_width), height: Int(given.max_height)),
        step: V4L2Size(
          width: max(1, Int(given.step_width)), height: max(1, Int(given.step_height))))
      return nil
    }
    return range ?? .discrete(discrete)
  }

  /// The frame intervals of a format and size; none where the driver does not tell.
  ///
  /// The corresponding C function is `v4l2_ioctl` with `VIDIOC_ENUM_FRAMEINTERVALS`.
  public func intervals(of format: V4L2FourCC, _ size: V4L2Size) -> V4L2Intervals {
    var range: V4L2Intervals?
    let discrete = Self.enumerate { index -> V4L2Interval? in
      var found = v4l2_frmivalenum()
      found.index = index
      found.pixel_format = format.rawValue
      found.width = UInt32(clamping: size.width)
      found.height = UInt32(clamping: size.height)
      guard range == nil, request(SPROCKET_VIDIOC_ENUM_FRAMEINTERVALS, &found) else { return nil }
      if found.type == V4L2_FRMIVAL_TYPE_DISCRETE.rawValue {
        return V4L2Interval(found.discrete.numerator, found.discrete.denominator)
      }
      let given = found.stepwise
      range = .stepwise(
        shortest: V4L2Interval(given.min.numerator, given.min.denominator),
        longest: V4L2Interval(given.max.numerator, given.max.denominator))
      return nil
    }
    return range ?? .discrete(discrete)
  }

  /// More than any driver lists; ends a driver that lists without end.
  private static let longestList: UInt32 = 1024

  /// What `entry` gives for 0, 1, 2 and on, until it gives nothing.
  static func enumerate<Entry>(_ entry: (UInt32) -> Entry?) -> [Entry] {
    var entries: [Entry] = []
    for index in 0..<longestList {
      guard let found = entry(index) else { break }
      entries.append(found)
    }
    return entries
  }

  /// The format that the device is set to.
  ///
  /// The corresponding C function is `v4l2_ioctl` with `VIDIOC_G_FMT`.
  public func format() throws(V4L2Error) -> V4L2Format {
    var found = unsafe v4l2_format()
    unsafe found.type = bufferType
    unsafe try demand(SPROCKET_VIDIOC_G_FMT, &found, "VIDIOC_G_FMT")
    return unsafe described(found)
  }

  /// Sets format and size, progressive, with the colour that the driver likes; returns what the driver
  /// made of it, which may be another.
  public mutating func setFormat(_ fourCC: V4L2FourCC, _ size: V4L2Size) throws(V4L2Error)
    -> V4L2Format
  {
    try setFormat(V4L2Format(fourCC: fourCC, size: size, bytesPerLine: 0, imageBytes: 0))
  }

  /// Sets format, size, field and colour, and leaves the rest to the driver; returns what the driver made
  /// of it, which may be another. Of an output, the colour is that of the frames to be written.
  ///
  /// The corresponding C function is `v4l2_ioctl` with `VIDIOC_S_FMT`.
  public mutating func setFormat(_ format: V4L2Format) throws(V4L2Error) -> V4L2Format {
    var wanted = unsafe v4l2_format()
    unsafe wanted.type = bufferType
    let width = UInt32(clamping: format.size.width)
    let height = UInt32(clamping: format.size.height)
    if isMultiplanar {
      unsafe wanted.fmt.pix_mp.width = width
      unsafe wanted.fmt.pix_mp.height = height
      unsafe wanted.fmt.pix_mp.pixelformat = format.fourCC.rawValue
      unsafe wanted.fmt.pix_mp.field = format.field.number
    } else {
      unsafe wanted.fmt.pix.width = width
      unsafe wanted.fmt.pix.height = height
      unsafe wanted.fmt.pix.pixelformat = format.fourCC.rawValue
      unsafe wanted.fmt.pix.field = format.field.number
      unsafe wanted.fmt.pix.colorspace = format.colorspace
      unsafe wanted.fmt.pix.xfer_func = format.transfer
      unsafe wanted.fmt.pix.ycbcr_enc = format.encoding
      unsafe wanted.fmt.pix.quantization = format.quantization
      // Without it drivers do not fill in the fields of colour.
      unsafe wanted.fmt.pix.priv = V4L2_PIX_FMT_PRIV_MAGIC
    }
    unsafe try demand(SPROCKET_VIDIOC_S_FMT, &wanted, "VIDIOC_S_FMT")
    let made = unsafe described(wanted)
    pieceCount = max(1, min(made.memoryPlanes, 3))
    return made
  }

  private func described(_ found: v4l2_format) -> V4L2Format {
    if isMultiplanar {
      let pixels = unsafe found.fmt.pix_mp
      var format = V4L2Format(
        fourCC: V4L2FourCC(rawValue: pixels.pixelformat),
        size: V4L2Size(width: Int(pixels.width), height: Int(pixels.height)),
        bytesPerLine: Int(pixels.plane_fmt.0.bytesperline),
        imageBytes: Int(pixels.plane_fmt.0.sizeimage), field: V4L2Field(pixels.field),
        memoryPlanes: Int(pixels.num_planes),
        colorspace: pixels.colorspace, transfer: UInt32(pixels.xfer_func),
        encoding: UInt32(pixels.ycbcr_enc), quantization: UInt32(pixels.quantization))
      let others = [pixels.plane_fmt.1.bytesperline, pixels.plane_fmt.2.bytesperline]
      format.otherBytesPerLine = others.prefix(max(0, format.memoryPlanes - 1)).map { Int($0) }
      return format
    }
    let pixels = unsafe found.fmt.pix
    // A driver from before these fields leaves anything in them.
    let isExtended = pixels.priv == V4L2_PIX_FMT_PRIV_MAGIC
    return V4L2Format(
      fourCC: V4L2FourCC(rawValue: pixels.pixelformat),
      size: V4L2Size(width: Int(pixels.width), height: Int(pixels.height)),
      bytesPerLine: Int(pixels.bytesperline), imageBytes: Int(pixels.sizeimage),
      field: V4L2Field(pixels.field), colorspace: pixels.colorspace,
      transfer: isExtended ? pixels.xfer_func : 0,
      encoding: isExtended ? pixels.ycbcr_enc : 0,
      quantization: isExtended ? pixels.quantization : 0)
  }

  /// Width of a pixel over its height where pictures of `size` are neither cropped nor scaled; `nil` where
  /// they may be, or the driver does not tell.
  ///
  /// The corresponding C function is `v4l2_ioctl` with `VIDIOC_CROPCAP`.
  public func pixelAspect(at size: V4L2Size) -> (width: UInt32, height: UInt32)? {
    var found = v4l2_cropcap()
    found.type = bufferType
    guard request(SPROCKET_VIDIOC_CROPCAP, &found),
      Int(found.defrect.width) == size.width, Int(found.defrect.height) == size.height,
      found.pixelaspect.numerator > 0, found.pixelaspect.denominator > 0
    else { return nil }
    // The kernel's is height over width ("Image Cropping, Insertion and Scaling": y / x).
    return (found.pixelaspect.denominator, found.pixelaspect.numerator)
  }

  /// The frame interval that the device is set to; `nil` where it has none.
  ///
  /// The corresponding C function is `v4l2_ioctl` with `VIDIOC_G_PARM`.
  public func interval() -> V4L2Interval? {
    var found = v4l2_streamparm()
    found.type = bufferType
    guard request(SPROCKET_VIDIOC_G_PARM, &found) else { return nil }
    let given = unsafe found.parm.capture.timeperframe
    return given.numerator > 0 && given.denominator > 0
      ? V4L2Interval(given.numerator, given.denominator) : nil
  }

  /// Sets the frame interval; returns what the driver made of it, which may be another, or `nil` where
  /// it cannot be set.
  ///
  /// An output's fields lie where those of capturing do (`v4l2_outputparm`).
  ///
  /// The corresponding C function is `v4l2_ioctl` with `VIDIOC_S_PARM`.
  public mutating func setInterval(_ interval: V4L2Interval) throws(V4L2Error) -> V4L2Interval? {
    var wanted = v4l2_streamparm()
    wanted.type = bufferType
    unsafe wanted.parm.capture.timeperframe.numerator = interval.numerator
    unsafe wanted.parm.capture.timeperframe.denominator = interval.denominator
    guard request(SPROCKET_VIDIOC_S_PARM, &wanted) else {
      if errno == ENOTTY || errno == EINVAL { return nil }
      throw failure("VIDIOC_S_PARM")
    }
    let capture = unsafe wanted.parm.capture
    guard capture.capability & UInt32(V4L2_CAP_TIMEPERFRAME) != 0,
      capture.timeperframe.numerator > 0, capture.timeperframe.denominator > 0
    else { return nil }
    return V4L2Interval(capture.timeperframe.numerator, capture.timeperframe.denominator)
  }
}
