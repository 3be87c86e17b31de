internal import Glibc
internal import SprocketCore
internal import SprocketJPEG
internal import SprocketPixels

/// Makes a small JPEG of a JPEG: 160 to 319 pixels on the longer side, or the picture itself where that is
/// smaller. The decoder reduces it as far as it can, and means of squares do the rest.
///
/// Memory is allocated when it is made.
@safe
final class StillThumbnail {
  /// A thumbnail that takes more is encoded with a lower quality: with it, EXIF's segment holds 65,533 bytes.
  private static let mostBytes = 60_000
  private static let qualities = [75, 40, 10]

  private let width: Int
  private let height: Int
  private let subsampling: ChromaSubsampling
  private let scale: JPEGScale
  /// By how much what is decoded is reduced.
  private let factor: Int
  private var decoder: JPEGDecoder
  private var encoder: JPEGEncoder
  private let memory: UnsafeMutablePointer<UInt8>
  private let outputCount: Int
  private let small: (width: Int, height: Int)

  /// Both sides are divided by it: at most 8, or a multiple of 4, so that the decoder can do its part.
  static func divisor(width: Int, height: Int) -> Int {
    let whole = max(width, height) / 160
    return switch whole {
    case ...1: 1
    case 2...3: 2
    case 4...7: 4
    default: whole / 4 * 4
    }
  }

  /// `nil` where there is no memory, or no such JPEG.
  init?(width: Int, height: Int, _ subsampling: ChromaSubsampling) {
    let divisor = Self.divisor(width: width, height: height)
    let scale = JPEGScale.allCases.last { divisor.isMultiple(of: $0.rawValue) } ?? .full
    let factor = divisor / scale.rawValue
    let (decodedWidth, decodedHeight) = (scale.scaled(width), scale.scaled(height))
    let small = (width: max(1, decodedWidth / factor), height: max(1, decodedHeight / factor))
    guard
      let outputCount = JPEGEncoder.maximumSize(
        width: small.width, height: small.height, subsampling: subsampling)
    else { return nil }
    let planes = PixelFormat(subsampling)
    // A row and a column more than the picture has, for the decoder's padding.
    let decoded = 3 * (decodedWidth + 8) * (decodedHeight + 8)
    let reduced = planes.byteCount(width: small.width + 8, height: small.height + 8)
    do throws(JPEGError) {
      let decoder = try JPEGDecoder()
      let encoder = try JPEGEncoder()
      guard let memory = unsafe pictureMemory(decoded + reduced + outputCount) else { return nil }
      unsafe self.memory = unsafe memory
      self.decoder = decoder
      self.encoder = encoder
    } catch {
      return nil
    }
    (self.width, self.height, self.subsampling) = (width, height, subsampling)
    (self.scale, self.factor, self.small) = (scale, factor, small)
    self.outputCount = outputCount
  }

  deinit { unsafe free(memory) }

  /// Calls `body` with the thumbnail, or with nothing where `jpeg` cannot be decoded.
  func make(of jpeg: Span<UInt8>, _ body: (Span<UInt8>) -> Void) {
    let count = encode(jpeg) ?? 0
    unsafe body(Span(_unsafeStart: UnsafePointer(memory), count: count))
  }

  private func encode(_ jpeg: Span<UInt8>) -> Int? {
    let decoded = planes(
      from: outputCount, width: scale.scaled(width), height: scale.scaled(height))
    do throws(JPEGError) {
      let hasChroma = subsampling != .gray
      try decoder.decodePlanes(
        jpeg, width: width, height: height, subsampling: subsampling, scale: scale, y: decoded.y,
        u: hasChroma ? decoded.u : nil, v: hasChroma ? decoded.v : nil)
      let reduced = factor == 1 ? decoded : reduce(decoded)
      var output = unsafe MutableSpan(_unsafeStart: memory, count: outputCount)
      for quality in Self.qualities {
        let count = try encoder.encode(
          width: small.width, height: small.height, subsampling: subsampling,
          y: PlaneBytes(reduced.y), u: hasChroma ? PlaneBytes(reduced.u) : nil,
          v: hasChroma ? PlaneBytes(reduced.v) : nil, quality: quality, into: &output)
        if count <= Self.mostBytes { return count }
      }
    } catch {}
    return nil
  }

  private struct Planes {
    var y: MutablePlaneBytes
    var u: MutablePlaneBytes
    var v: MutablePlaneBytes
    var end: Int
  }

  /// Planes of a picture one behind the other, from a place in the memory on.
  private func planes(from start: Int, width: Int, height: Int) -> Planes {
    var place = start
    func plane(_ index: Int) -> MutablePlaneBytes {
      let isThere = index < subsampling.planeCount
      let width = isThere ? subsampling.planeWidth(index, imageWidth: width) : 1
      let height = isThere ? subsampling.planeHeight(index, imageHeight: height) : 1
      defer { place += width * height }
      return unsafe MutablePlaneBytes(
        UnsafeMutableBufferPointer(start: memory + place, count: width * height), stride: width)
    }
    let (y, u, v) = (plane(0), plane(1), plane(2))
    return Planes(y: y, u: u, v: v, end: place)
  }

  private func reduce(_ decoded: Planes) -> Planes {
    let reduced = planes(from: decoded.end, width: small.width, height: small.height)
    let (width, height) = (scale.scaled(width), scale.scaled(height))
    reduce(decoded.y, to: reduced.y, 0, width, height)
    if subsampling != .gray {
      reduce(decoded.u, to: reduced.u, 1, width, height)
      reduce(decoded.v, to: reduced.v, 2, width, height)
    }
    return reduced
  }

  /// Means of squares; those at the edges end where the plane does.
  private func reduce(
    _ source: MutablePlaneBytes, to target: MutablePlaneBytes, _ index: Int, _ width: Int,
    _ height: Int
  ) {
    let columns = subsampling.planeWidth(index, imageWidth: width)
    let rows = subsampling.planeHeight(index, imageHeight: height)
    let across = subsampling.planeWidth(index, imageWidth: small.width)
    let down = subsampling.planeHeight(index, imageHeight: small.height)
    let from = unsafe Span(_unsafeStart: UnsafePointer(source.base), count: columns * rows)
    var to = unsafe MutableSpan(_unsafeStart: target.base, count: across * down)
    for y in 0..<down {
      for x in 0..<across {
        let firstRow = min(y * factor, rows - 1)
        let firstColumn = min(x * factor, columns - 1)
        let lastRow = min(firstRow + factor, rows)
        let lastColumn = min(firstColumn + factor, columns)
        var sum = 0
        for row in firstRow..<lastRow {
          for column in firstColumn..<lastColumn { sum += Int(from[row * columns + column]) }
        }
        let count = (lastRow - firstRow) * (lastColumn - firstColumn)
        to[y * across + x] = UInt8((sum + count / 2) / count)
      }
    }
  }
}
