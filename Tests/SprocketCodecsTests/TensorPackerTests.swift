import CSprocketAllocations
import SprocketCore
import SprocketPixels
import SprocketTestMemory
import TestExpectations
import Testing

@testable import SprocketCodecs

/// Every format, fit, filter and layout at odd sizes, each number against a twin in double precision that
/// knows nothing of rows or tables.
@Test(arguments: 1...60)
func aTensorIsWhatItsDefinitionSays(_ seed: Int) throws {
  var random = TestRandom(seed: UInt64(seed))
  let trial = try TensorTrial(&random)
  let found = trial.packed
  let twin = TensorTwin(trial)
  for entry in 0..<trial.plan.regionCount {
    for channel in 0..<trial.plan.channelCount {
      for y in 0..<trial.plan.height {
        for x in 0..<trial.plan.width {
          let expected = twin.number(entry, channel, x, y)
          let number = found[trial.index(entry, channel, x, y)]
          expectAtMost(abs(number - expected), trial.tolerance, "\(trial) at \(x), \(y)")
          guard abs(number - expected) <= trial.tolerance else { return }
        }
      }
    }
  }
}

/// Compares the fixed-point conversion of 4:2:0 and 4:2:2 with the definition, for every matrix and range.
@Test func aPictureInFixedPointIsAtMostOneLevelOff() throws {
  var random = TestRandom(seed: 5)
  var (count, exact) = (0, 0)
  for _ in 0..<90 {
    let trial = try TensorTrial(&random, isPicture: true)
    guard PictureRows(trial.plan) != nil, PictureShortcut(trial.plan) == nil else { continue }
    let (found, twin) = (trial.packed, TensorTwin(trial))
    for y in 0..<trial.plan.height {
      for x in 0..<trial.plan.width {
        for channel in 0..<3 {
          let expected = twin.number(0, channel, x, y).rounded()
          let off = abs(found[trial.index(0, channel, x, y)] - expected)
          guard off <= 1 else { return expectAtMost(off, 1, "\(trial) at \(x), \(y)") }
          count += 1
          exact += off == 0 ? 1 : 0
        }
      }
    }
  }
  expectGreater(count, 20_000)
  expectGreater(Double(exact) / Double(count), 0.94)
}

/// Gray pictures of either range.
@Test func aGrayPictureIsTheNearestLevel() throws {
  var random = TestRandom(seed: 7)
  var count = 0
  for _ in 0..<60 {
    let trial = try TensorTrial(&random, isPicture: true)
    guard trial.plan.settings.layout == .gray else { continue }
    expectTrue(PictureShortcut(trial.plan) != nil, "\(trial)")
    let (found, twin) = (trial.packed, TensorTwin(trial))
    for y in 0..<trial.plan.height {
      for x in 0..<trial.plan.width {
        let expected = twin.number(0, 0, x, y).rounded()
        expectEqual(found[trial.index(0, 0, x, y)], expected, "\(trial) at \(x), \(y)")
        count += 1
      }
    }
  }
  expectGreater(count, 2_000)
}

@Test func packingATensorAllocatesNothing() throws {
  var random = TestRandom(seed: 3)
  for _ in 0..<8 {
    let trial = try TensorTrial(&random)
    expectEqual(trial.allocations, 0, "\(trial)")
  }
}

