public import SprocketCore
internal import SprocketPixels

/// Makes a tensor of each frame, straight from the planes of its picture: region, size, colour,
/// normalisation and layout in one pass over its rows.
///
/// Numbers are computed in 32-bit floating point, and rounded once, when they are stored. One instance
/// serves one thread. Memory is allocated when it is made.
@safe
public final class TensorPacker: Packer {
  private let plan: TensorPlan
  private let color: TensorColor
  /// What makes the tensor without numbers in between; `nil` where nothing does.
  private let shortcut: PictureShortcut?
  private let source: SourceRows?
  private var rows: PictureRows?
  /// By region, for each scale up to the plan's: another sink may need a larger picture.
  private var packers: [[RegionPacker]]

  /// For frames of `plan.format`. Costs tables of a few kilobytes for each region.
  public init(_ plan: TensorPlan) {
    self.plan = plan
    color = TensorColor(plan.settings, plan.format)
    source = SourceRows(plan)
    shortcut = source == nil ? PictureShortcut(plan) : nil
    rows = source == nil && shortcut == nil ? PictureRows(plan) : nil
    packers = LumaScale.allCases.prefix(Int(plan.scale.rawValue) + 1).map { scale in
      plan.regions.indices.map { RegionPacker(plan, region: $0, reducedBy: scale) }
    }
  }

  /// Bytes that a packer allocates.
  public static func workingBytes(_ plan: TensorPlan) -> Int {
    let rows = 12 * plan.width * plan.channelCount
    let tables = 16 * (plan.width + plan.height) + 8 * plan.format.width
    return (Int(plan.scale.rawValue) + 1) * plan.regionCount * (rows + tables)
  }

  /// Fills the first `plan.byteCount` of `bytes`, which begin at an address that is a multiple of 4. A
  /// picture that is reduced more than the plan allows cannot be packed.
  public func pack(_ frame: borrowing FrameView, into bytes: inout MutableSpan<UInt8>) -> Int? {
    pad(&bytes)
    return packPadded(frame, into: &bytes)
  }

  /// Fills what pictures do not cover: the same for all frames.
  public func pad(_ bytes: inout MutableSpan<UInt8>) {
    guard bytes.count >= plan.byteCount else { return }
    for region in plan.regions.indices { packers[0][region].pad(color, &bytes) }
  }

  /// As `pack`, into bytes that a call of `pad` has filled before, and other frames since then.
  public func packPadded(
    _ frame: borrowing FrameView, into bytes: inout MutableSpan<UInt8>
  ) -> Int? {
    guard bytes.count >= plan.byteCount else { return nil }
    if let source { return source.pack(frame.sourcePlane(0), into: &bytes) ? plan.byteCount : nil }
    let image = frame.reducedImage(plan.scale)
    let scale = Int(frame.imageScale.rawValue)
    guard scale < packers.count else { return nil }
    if scale == 0, let shortcut {
      shortcut.pack(image, into: &bytes)
      return plan.byteCount
    }
    if scale == 0, rows != nil {
      rows!.pack(image, into: &bytes)
      return plan.byteCount
    }
    for region in plan.regions.indices {
      packers[scale][region].pack(image, color, into: &bytes)
    }
    return plan.byteCount
  }
}

/// Makes one entry of the first axis.
@safe
private struct RegionPacker {
  private let region: PlacedRegion
  private let index: Int
  private let width: Int
  private let height: Int
  private let element: TensorSettings.Element
  private let isInterleaved: Bool
  private let isDeep: Bool
  private let hasChroma: Bool
  private var luma: PlaneResampler
  private var chroma: PlaneResampler?
  // Rows of the part that the picture covers.
  private var y: [Float]
  private var u: [Float]
  private var v: [Float]
  private var numbers: [[Float]]
  private var words: [[UInt16]]
  private var bytes: [[UInt8]]

  init(_ plan: TensorPlan, region index: Int, reducedBy scale: LumaScale) {
    region = plan.regions[index]
    self.index = index
    (width, height) = (plan.width, plan.height)
    let settings = plan.settings
    element = settings.usedElement
    isInterleaved = settings.usedOrder == .nhwc && settings.usedChannels != .gray
    let (format, image) = (plan.format, plan.format.image ?? .grey)
    isDeep = image.isDeep
    hasChroma = !image.isGrey && settings.usedChannels != .gray
    let (across, down) = format.lumaSize(scale)
    let divisor = Double(scale.divisor)
    // A sample stands for a square of the picture's, and lies in its middle.
    let first = (divisor - 1) / 2
    luma = region.tables(
      settings.filter, width: across, height: down, perColumns: divisor, perRows: divisor,
      left: first, top: first)
    if hasChroma {
      let grid = format.sampleGrid(plane: 1)
      chroma = region.tables(
        settings.filter, width: (across + grid.columns - 1) / grid.columns,
        height: (down + grid.rows - 1) / grid.rows, perColumns: divisor * Double(grid.columns),
        perRows: divisor * Double(grid.rows), left: first + divisor * grid.left,
        top: first + divisor * grid.top)
    }
    let count = region.columns.count
    // Each with memory of its own: what is shared is copied when it is written.
    y = Array(repeating: 0, count: count)
    u = Array(repeating: 0, count: hasChroma ? count : 0)
    v = Array(repeating: 0, count: hasChroma ? count : 0)
    numbers = (0..<plan.channelCount).map { _ in Array(repeating: 0, count: count) }
    words = (0..<plan.channelCount).map { _ in Array(repeating: 0, count: count) }
    bytes = (0..<plan.channelCount).map { _ in Array(repeating: 0, count: count) }
  }

