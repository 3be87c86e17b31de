public import SprocketCore
internal import SprocketZBar

/// Kinds of codes as a person writes them: `qr`, `ean13/ean8/qr`, or `all`.
public struct CodeTypes: SettingValue, Hashable {
  public var types: Set<CodeType>

  public init(_ types: Set<CodeType>) { self.types = types }

  public init?(settingText text: String) {
    if text == "all" {
      types = Set(CodeType.allCases)
      return
    }
    let words = text.split(separator: "/", omittingEmptySubsequences: false)
    let found = words.compactMap { CodeType(rawValue: String($0)) }
    guard found.count == words.count else { return nil }
    types = Set(found)
  }

  public var settingText: String {
    if types.count == CodeType.allCases.count { return "all" }
    return CodeType.allCases.filter(types.contains).map(\.rawValue).joined(separator: "/")
  }

  public static var allowed: String {
    "all, or some of \(CodeType.allCases.map(\.rawValue).joined(separator: ", ")) with a slash between them"
  }
}

extension CodeType {
  var symbology: ZBarSymbology {
    switch self {
    case .qr: .qr
    case .ean13: .ean13
    case .ean8: .ean8
    case .upca: .upca
    case .upce: .upce
    case .code128: .code128
    case .code39: .code39
    case .code93: .code93
    case .i25: .i25
    case .codabar: .codabar
    case .databar: .databar
    case .databarExpanded: .databarExpanded
    }
  }

  init(_ symbology: ZBarSymbology) {
    self =
      switch symbology {
      case .qr: .qr
      case .ean13: .ean13
      case .ean8: .ean8
      case .upca: .upca
      case .upce: .upce
      case .code128: .code128
      case .code39: .code39
      case .code93: .code93
      case .i25: .i25
      case .codabar: .codabar
      case .databar: .databar
      case .databarExpanded: .databarExpanded
      }
  }
}