/// Another sink may need a larger picture than this one.
@Test func aTensorIsTheSameOfEachSmallerReduction() throws {
  let format = FrameFormat(
    pixelFormat: .mjpeg, image: .i420, width: 640, height: 480, color: .jpeg, rate: .unknown)
  var settings = TensorSettings()
  settings.size = TensorSize(width: 60, height: 45)
  settings.filter = .area
  let plan = try TensorPlan(settings, for: format)
  expectEqual(plan.scale, .eighth)
  let packer = TensorPacker(plan)
  for scale in LumaScale.allCases {
    // Luma that rises along the rows, as reduced pictures have it, too.
    let (width, height) = format.lumaSize(scale)
    let row = (0..<width).map { UInt8(($0 * scale.divisor + scale.divisor / 2) * 255 / 640) }
    let grey = [[UInt8]](repeating: [UInt8](repeating: 128, count: width / 2), count: height / 2)
    let slot = TestSlot()
    slot.deliver([[[UInt8]](repeating: row, count: height), grey, grey], padding: 6)
    slot.takeImage(version: .unpacked)
    slot.enterLane()
    var bytes = [UInt8](repeating: 0, count: plan.byteCount)
    let count = slot.show(format, plan.parts, imageScale: scale) { view in
      var target = bytes.mutableSpan
      return packer.pack(view, into: &target)
    }
    expectEqual(count, plan.byteCount)
    let found = TensorTrial.numbers(bytes, .f32)
    for x in 1..<59 {
      let expected = (Double(x) + 0.5) / 60
      expectLess(abs(found[x] - expected), 0.006, "1/\(scale.divisor), column \(x)")
    }
  }
}

/// The settings and the picture of one comparison.
struct TensorTrial: CustomStringConvertible {
  let plan: TensorPlan
  let planes: [[UInt8]]
  let packed: [Double]
  let allocations: Int

  var description: String {
    "\(plan.format.pixelFormat) \(plan.format.width)x\(plan.format.height) \(plan.settings)"
  }

  /// If `isPicture`, the tensor is the whole picture, in bytes.
  init(_ random: inout TestRandom, isPicture: Bool = false) throws {
    let formats = PixelFormat.allCases.filter { $0.isPlanar && $0.imageFormat == $0 }
    let halved = formats.filter { [.yuv420, .yuv422].contains($0.subsampling) && !$0.isDeep }
    let pixels = (isPicture ? halved : formats).randomElement(using: &random)!
    let format = Self.format(pixels, &random)
    var settings = TensorSettings()
    settings.layout = [.rgb, .bgr, .gray].randomElement(using: &random)!
    if !isPicture { settings = Self.settings(isDeep: pixels.isDeep, &random) }
    plan = try TensorPlan(settings, for: format)
    planes = (0..<pixels.planeCount).map { index in
      let size = pixels.plane(index, width: format.width, height: format.height)
      var bytes = TestPattern.random.bytes(size.bytesPerRow * size.rows, seed: random.next() | 1)
      guard pixels.isDeep else { return bytes }
      // Words of that many bits.
      let mask = UInt8(truncatingIfNeeded: (1 << pixels.bitsPerSample - 1) >> 8)
      for odd in stride(from: 1, to: bytes.count, by: 2) { bytes[odd] &= mask }
      return bytes
    }
    let slot = TestSlot()
    slot.deliver(
      planes.indices.map { [planes] index in
        let width = pixels.plane(index, width: format.width, height: format.height).bytesPerRow
        return stride(from: 0, to: planes[index].count, by: width).map {
          Array(planes[index][$0..<$0 + width])
        }
      }, padding: 6)
    slot.takeImage(version: .unpacked)
    slot.enterLane()
    var bytes = [UInt8](repeating: 0, count: plan.byteCount)
    var counted = 0
    // Twice, each time with a new packer: Swift makes what it knows of types when they are first used.
    for _ in 0..<2 {
      let packer = TensorPacker(plan)
      counted = slot.show(format, plan.parts) { view in
        var target = bytes.mutableSpan
        let before = sprocket_allocation_count()
        let count = packer.pack(view, into: &target)
        let after = sprocket_allocation_count()
        return count == target.count ? after - before : -1
      }
    }
    allocations = counted
    packed = Self.numbers(bytes, plan.settings.usedElement)
  }

  private static func format(_ pixels: PixelFormat, _ random: inout TestRandom) -> FrameFormat {
    var color = Color(
      range: Bool.random(using: &random) ? .full : .limited,
      matrix: [Color.Matrix.bt601, .bt709, .bt2020, .unspecified].randomElement(using: &random)!)
    color.chromaSite = Color.ChromaSite.allCases.randomElement(using: &random)!
    var format = FrameFormat(
      pixelFormat: pixels, width: Int.random(in: 1...41, using: &random),
      height: Int.random(in: 1...29, using: &random), color: color, rate: .unknown)
    if Int.random(in: 0...3, using: &random) == 0 {
      format.presentation.pixelAspect = PixelAspect(4, 3)
    }
    return format
  }

