internal import CSprocketZBar

/// A kind of code that the library reads. The corresponding C type is `zbar_symbol_type_t`.
public enum ZBarSymbology: Sendable, Hashable, CaseIterable {
  case qr, ean13, ean8, upca, upce, code128, code39, code93, i25, codabar, databar, databarExpanded

  var type: zbar_symbol_type_t {
    switch self {
    case .qr: ZBAR_QRCODE
    case .ean13: ZBAR_EAN13
    case .ean8: ZBAR_EAN8
    case .upca: ZBAR_UPCA
    case .upce: ZBAR_UPCE
    case .code128: ZBAR_CODE128
    case .code39: ZBAR_CODE39
    case .code93: ZBAR_CODE93
    case .i25: ZBAR_I25
    case .codabar: ZBAR_CODABAR
    case .databar: ZBAR_DATABAR
    case .databarExpanded: ZBAR_DATABAR_EXP
    }
  }

  /// `nil` for what is no code by itself, such as part of a QR code that was split.
  init?(_ type: zbar_symbol_type_t) {
    switch type {
    case ZBAR_QRCODE: self = .qr
    case ZBAR_EAN13: self = .ean13
    case ZBAR_EAN8: self = .ean8
    case ZBAR_UPCA: self = .upca
    case ZBAR_UPCE: self = .upce
    case ZBAR_CODE128: self = .code128
    case ZBAR_CODE39: self = .code39
    case ZBAR_CODE93: self = .code93
    case ZBAR_I25: self = .i25
    case ZBAR_CODABAR: self = .codabar
    case ZBAR_DATABAR: self = .databar
    case ZBAR_DATABAR_EXP: self = .databarExpanded
    default: return nil
    }
  }
}

/// Why there is no scanner.
public enum ZBarError: Error, Sendable, Hashable, CustomStringConvertible {
  case noMemory
  /// The library is not installed, or another one; a sentence says what is missing.
  case library(String)
  /// The library was built without this kind.
  case unsupported(ZBarSymbology)

  public var description: String {
    switch self {
    case .noMemory: "there is no memory for a scanner of codes; free some"
    case .library(let missing): missing
    case .unsupported(let kind): "this machine's libzbar does not read \(kind); leave that type out"
    }
  }
}
