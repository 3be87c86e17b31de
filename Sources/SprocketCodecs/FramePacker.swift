public import SprocketCore
internal import SprocketPixels
internal import SprocketYUV

/// Makes of each picture a frame of another pixel format with 8 bits per sample, as video devices take it:
/// planes one behind the other, rows without padding.
///
/// Where the chroma of both lies alike, bytes are rearranged and keep their values. Else chroma is resampled,
/// and samples of more bits are rounded; the range stays what it is. RGB is made as by `TensorPacker`: full
/// range. One instance serves one thread. Memory is allocated when it is made.
@safe
public final class FramePacker: Packer {
  private enum Way {
    case color(TensorPacker)
    case rearranged
    case resampled
  }

  private let target: PixelFormat
  private let format: FrameFormat
  private let way: Way
  private var rows: [RowMaker] = []
  /// Where the target's planes lie.
  private let places: [(bytes: Range<Int>, stride: Int)]
  /// Of a frame.
  public let byteCount: Int

  /// Whether frames of that size can be made: not of odd ones, where chroma belongs to pairs of pixels.
  public static func canMake(_ target: PixelFormat, width: Int, height: Int) -> Bool {
    switch target.layout {
    case .planar(.yuv420, .eight, _), .semiPlanar420:
      width.isMultiple(of: 2) && height.isMultiple(of: 2)
    case .packed422: width.isMultiple(of: 2)
    case .planar(.gray, .eight, _), .rgb(.rgb), .rgb(.bgr): true
    case .encoded, .planar, .semiPlanar420Words, .packedGray, .rgb, .rgbWords, .bayer: false
    }
  }

  /// Throws for pictures that there are none of, and for a target that cannot be made.
  public init(_ target: PixelFormat, of format: FrameFormat) throws(RunError) {
    let image = try format.picture()
    guard Self.canMake(target, width: format.width, height: format.height) else {
      throw RunError(
        .usage,
        "\(target.settingText) cannot be made of pictures of \(format.width)x\(format.height); choose "
          + "another format, or an even size", change: .size)
    }
    self.target = target
    self.format = format
    byteCount = target.byteCount(width: format.width, height: format.height)
    var start = 0
    places = (0..<target.planeCount).map { index in
      let size = target.plane(index, width: format.width, height: format.height)
      defer { start += size.bytesPerRow * size.rows }
      return (start..<start + size.bytesPerRow * size.rows, size.bytesPerRow)
    }
    if let order = target.rgbOrder {
      var settings = TensorSettings()
      settings.layout = order == .rgb ? .rgb : .bgr
      way = .color(TensorPacker(try TensorPlan(settings, for: format)))
      return
    }
    let wanted = target.chroma
    let isAlike = image.subsampling == wanted || wanted == .gray
    // The chroma of a grey picture is the same everywhere.
    let isGreyed = image.isGrey && wanted == .yuv420
    way = !image.isDeep && (isAlike || isGreyed) ? .rearranged : .resampled
    guard case .resampled = way else { return }
    rows = [RowMaker(format, to: target, plane: 0)]
    if wanted != .gray, !image.isGrey {
      rows += [RowMaker(format, to: target, plane: 1), RowMaker(format, to: target, plane: 2)]
    }
  }

  /// Bytes that a packer allocates.
  public static func workingBytes(_ format: FrameFormat) -> Int {
    64 * (format.width + format.height)
  }

  /// Fills the first `byteCount` of `bytes`.
  public func pack(_ frame: borrowing FrameView, into bytes: inout MutableSpan<UInt8>) -> Int? {
    guard bytes.count >= byteCount else { return nil }
    switch way {
    case .color(let packer): return packer.packPadded(frame, into: &bytes)
    case .rearranged: rearrange(frame.image, into: &bytes)
    case .resampled: resample(frame.image, into: &bytes)
    }
    return byteCount
  }

  private func rearrange(_ image: borrowing ImageView, into bytes: inout MutableSpan<UInt8>) {
    let (width, height) = (format.width, format.height)
    unsafe bytes.withUnsafeMutableBufferPointer { memory in
      func plane(_ index: Int) -> MutablePlaneBytes {
        unsafe MutablePlaneBytes(
          UnsafeMutableBufferPointer(rebasing: memory[places[index].bytes]),
          stride: places[index].stride)
      }
      image.withPlanes { luma, blue, red in
        if case .packed422(let order) = target.layout {
          guard let blue, let red else { return }
          return PixelConversion.pack422(
            y: luma, u: blue, v: red, to: plane(0), order, width: width, height: height)
        }
        PixelConversion.copy(luma, to: plane(0), bytesPerRow: width, rows: height)
        guard target.planeCount > 1 else { return }
        guard let blue, let red else {
          return unsafe memory[places[1].bytes.lowerBound..<byteCount].update(repeating: 128)
        }
        let (first, second) = target.isRedFirst ? (red, blue) : (blue, red)
        if target.planeCount == 2 {
          PixelConversion.merge(
            first: first, second: second, to: plane(1), width: width / 2, height: height / 2)
        } else {
          PixelConversion.copy(first, to: plane(1), bytesPerRow: width / 2, rows: height / 2)
          PixelConversion.copy(second, to: plane(2), bytesPerRow: width / 2, rows: height / 2)
        }
      }
    }
  }