  private static func settings(isDeep: Bool, _ random: inout TestRandom) -> TensorSettings {
    var settings = TensorSettings()
    settings.layout = [.rgb, .bgr, .gray, .tensor].randomElement(using: &random)!
    settings.element = TensorSettings.Element.allCases.randomElement(using: &random)!
    settings.order = TensorSettings.Order.allCases.randomElement(using: &random)!
    settings.fit = TensorSettings.Fit.allCases.randomElement(using: &random)!
    settings.filter = ResamplingFilter.allCases.randomElement(using: &random)!
    if Bool.random(using: &random) || isDeep {
      settings.size = TensorSize(
        width: Int.random(in: 1...50, using: &random),
        height: Int.random(in: 1...50, using: &random))
    }
    if Bool.random(using: &random), settings.element != .u8, settings.element != .u16 {
      settings.mean = ChannelValues(0.4, 0.5, 0.6)
      settings.deviation = ChannelValues(0.5, -0.25, 2)
    }
    if Bool.random(using: &random), settings.size != nil {
      settings.regions = TensorRegions([
        Region(x: 0.1, y: 0.2, width: 0.5, height: 0.7),
        Region(x: 0.5, y: 0, width: 0.5, height: 1),
      ])
    }
    return settings
  }

  static func numbers(_ bytes: [UInt8], _ element: TensorSettings.Element) -> [Double] {
    func word(_ index: Int) -> UInt16 {
      UInt16(bytes[2 * index]) | UInt16(bytes[2 * index + 1]) << 8
    }
    let count = bytes.count / element.bytes
    return (0..<count).map { index in
      switch element {
      case .u8: Double(bytes[index])
      case .u16: Double(word(index))
      case .f16: Double(Float16(bitPattern: word(index)))
      case .bf16: Double(Float(bitPattern: UInt32(word(index)) << 16))
      case .f32:
        Double(Float(bitPattern: UInt32(word(2 * index)) | UInt32(word(2 * index + 1)) << 16))
      }
    }
  }

  func index(_ entry: Int, _ channel: Int, _ x: Int, _ y: Int) -> Int {
    plan.settings.usedOrder == .nchw
      ? ((entry * plan.channelCount + channel) * plan.height + y) * plan.width + x
      : ((entry * plan.height + y) * plan.width + x) * plan.channelCount + channel
  }

  /// Largest error: half a step of the numbers that are stored, which are below 4, or below 256.
  var tolerance: Double {
    switch plan.settings.usedElement {
    // Fixed point, of libyuv and our own, where it makes colour pictures.
    case .u8: PictureShortcut(plan) != nil ? 2.1 : PictureRows(plan) != nil ? 1.502 : 0.502
    case .f16: 0.002
    case .bf16: 0.0161
    case .f32: 2e-5
    // A Float of 65,535 has a resolution of 1/256; the result is rounded to whole numbers.
    case .u16: 0.55
    }
  }
}

/// Numbers of a tensor by their definition.
struct TensorTwin {
  let trial: TensorTrial
  private var format: FrameFormat { trial.plan.format }
  private var settings: TensorSettings { trial.plan.settings }

  init(_ trial: TensorTrial) { self.trial = trial }

  func number(_ entry: Int, _ channel: Int, _ x: Int, _ y: Int) -> Double {
    let shift = settings.mean.values[channel]
    let level = level(entry, channel, x, y) ?? settings.pad
    let number = (level * settings.usedScale - shift) / settings.deviation.values[channel]
    return switch settings.usedElement {
    case .u8: min(max(number, 0), 255)
    case .u16: min(max(number, 0), 65_535)
    case .f16, .f32, .bf16: number
    }
  }

