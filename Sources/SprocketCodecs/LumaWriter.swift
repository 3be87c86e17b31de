internal import SprocketCore
internal import SprocketYUV

/// Fills in the luma that a chain declared, at every scale.
///
/// Scaled luma is the box mean of full-range full luma, in this order, so that it does not depend on
/// whether full luma is declared too. Where it is not, full luma is made a tile at a time: it never
/// leaves the cache, and no plane of it is needed.
@safe
struct LumaWriter: ~Copyable {
  /// Side of a tile in pixels, a multiple of every scale's box. Larger: fewer calls, until a tile no longer
  /// fits in the cache. A tile takes 8 kB, a quarter of a typical first-level cache.
  private static let columns = 1024
  private static let rows = 8

  private let tile: UnsafeMutablePointer<UInt8>
  /// A tile of words.
  private let words: UnsafeMutableBufferPointer<UInt8>

  init() {
    unsafe tile = .allocate(capacity: Self.columns * Self.rows)
    unsafe words = .allocate(capacity: 2 * Self.columns * Self.rows)
  }

  deinit {
    unsafe tile.deallocate()
    unsafe words.deallocate()
  }

  /// Fills `parts` of `version`; its full luma becomes the source's own plane where that will do.
  func write(
    _ source: LumaSource, to version: UnsafeMutablePointer<VersionStorage>, width: Int,
    height: Int, parts: FrameParts
  ) {
    if source.isPlane {
      unsafe version.pointee.luma[0] = source.plane.part(
        column: 0, row: 0, bytesPerRow: width, rows: height)
    } else if parts.contains(.luma(.full)), source.needsWords {
      forEachTile(width: width, height: height) { column, row, columns, rows in
        let target = unsafe version.pointee.luma[0].part(
          column: column, row: row, bytesPerRow: columns, rows: rows)
        unsafe source.write(
          to: target, column: column, row: row, width: columns, height: rows, words: words)
      }
    } else if parts.contains(.luma(.full)) {
      unsafe source.write(
        to: version.pointee.luma[0], column: 0, row: 0, width: width, height: height, words: words)
    } else {
      return unsafe writeTiles(source, to: version, width: width, height: height, parts: parts)
    }
    let full = unsafe version.pointee.luma[0]
    unsafe scale(full, width: width, height: height, to: version, column: 0, row: 0, parts: parts)
  }

  private func writeTiles(
    _ source: LumaSource, to version: UnsafeMutablePointer<VersionStorage>, width: Int,
    height: Int, parts: FrameParts
  ) {
    forEachTile(width: width, height: height) { column, row, columns, rows in
      let plane = unsafe PlaneStorage(
        base: tile, stride: Self.columns, bytesPerRow: columns, rows: rows)
      unsafe source.write(
        to: plane, column: column, row: row, width: columns, height: rows, words: words)
      unsafe scale(
        plane, width: columns, height: rows, to: version, column: column, row: row, parts: parts)
    }
  }

  private func forEachTile(
    width: Int, height: Int,
    _ body: (_ column: Int, _ row: Int, _ columns: Int, _ rows: Int) -> Void
  ) {
    for row in stride(from: 0, to: height, by: Self.rows) {
      let rows = min(Self.rows, height - row)
      for column in stride(from: 0, to: width, by: Self.columns) {
        body(column, row, min(Self.columns, width - column), rows)
      }
    }
  }

  /// Box means of full luma that lies `column` and `row` into the picture: multiples of 8.
  func scale(
    _ full: PlaneStorage, width: Int, height: Int,
    to version: UnsafeMutablePointer<VersionStorage>, column: Int, row: Int, parts: FrameParts
  ) {
    // Not `allCases`, which is an array, made anew.
    for index in 1..<4 {
      guard let scale = LumaScale(rawValue: UInt8(index)), parts.contains(.luma(scale)) else {
        continue
      }
      let divisor = scale.divisor
      let target = unsafe version.pointee.luma[Int(scale.rawValue)].part(
        column: column / divisor, row: row / divisor,
        bytesPerRow: BoxMean.scaled(width, by: divisor), rows: BoxMean.scaled(height, by: divisor))
      unsafe BoxMean.scale(
        full.source, width: width, height: height, by: divisor, to: target.target)
    }
  }
}
