public import SprocketCore
internal import SprocketPixels

/// What a tensor of frames of one format is made of: its shape, where its pixels lie in the picture, and by
/// how much the picture may be reduced before.
public struct TensorPlan: Sendable {
  public let settings: TensorSettings
  public let format: FrameFormat
  /// Of each region, in pixels.
  public let width: Int
  public let height: Int
  public var channelCount: Int { settings.usedChannels.count }
  public var regionCount: Int { regions.count }
  /// Bytes of a frame's tensor.
  public let byteCount: Int
  /// What a packer reads of each frame.
  public let parts: FrameParts
  /// By how much the picture may be reduced while it is decoded.
  public let scale: LumaScale
  let regions: [PlacedRegion]
  /// The source's pixels, if they are copied; `nil` if the tensor is made of the image.
  let sourcePixels: SourcePixels?

  /// Most bytes of a frame's tensor, 1 GB. Larger: larger tensors, each in a slot of its own.
  static let mostBytes = 1 << 30

  /// Largest number of half precision (IEEE 754).
  private static let mostHalf: Float = 65_504

  /// `source` is the format of the source's frames, if no stage writes to them: RGB of those is taken as it
  /// is. Throws `.usage` for settings that these frames cannot have.
  public init(
    _ settings: TensorSettings, for format: FrameFormat, untouched source: FrameFormat? = nil
  ) throws(RunError) {
    try self.init(settings, for: format, untouched: source, limit: Self.mostBytes)
  }

  /// `limit`: most bytes of a frame's tensor.
  package init(
    _ settings: TensorSettings, for format: FrameFormat, untouched source: FrameFormat? = nil,
    limit: Int
  ) throws(RunError) {
    let image = try format.picture()
    let deviations = settings.deviation.values
    let isUsable = { (value: Double) in (1e-6...1e6).contains(abs(value)) }
    guard isUsable(settings.usedScale), (0..<3).allSatisfy({ isUsable(deviations[$0]) }) else {
      throw RunError(
        .usage,
        "scale=\(settings.usedScale.settingText) and std=\(settings.deviation.settingText) make no "
          + "numbers that a tensor can hold; give values from 0.000001 to 1000000")
    }
    let most = TensorColor(settings, format).channels.map { max(abs($0.least), abs($0.most)) }.max()
    guard settings.usedElement != .f16 || (most ?? 0) <= Self.mostHalf else {
      throw RunError(
        .usage,
        "scale, mean and std make numbers as large as \(most ?? 0), and f16 holds 65504 at most; give a "
          + "smaller scale, or type=f32")
    }
    let regions = settings.regions.regions.map { region in
      let (columns, rows) = region.pixels(width: format.width, height: format.height)
      return PixelRectangle(columns: columns, rows: rows)
    }
    let sizes = regions.map { TensorSize(width: $0.columns.count, height: $0.rows.count) }
    guard let size = settings.size ?? sizes.first,
      settings.size != nil || sizes.allSatisfy({ $0 == size })
    else {
      throw RunError(
        .usage,
        "the regions of a tensor differ in size; say which size they shall have: size=640x640")
    }
    let aspect = format.presentation.pixelAspect
    let pixelAspect = aspect.isOblong ? Double(aspect.width) / Double(aspect.height) : 1
    // Without a size, pixels stay as they are, whatever their aspect.
    let fit = settings.size == nil ? .stretch : settings.fit
    self.regions = regions.map { PlacedRegion($0, in: size, fit, pixelAspect: pixelAspect) }
    let channels = settings.usedChannels.count
    let (count, isTooLarge) = (size.width * size.height).multipliedReportingOverflow(
      by: channels * settings.usedElement.bytes * regions.count)
    guard !isTooLarge, count <= limit else {
      throw RunError(
        .usage,
        "a tensor of \(regions.count)x\(channels)x\(size.height)x\(size.width) takes more than "
          + "\(Self.mostBytes >> 20) MB; use a smaller size, or fewer regions")
    }
    (self.settings, self.format) = (settings, format)
    (width, height) = (size.width, size.height)
    byteCount = count
    let least = self.regions.map { min($0.stepX, $0.stepY) }.min() ?? 1
    let isReducible = format.pixelFormat.isEncoded && !settings.isExact && image.subsampling != nil
    scale =
      isReducible
      ? LumaScale.allCases.last { Double($0.divisor) <= least } ?? .full : .full
    let isPlain = Self.isPlain(settings, size, self.regions, format)
    isPlainPicture = isPlain && settings.usedElement == .u8 && settings.usedScale == 1
    sourcePixels = isPlain ? source.flatMap { SourcePixels($0, for: settings) } : nil
    parts = sourcePixels == nil ? .reducedImage(scale) : .encoded
    guard settings.usedChannels != .rgba || sourcePixels != nil else {
      throw RunError(.usage, SourcePixels.whyNoAlpha(of: source))
    }
  }