  mutating func pack(
    _ image: borrowing ImageView, _ color: TensorColor, into target: inout MutableSpan<UInt8>
  ) {
    let origin = index * width * height * color.channels.count
    for row in region.rows {
      makeRow(row - region.rows.lowerBound, image, color)
      store(row, color, origin, into: &target)
    }
  }

  /// Makes the numbers of a row, and their elements.
  private mutating func makeRow(_ row: Int, _ image: borrowing ImageView, _ color: TensorColor) {
    resample(row, &luma, image[plane: 0], isDeep: isDeep, into: &y)
    if hasChroma, chroma != nil {
      resample(row, &chroma!, image[plane: 1], isDeep: isDeep, into: &u)
      resample(row, &chroma!, image[plane: 2], isDeep: isDeep, into: &v)
    }
    // Planes of them are made where they belong.
    guard isInterleaved || element != .f32 else { return }
    for index in color.channels.indices {
      mix(y, u, v, hasChroma: hasChroma, color.channels[index], into: &numbers[index])
      switch element {
      case .u8: round(numbers[index], into: &bytes[index])
      case .f16: halve(numbers[index], into: &words[index])
      case .bf16: cut(numbers[index], into: &words[index])
      case .u16: round(numbers[index], into: &words[index])
      case .f32: break
      }
    }
  }

  /// Stores a row. `origin` is the entry's first element.
  private func store(
    _ row: Int, _ color: TensorColor, _ origin: Int, into target: inout MutableSpan<UInt8>
  ) {
    let (count, left) = (region.columns.count, region.columns.lowerBound)
    guard !isInterleaved else {
      let start = origin + 3 * (row * width + left)
      let range = start..<start + 3 * count
      switch element {
      case .u8: target.withElements(range) { interleave(bytes, into: &$0) }
      case .f16, .bf16, .u16: target.withElements(range) { interleave(words, into: &$0) }
      case .f32: target.withElements(range) { interleave(numbers, into: &$0) }
      }
      return
    }
    for channel in numbers.indices {
      let start = origin + (channel * height + row) * width + left
      let range = start..<start + count
      switch element {
      case .u8: target.withElements(range) { copy(bytes[channel], into: &$0) }
      case .f16, .bf16, .u16: target.withElements(range) { copy(words[channel], into: &$0) }
      case .f32:
        target.withElements(range) {
          mix(y, u, v, hasChroma: hasChroma, color.channels[channel], into: &$0)
        }
      }
    }
  }

  /// Fills what the picture does not cover.
  func pad(_ color: TensorColor, _ target: inout MutableSpan<UInt8>) {
    let origin = index * width * height * color.channels.count
    guard region.columns.count < width || region.rows.count < height else { return }
    for row in 0..<height {
      if region.rows.contains(row) {
        pad(row, 0..<region.columns.lowerBound, color, origin, &target)
        pad(row, region.columns.upperBound..<width, color, origin, &target)
      } else {
        pad(row, 0..<width, color, origin, &target)
      }
    }
  }

  private func pad(
    _ row: Int, _ gap: Range<Int>, _ color: TensorColor, _ origin: Int,
    _ target: inout MutableSpan<UInt8>
  ) {
    guard !gap.isEmpty else { return }
    for channel in color.channels.indices {
      let pad = color.channels[channel].pad
      let step = isInterleaved ? color.channels.count : 1
      let start =
        isInterleaved
        ? origin + (row * width + gap.lowerBound) * step + channel
        : origin + (channel * height + row) * width + gap.lowerBound
      let range = start..<start + (gap.count - 1) * step + 1
      switch element {
      case .u8: target.withElements(range) { fill(&$0, with: rounded(pad), step: step) }
      case .f16: target.withElements(range) { fill(&$0, with: halved(pad), step: step) }
      case .bf16: target.withElements(range) { fill(&$0, with: cut(pad), step: step) }
      case .u16: target.withElements(range) { fill(&$0, with: roundedWord(pad), step: step) }
      case .f32: target.withElements(range) { fill(&$0, with: pad, step: step) }
      }
    }
  }
}

private func mix(
  _ y: [Float], _ u: [Float], _ v: [Float], hasChroma: Bool, _ channel: TensorColor.Channel,
  into row: inout [Float]
) {
  var target = row.mutableSpan
  mix(y, u, v, hasChroma: hasChroma, channel, into: &target)
}

func resample(
  _ row: Int, _ resampler: inout PlaneResampler, _ plane: borrowing Plane, isDeep: Bool,
  into numbers: inout [Float]
) {
  var target = numbers.mutableSpan
  resampler.makeRow(row, of: plane, isDeep: isDeep, into: &target)
}

extension MutableSpan where Element == UInt8 {
  /// Calls `body` with elements of a row in which they begin at an address that suits them.
  mutating func withElements<Number: BitwiseCopyable>(
    _ range: Range<Int>, _ body: (inout MutableSpan<Number>) -> Void
  ) {
    let size = MemoryLayout<Number>.size
    precondition(range.lowerBound >= 0 && range.upperBound * size <= count)
    unsafe withUnsafeMutableBytes { memory in
      let start = unsafe memory.baseAddress.unsafelyUnwrapped + range.lowerBound * size
      var elements = unsafe MutableSpan<Number>(
        _unsafeStart: start.assumingMemoryBound(to: Number.self), count: range.count)
      body(&elements)
    }
  }
}
