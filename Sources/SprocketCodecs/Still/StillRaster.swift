internal import Glibc
internal import SprocketCore
internal import SprocketPixels

/// The pixels of a PNG or TIFF: grey or red, green and blue, 8 bits or 16-bit words.
///
/// What a frame's samples become stands in `docs/stills.md`: RGB of the source and grey of full range keep
/// every bit; YUV becomes what `--pipe rgb` writes, of more than 8 bits the same in 16.
struct StillRaster: Sendable {
  enum Way: Sendable {
    /// The source's own bytes, which no stage changed.
    case source(RGBOrder)
    /// Grey of 10 to 16 bits and full range.
    case deepGrey(bits: Int)
    case bytes(TensorPlan)
    /// Floating-point numbers from 0 to 65535, which are rounded.
    case words(TensorPlan)
  }

  let way: Way
  let width: Int
  let height: Int
  /// 1 or 3.
  let samples: Int
  /// 8 or 16.
  let bits: Int
  /// Bits that the frame's samples have.
  let significantBits: Int
  let parts: FrameParts

  var byteCount: Int { width * height * samples * bits / 8 }
  /// Bytes that `StillRasterWriter` allocates.
  var workingBytes: Int {
    switch way {
    case .source, .deepGrey: 0
    case .bytes(let plan): TensorPacker.workingBytes(plan)
    case .words(let plan): TensorPacker.workingBytes(plan) + plan.byteCount
    }
  }

  init(_ format: FrameFormat, source: FrameFormat, isUntouched: Bool) throws(RunError) {
    (width, height) = (format.width, format.height)
    if isUntouched, let order = source.pixelFormat.rgbOrder {
      (way, samples, bits, significantBits, parts) = (.source(order), 3, 8, 8, .encoded)
      return
    }
    let image = try format.picture()
    significantBits = image.bitsPerSample
    bits = image.isDeep ? 16 : 8
    samples = image.isGrey ? 1 : 3
    if image.isDeep, image.isGrey, format.color.range == .full {
      (way, parts) = (.deepGrey(bits: image.bitsPerSample), .image)
      return
    }
    var settings = TensorSettings()
    settings.layout = image.isGrey ? .gray : .rgb
    settings.isExact = true
    if image.isDeep {
      settings.element = .f32
      settings.scale = 257
    }
    let plan = try TensorPlan(settings, for: format)
    (way, parts) = (image.isDeep ? .words(plan) : .bytes(plan), plan.parts)
  }
}

/// Fills memory with pixels. One instance serves one thread.
@safe
final class StillRasterWriter {
  private let raster: StillRaster
  private let packer: TensorPacker?
  /// Numbers of `.words`.
  private let numbers: UnsafeMutablePointer<UInt8>?
  private let numberBytes: Int

  init(_ raster: StillRaster) throws(RunError) {
    self.raster = raster
    switch raster.way {
    case .source, .deepGrey:
      packer = nil
      unsafe numbers = nil
      numberBytes = 0
    case .bytes(let plan):
      packer = TensorPacker(plan)
      unsafe numbers = nil
      numberBytes = 0
    case .words(let plan):
      packer = TensorPacker(plan)
      guard let memory = unsafe pictureMemory(plan.byteCount) else {
        throw RunError(
          .failed, "no memory to make stills of 16 bits; use a smaller size or fewer workers",
          change: .size, .workers)
      }
      unsafe numbers = unsafe memory
      numberBytes = plan.byteCount
    }
  }

  deinit { unsafe free(numbers) }

  /// Fills the first `raster.byteCount` bytes, words in the machine's order; false where it cannot.
  func write(_ frame: borrowing FrameView, into bytes: inout MutableSpan<UInt8>) -> Bool {
    switch raster.way {
    case .source(let order):
      return copySource(frame.sourcePlane(0), order, into: &bytes)
    case .deepGrey(let depth):
      spread(frame.image[plane: 0], depth, into: &bytes)
      return true
    case .bytes:
      return packer?.pack(frame, into: &bytes) != nil
    case .words:
      guard let packer, let numbers = unsafe numbers else { return false }
      var memory = unsafe MutableSpan(_unsafeStart: numbers, count: numberBytes)
      guard packer.pack(frame, into: &memory) != nil else { return false }
      unsafe numbers.withMemoryRebound(to: Float.self, capacity: numberBytes / 4) { floats in
        unsafe round(
          Span(_unsafeStart: UnsafePointer(floats), count: numberBytes / 4), into: &bytes)
      }
      return true
    }
  }

  private func copySource(
    _ plane: borrowing Plane, _ order: RGBOrder, into bytes: inout MutableSpan<UInt8>
  ) -> Bool {
    let step = order.bytesPerPixel
    let (red, green, blue) =
      switch order {
      case .rgb: (0, 1, 2)
      case .bgr, .bgrx: (2, 1, 0)
      case .xrgb: (1, 2, 3)
      }
    guard plane.rows >= raster.height, plane.bytesPerRow >= step * raster.width else {
      return false
    }
    for y in 0..<raster.height {
      let row = plane[row: y]
      let start = 3 * raster.width * y
      var target = bytes._mutatingExtracting(start..<start + 3 * raster.width)
      for x in 0..<raster.width {
        target[3 * x] = row[step * x + red]
        target[3 * x + 1] = row[step * x + green]
        target[3 * x + 2] = row[step * x + blue]
      }
    }
    return true
  }

  /// The upper bits of a word are the sample, the lower ones its upper bits again: 0 and white stay 0 and
  /// white, and a shift gives the sample back.
  private func spread(
    _ plane: borrowing Plane, _ depth: Int, into bytes: inout MutableSpan<UInt8>
  ) {
    let (up, down) = (16 - depth, 2 * depth - 16)
    let mask = UInt16(truncatingIfNeeded: 1 << depth - 1)
    for y in 0..<raster.height {
      let row = plane[row16: y]
      let start = 2 * raster.width * y
      var target = bytes._mutatingExtracting(start..<start + 2 * raster.width)
      for x in 0..<raster.width {
        let sample = row[x] & mask
        let word = up == 0 ? sample : sample << UInt16(up) | sample >> UInt16(down)
        target[2 * x] = UInt8(truncatingIfNeeded: word)
        target[2 * x + 1] = UInt8(truncatingIfNeeded: word >> 8)
      }
    }
  }

  private func round(_ numbers: Span<Float>, into bytes: inout MutableSpan<UInt8>) {
    for index in 0..<numbers.count {
      let word = UInt16(min(max(numbers[index], 0), 65_535).rounded())
      bytes[2 * index] = UInt8(truncatingIfNeeded: word)
      bytes[2 * index + 1] = UInt8(truncatingIfNeeded: word >> 8)
    }
  }
}