  /// Whether each tensor is the picture itself, pixel for pixel, in bytes as they are.
  let isPlainPicture: Bool

  /// Whether each tensor is the picture itself, pixel for pixel, but for its scale.
  private static func isPlain(
    _ settings: TensorSettings, _ size: TensorSize, _ regions: [PlacedRegion], _ format: FrameFormat
  ) -> Bool {
    let region = regions[0]
    return regions.count == 1 && size.width == format.width && size.height == format.height
      && region.stepX == 1 && region.stepY == 1 && region.firstX == 0 && region.firstY == 0
      && settings.mean == ChannelValues(0) && settings.deviation == ChannelValues(1)
  }

  /// What a user should know, of the sink that hands it on.
  public func notes(of sink: String) -> [String] {
    scale == .full
      ? []
      : [
        "\(sink): where nothing else reads the picture, JPEGs are decoded at 1/\(scale.divisor), for "
          + "\(width)x\(height) of \(format.width)x\(format.height); exact=true decodes them in full"
      ]
  }

  /// Where the pixels of an entry of the first axis lie in the picture.
  public func pictureFromTensor(region index: Int) -> Projection {
    let region = regions[index]
    return Projection(
      scaleX: region.stepX, scaleY: region.stepY, shiftX: region.firstX, shiftY: region.firstY)
  }
}

/// A rectangle of whole pixels.
struct PixelRectangle: Sendable {
  var columns: Range<Int>
  var rows: Range<Int>
}

/// Where a region of the picture comes to lie in a tensor.
struct PlacedRegion: Sendable {
  /// The part of the tensor that the picture covers.
  let columns: Range<Int>
  let rows: Range<Int>
  /// Pixels of the picture from one of the tensor's to the next.
  let stepX: Double
  let stepY: Double
  /// Where (0, 0) of the tensor lies in the picture.
  let firstX: Double
  let firstY: Double

  init(
    _ region: PixelRectangle, in size: TensorSize, _ fit: TensorSettings.Fit, pixelAspect: Double
  ) {
    let (width, height) = (Double(region.columns.count), Double(region.rows.count))
    let (across, down) = (Double(size.width), Double(size.height))
    // How much a pixel of the picture grows, in tensor pixels; as it is seen, oblong pixels made square.
    let (growX, growY) = (across / (width * pixelAspect), down / height)
    switch fit {
    case .stretch:
      (columns, rows) = (0..<size.width, 0..<size.height)
      (stepX, stepY) = (width / across, height / down)
    case .fill:
      (columns, rows) = (0..<size.width, 0..<size.height)
      let grow = max(growX, growY)
      (stepX, stepY) = (1 / (grow * pixelAspect), 1 / grow)
    case .letterbox:
      // Whole pixels, as is usual before a detector.
      let grow = min(growX, growY)
      let wide = min(max(Int((width * pixelAspect * grow).rounded()), 1), size.width)
      let high = min(max(Int((height * grow).rounded()), 1), size.height)
      let (left, top) = ((size.width - wide) / 2, (size.height - high) / 2)
      (columns, rows) = (left..<left + wide, top..<top + high)
      (stepX, stepY) = (width / Double(wide), height / Double(high))
    }
    // The middle of the region lies in the middle of the part that is covered.
    let middleX = Double(columns.lowerBound) + Double(columns.count) / 2 - 0.5
    let middleY = Double(rows.lowerBound) + Double(rows.count) / 2 - 0.5
    firstX = Double(region.columns.lowerBound) + width / 2 - 0.5 - middleX * stepX
    firstY = Double(region.rows.lowerBound) + height / 2 - 0.5 - middleY * stepY
  }

  /// Tables for a plane of the picture with a sample for each `columns` by `rows` pixels, the first of which
  /// lies at (`left`, `top`).
  func tables(
    _ filter: ResamplingFilter, width: Int, height: Int, perColumns: Double, perRows: Double,
    left: Double, top: Double
  ) -> PlaneResampler {
    let firstX = firstX + Double(columns.lowerBound) * stepX
    let firstY = firstY + Double(rows.lowerBound) * stepY
    return PlaneResampler(
      columns: ResamplingTable(
        filter, sourceCount: width, count: columns.count, first: (firstX - left) / perColumns,
        step: stepX / perColumns),
      rows: ResamplingTable(
        filter, sourceCount: height, count: rows.count, first: (firstY - top) / perRows,
        step: stepY / perRows))
  }
}