  /// `nil` where the picture does not reach.
  private func level(_ entry: Int, _ channel: Int, _ x: Int, _ y: Int) -> Double? {
    let region = trial.plan.regions[entry]
    guard region.columns.contains(x), region.rows.contains(y) else { return nil }
    let place = trial.plan.pictureFromTensor(region: entry).apply(Double(x), Double(y))
    let unit = Double(1 << (format.image!.bitsPerSample - 8))
    let isFull = format.color.range == .full
    let luma = sample(0, place, region)
    let scaled = isFull ? luma * 255 / (256 * unit - 1) : (luma - 16 * unit) * 255 / (219 * unit)
    let channels = settings.usedChannels
    guard channels != .gray, format.image?.isGrey == false else { return min(max(scaled, 0), 255) }
    let gain = isFull ? 255 / (256 * unit - 1) : 255 / (224 * unit)
    let u = (sample(1, place, region) - 128 * unit) * gain
    let v = (sample(2, place, region) - 128 * unit) * gain
    let (red, blue): (Double, Double) =
      switch format.color.matrix {
      case .bt709: (0.2126, 0.0722)
      case .bt2020: (0.2627, 0.0593)
      case .bt601, .unspecified: (0.299, 0.114)
      }
    let levels = [
      scaled + 2 * (1 - red) * v,
      scaled - (2 * blue * (1 - blue) * u + 2 * red * (1 - red) * v) / (1 - red - blue),
      scaled + 2 * (1 - blue) * u,
    ]
    return min(max(levels[channels == .bgr ? 2 - channel : channel], 0), 255)
  }

  private func sample(_ plane: Int, _ place: (x: Double, y: Double), _ region: PlacedRegion)
    -> Double
  {
    let subsampling = format.image!.subsampling!
    let (across, down) =
      plane == 0 ? (1, 1) : (subsampling.horizontalFactor, subsampling.verticalFactor)
    let site = format.color.chromaSite
    let left = plane == 0 || site != .center ? 0 : Double(across - 1) / 2
    let top = plane == 0 || site == .topLeft ? 0 : Double(down - 1) / 2
    let size = format.image!.plane(plane, width: format.width, height: format.height)
    let bytes = format.image!.isDeep ? 2 : 1
    let columns = weights(
      (place.x - left) / Double(across), region.stepX / Double(across), size.bytesPerRow / bytes)
    let rows = weights((place.y - top) / Double(down), region.stepY / Double(down), size.rows)
    var sum = 0.0
    for (row, rowWeight) in rows {
      for (column, columnWeight) in columns {
        let at = row * size.bytesPerRow + column * bytes
        let high = bytes == 2 ? Int(trial.planes[plane][at + 1]) << 8 : 0
        sum += rowWeight * columnWeight * Double(Int(trial.planes[plane][at]) + high)
      }
    }
    return sum
  }

  private func weights(_ position: Double, _ step: Double, _ count: Int) -> [(Int, Double)] {
    let stretch = max(step, 1)
    let reach = Int(3 * stretch) + 3
    let middle = Int(position.rounded(.down))
    let all = (middle - reach...middle + reach).map { sample -> (Int, Double) in
      let distance = Double(sample) - position
      var weight = max(1 - abs(distance), 0)
      if settings.filter == .area, step > 1 {
        weight = max(min(distance + 0.5, stretch / 2) - max(distance - 0.5, -stretch / 2), 0)
      } else if settings.filter == .lanczos {
        let scaled = distance / stretch
        weight = abs(scaled) < 3 ? sinc(scaled) * sinc(scaled / 3) : 0
      }
      return (min(max(sample, 0), count - 1), weight)
    }
    let total = all.reduce(0) { $0 + $1.1 }
    return all.map { ($0.0, $0.1 / total) }
  }

  private func sinc(_ x: Double) -> Double {
    guard x != 0 else { return 1 }
    // The series of the sine converges for these few periods.
    let angle = Double.pi * x
    var (term, sum) = (angle, angle)
    for index in 1..<40 {
      let divisor = Double(2 * index * (2 * index + 1))
      term *= -angle * angle / divisor
      sum += term
    }
    return sum / angle
  }
}