  private func resample(_ image: borrowing ImageView, into bytes: inout MutableSpan<UInt8>) {
    let (width, height) = (format.width, format.height)
    let isPacked = target.planeCount == 1 && target.chroma != .gray
    for y in 0..<height {
      rows[0].make(y, of: image[plane: 0])
      if !isPacked {
        rows[0].store(&bytes, at: y * width, step: 1)
        continue
      }
      let isLumaFirst = target == .yuyv
      let start = 2 * y * width
      rows[0].store(&bytes, at: start + (isLumaFirst ? 0 : 1), step: 2)
      storeChroma(
        y, image, &bytes, at: (start + (isLumaFirst ? 1 : 0), start + (isLumaFirst ? 3 : 2)),
        step: 4)
    }
    guard !isPacked, target.chroma != .gray else { return }
    let area = width * height
    for y in 0..<height / 2 {
      if target.planeCount == 2 {
        let start = area + y * width
        storeChroma(y, image, &bytes, at: (start, start + 1), step: 2)
      } else {
        let start = area + y * (width / 2)
        storeChroma(y, image, &bytes, at: (start, start + area / 4), step: 1)
      }
    }
  }

  /// `places` are those of the first sample of each of the target's two components.
  private func storeChroma(
    _ y: Int, _ image: borrowing ImageView, _ bytes: inout MutableSpan<UInt8>,
    at places: (first: Int, second: Int), step: Int
  ) {
    guard rows.count == 3 else {
      for x in 0..<format.width / 2 {
        bytes[places.first + x * step] = 128
        bytes[places.second + x * step] = 128
      }
      return
    }
    rows[1].make(y, of: image[plane: 1])
    rows[2].make(y, of: image[plane: 2])
    let isRedFirst = target.isRedFirst
    rows[isRedFirst ? 2 : 1].store(&bytes, at: places.first, step: step)
    rows[isRedFirst ? 1 : 2].store(&bytes, at: places.second, step: step)
  }
}

/// Makes rows of a plane with 8 bits per sample, of a plane with other samples in other places.
private struct RowMaker {
  private var resampler: PlaneResampler
  private let isDeep: Bool
  private let gain: Float
  private let offset: Float
  private var numbers: [Float]

  init(_ format: FrameFormat, to target: PixelFormat, plane: Int) {
    let image = format.image ?? .grey
    let (from, to) = (
      image.plane(plane, width: format.width, height: format.height),
      target.sampleCount(plane, width: format.width, height: format.height)
    )
    var made = format
    made.image = target.chroma == .yuv420 ? .i420 : .yuv422p
    let (old, new) = (format.sampleGrid(plane: plane), made.sampleGrid(plane: plane))
    resampler = PlaneResampler(
      columns: ResamplingTable(
        .area, sourceCount: image.isDeep ? from.bytesPerRow / 2 : from.bytesPerRow,
        count: to.columns,
        first: (new.left - old.left) / Double(old.columns),
        step: Double(new.columns) / Double(old.columns)),
      rows: ResamplingTable(
        .area, sourceCount: from.rows, count: to.rows,
        first: (new.top - old.top) / Double(old.rows),
        step: Double(new.rows) / Double(old.rows)))
    isDeep = image.isDeep
    // ITU-T H.273, equations 20 to 31: limited range keeps its levels, full range its ends and its middle.
    let one = Float(1 << (image.bitsPerSample - 8))
    let gain = format.color.range == .full ? 255 / (256 * one - 1) : 1 / one
    self.gain = gain
    offset = plane == 0 ? 0 : 128 - 128 * one * gain
    numbers = Array(repeating: 0, count: to.columns)
  }

  mutating func make(_ y: Int, of plane: borrowing Plane) {
    resample(y, &resampler, plane, isDeep: isDeep, into: &numbers)
  }

  func store(_ bytes: inout MutableSpan<UInt8>, at start: Int, step: Int) {
    let row = numbers.span
    var place = start
    for x in 0..<row.count {
      bytes[place] = rounded(min(max(row[x] * gain + offset, 0), 255))
      place &+= step
    }
  }
}

extension PixelFormat {
  /// The chroma of a format that `FramePacker` makes.
  fileprivate var chroma: ChromaSubsampling {
    switch layout {
    case .planar(let subsampling, _, _): subsampling
    case .semiPlanar420, .semiPlanar420Words: .yuv420
    case .packedGray: .gray
    case .packed422: .yuv422
    case .encoded, .rgb, .rgbWords, .bayer: .yuv444
    }
  }

  fileprivate var isRedFirst: Bool {
    switch layout {
    case .planar(_, _, .redFirst), .semiPlanar420(.redFirst): true
    case .planar, .semiPlanar420, .semiPlanar420Words, .packedGray, .encoded, .packed422, .rgb,
      .rgbWords, .bayer:
      false
    }
  }

  /// Samples of one component.
  fileprivate func sampleCount(_ plane: Int, width: Int, height: Int) -> (columns: Int, rows: Int) {
    plane == 0
      ? (width, height)
      : (width / chroma.horizontalFactor, height / chroma.verticalFactor)
  }
}
