internal import CSprocketZBar

/// Finds QR and bar codes in 8-bit grey pictures, each on its own: nothing is remembered from one to the
/// next.
///
/// A picture's content decides how long the library takes, and how much memory it asks for and gives back:
/// noise takes some ten times as long as an empty wall. Each thread has a scanner of its own.
@safe
public struct ZBarScanner: ~Copyable {
  private let scanner: OpaquePointer
  private let image: OpaquePointer
  private let kinds: Set<ZBarSymbology>

  /// Every row and every column is looked at, which small codes need.
  /// The corresponding C functions are `zbar_image_scanner_create` and `zbar_image_scanner_set_config`.
  public init(_ kinds: Set<ZBarSymbology>) throws(ZBarError) {
    if let missing = ZBar.missing { throw .library(missing) }
    guard let scanner = unsafe zbar.zbar_image_scanner_create() else { throw .noMemory }
    guard let image = unsafe zbar.zbar_image_create() else {
      unsafe zbar.zbar_image_scanner_destroy(scanner)
      throw .noMemory
    }
    var settings: [(zbar_symbol_type_t, zbar_config_t, Int32)] = [
      (ZBAR_NONE, ZBAR_CFG_ENABLE, 0), (ZBAR_NONE, ZBAR_CFG_POSITION, 1),
      (ZBAR_NONE, ZBAR_CFG_X_DENSITY, 1), (ZBAR_NONE, ZBAR_CFG_Y_DENSITY, 1),
      // Bytes as they are in the code, instead of a guess at their encoding.
      (ZBAR_QRCODE, ZBAR_CFG_BINARY, 1),
    ]
    settings += kinds.map { ($0.type, ZBAR_CFG_ENABLE, 1) }
    // The library reads a UPC-A code as the EAN-13 code that it is, and then renames it.
    if kinds.contains(.upca) { settings.append((ZBAR_EAN13, ZBAR_CFG_ENABLE, 1)) }
    for (type, name, value) in settings
    where unsafe zbar.zbar_image_scanner_set_config(scanner, type, name, value) != 0 {
      unsafe zbar.zbar_image_destroy(image)
      unsafe zbar.zbar_image_scanner_destroy(scanner)
      throw ZBarSymbology(type).map { .unsupported($0) } ?? .noMemory
    }
    unsafe zbar.zbar_image_set_format(image, sprocket_zbar_grey)
    unsafe (self.scanner, self.image) = (scanner, image)
    self.kinds = kinds
  }

  deinit {
    unsafe zbar.zbar_image_destroy(image)
    unsafe zbar.zbar_image_scanner_destroy(scanner)
  }

  /// Calls `body` for each code in a picture: rows of `width` bytes, one behind the other. Neither the
  /// picture nor a symbol outlives the call. The corresponding C function is `zbar_scan_image`.
  public mutating func scan(
    _ picture: Span<UInt8>, width: Int, height: Int, _ body: (borrowing ZBarSymbol) -> Void
  ) {
    precondition(
      width >= 0 && height >= 0 && width <= Self.longestSide && height <= Self.longestSide,
      "a side of a picture has 0 to \(Self.longestSide) pixels")
    precondition(picture.count >= width * height, "the picture has fewer bytes than pixels")
    guard width > 0, height > 0 else { return }
    unsafe picture.withUnsafeBufferPointer { bytes in
      unsafe zbar.zbar_image_set_size(image, UInt32(width), UInt32(height))
      unsafe zbar.zbar_image_set_data(image, bytes.baseAddress, UInt(width * height), nil)
      if unsafe zbar.zbar_scan_image(scanner, image) > 0 {
        var next = unsafe zbar.zbar_image_first_symbol(image)
        while let symbol = unsafe next {
          if let found = unsafe ZBarSymbol(symbol), kinds.contains(found.kind) { body(found) }
          unsafe next = zbar.zbar_symbol_next(symbol)
        }
      }
      unsafe zbar.zbar_image_set_data(image, nil, 0, nil)
    }
  }

  /// Longest side of a picture, in pixels. The library computes with 32 bits, which larger pictures overflow.
  public static let longestSide = 16384
}

/// A code that was found. It ends with the call that it is lent for.
@safe
public struct ZBarSymbol: ~Copyable {
  private let symbol: OpaquePointer
  public let kind: ZBarSymbology

  fileprivate init?(_ symbol: OpaquePointer) {
    guard let kind = ZBarSymbology(unsafe zbar.zbar_symbol_get_type(symbol)) else { return nil }
    unsafe self.symbol = symbol
    self.kind = kind
  }

  /// Which way a bar code is read in the picture.
  public enum Direction: Sendable {
    case right, down, left, up
  }

  /// `nil` if the library does not know. The corresponding C function is `zbar_symbol_get_orientation`.
  public var direction: Direction? {
    switch unsafe zbar.zbar_symbol_get_orientation(symbol) {
    case ZBAR_ORIENT_UP: .right
    case ZBAR_ORIENT_RIGHT: .down
    case ZBAR_ORIENT_DOWN: .left
    case ZBAR_ORIENT_LEFT: .up
    default: nil
    }
  }

  /// Of a bar code, how many scan lines read it; of a QR code 1.
  /// The corresponding C function is `zbar_symbol_get_quality`.
  public var quality: Int { Int(unsafe zbar.zbar_symbol_get_quality(symbol)) }

  /// Lends the payload. The corresponding C function is `zbar_symbol_get_data`.
  public func withPayload(_ body: (Span<UInt8>) -> Void) {
    let count = Int(unsafe zbar.zbar_symbol_get_data_length(symbol))
    guard count > 0, let data = unsafe zbar.zbar_symbol_get_data(symbol) else {
      return unsafe body(Span(_unsafeElements: UnsafeBufferPointer(start: nil, count: 0)))
    }
    let bytes = unsafe UnsafeRawBufferPointer(start: data, count: count)
    unsafe body(Span(_unsafeElements: bytes.bindMemory(to: UInt8.self)))
  }

  /// Number of points. Of a QR code, 4: its corners, against the clock from the one that is its top left. Of
  /// a bar code, the points where scan lines left it, on both of its ends and between them.
  /// The corresponding C function is `zbar_symbol_get_loc_size`.
  public var pointCount: Int { Int(unsafe zbar.zbar_symbol_get_loc_size(symbol)) }

  /// A point in pixels, (0, 0) being the picture's top left corner.
  /// The corresponding C functions are `zbar_symbol_get_loc_x` and `zbar_symbol_get_loc_y`.
  public func point(_ index: Int) -> (x: Int, y: Int) {
    precondition(index >= 0 && index < pointCount, "a symbol has no such point")
    let at = UInt32(index)
    return (
      Int(unsafe zbar.zbar_symbol_get_loc_x(symbol, at)),
      Int(unsafe zbar.zbar_symbol_get_loc_y(symbol, at))
    )
  }
}
