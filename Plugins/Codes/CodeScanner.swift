internal import SprocketCore
internal import SprocketZBar

/// Looks for codes in the luma of frames of one size. A class, because a stage is copied and a scanner is
/// not.
final class CodeScanner {
  private var scanner: ZBarScanner
  private let width: Int
  private let height: Int
  private let scale: LumaScale
  /// Luma without padding between the rows, if the frame's has some.
  private var copy: [UInt8]
  private var shape: BarShape

  init(_ types: Set<CodeType>, width: Int, height: Int, scale: LumaScale) throws(ZBarError) {
    scanner = try ZBarScanner(Set(types.map(\.symbology)))
    (self.width, self.height, self.scale) = (width, height, scale)
    copy = [UInt8](repeating: 0, count: width * height)
    shape = BarShape(width: width, height: height)
  }

  func report(on frame: borrowing FrameView, limit: Int) -> CodesReport {
    let plane = frame.luma(scale)
    var report = CodesReport()
    if let luma = plane.contiguous {
      look(luma, limit, &report)
    } else {
      for y in 0..<height {
        let row = plane[row: y]
        for x in 0..<width { copy[y * width + x] = row[x] }
      }
      let luma = copy
      look(luma.span, limit, &report)
    }
    report.moveCorners { frame.sensorPoint($0, $1) }
    return report
  }

  private func look(_ luma: Span<UInt8>, _ limit: Int, _ report: inout CodesReport) {
    scanner.scan(luma, width: width, height: height) { symbol in
      guard Int(report.count) < limit else {
        report.omitted += 1
        return
      }
      var code = FoundCode()
      code.type = CodeType(symbol.kind)
      code.quality = UInt32(clamping: symbol.quality)
      code.corners = symbol.kind == .qr ? square(symbol) : bars(symbol)
      symbol.withPayload { report.add(code, payload: $0) }
    }
  }

  /// The library's corners of a QR code are those of the top left, bottom left, bottom right and top right.
  private func square(_ symbol: borrowing ZBarSymbol) -> CornerValues {
    var corners = CornerValues(repeating: .nan)
    guard symbol.pointCount == 4 else { return corners }
    for index in 0..<4 {
      let point = symbol.point((4 - index) % 4)
      corners[2 * index] = pixel(Double(point.x))
      corners[2 * index + 1] = pixel(Double(point.y))
    }
    return corners
  }

  private func bars(_ symbol: borrowing ZBarSymbol) -> CornerValues {
    let direction = symbol.direction ?? .right
    let isUpright = direction == .up || direction == .down
    shape.removeAll()
    let count = symbol.pointCount
    for index in 0..<count {
      let point = symbol.point(index)
      // The border between two pixels, on a scan line through the middle of pixels.
      shape.add(
        x: Double(point.x) - (isUpright ? 0 : 0.5), y: Double(point.y) - (isUpright ? 0.5 : 0))
    }
    let step: BarShape.Step =
      switch direction {
      case .right: (1, 0)
      case .down: (0, 1)
      case .left: (-1, 0)
      case .up: (0, -1)
      }
    var corners = shape.corners(reading: step)
    for index in 0..<8 { corners[index] = pixel(corners[index] + 0.5) }
    return corners
  }

  /// From a distance to the reduced picture's edge to a coordinate of the full picture.
  private func pixel(_ distance: Double) -> Double { distance * Double(scale.divisor) - 0.5 }
}
