internal import Glibc
internal import SprocketCore
internal import SprocketPixels

/// The pixels of a PNG or TIFF: grey or red, green and blue, 8 bits or 16-bit words.
///
/// What a frame's samples become stands in `docs/stills.md`: RGB of the source and grey of full range keep
/// every bit; YUV becomes what `--pipe rgb` writes, of more than 8 bits the same in 16.
struct StillRaster: Sendable {
  enum Way: Sendable {
    /// Grey of 10 to 16 bits and full range.
    case deepGrey(bits: Int)
    case numbers(TensorPlan)
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
    case .deepGrey: 0
    case .numbers(let plan): TensorPacker.workingBytes(plan)
    }
  }

  init(_ format: FrameFormat, source: FrameFormat, isUntouched: Bool) throws(RunError) {
    (width, height) = (format.width, format.height)
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
    if image.isDeep { settings.element = .u16 }
    let plan = try TensorPlan(settings, for: format, untouched: isUntouched ? source : nil)
    (way, parts) = (.numbers(plan), plan.parts)
  }
}

/// Fills memory with pixels. One instance serves one thread.
@safe
final class StillRasterWriter {
  private let raster: StillRaster
  private let packer: TensorPacker?

  init(_ raster: StillRaster) {
    self.raster = raster
    packer = if case .numbers(let plan) = raster.way { TensorPacker(plan) } else { nil }
  }

  /// Fills the first `raster.byteCount` bytes, words in the machine's order; false where it cannot.
  func write(_ frame: borrowing FrameView, into bytes: inout MutableSpan<UInt8>) -> Bool {
    switch raster.way {
    case .deepGrey(let depth):
      spread(frame.image[plane: 0], depth, into: &bytes)
      return true
    case .numbers:
      return packer?.pack(frame, into: &bytes) != nil
    }
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
}
