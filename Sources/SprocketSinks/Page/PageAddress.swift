public import SprocketCore

/// Where a page is served: an address of this machine and a port, or a Unix socket.
public enum PageAddress: Sendable, Hashable, SettingValue {
  case tcp(host: String, port: UInt16)
  case unix(path: String)

  /// The port of this machine that is taken where none is named.
  public static let usualPort: UInt16 = 8080
  /// This machine alone.
  public static let usual = PageAddress.tcp(host: "127.0.0.1", port: usualPort)

  public static var allowed: String {
    "a port, an address and a port such as 127.0.0.1:8080 or [::1]:8080, or unix:PATH"
  }

  public static var forms: [SettingForm] {
    let port =
      "0*(6553[0-5]|655[0-2][0-9]|65[0-4][0-9]{2}|6[0-4][0-9]{3}|[1-5][0-9]{4}|[0-9]{1,4})"
    let name = #"[!-.0-9;-Z^-~]+"#
    return [
      .text(
        pattern: #"unix:.{1,107}|\#(port)|\#(name):\#(port)|\[[!-.0-Z^-~]*:[!-.0-Z^-~]*\]:\#(port)"#
      )
    ]
  }

  public init?(settingText text: String) {
    if text.hasPrefix("unix:") {
      let path = String(text.dropFirst(5))
      // `sun_path` has 108 bytes with its end.
      guard !path.isEmpty, path.utf8.count < 108 else { return nil }
      self = .unix(path: path)
      return
    }
    if let port = UInt16(text), text.utf8.allSatisfy({ 48...57 ~= $0 }) {
      self = .tcp(host: "127.0.0.1", port: port)
      return
    }
    guard let colon = text.lastIndex(of: ":"),
      case let digits = text[text.index(after: colon)...],
      digits.utf8.allSatisfy({ 48...57 ~= $0 }), let port = UInt16(digits)
    else { return nil }
    var host = text[..<colon]
    let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
    if isBracketed { host = host.dropFirst().dropLast() }
    guard !host.isEmpty, isBracketed == host.contains(":"),
      host.allSatisfy({ $0.isASCII && $0 > " " && $0 < "\u{7F}" && !"/[\\]".contains($0) })
    else { return nil }
    self = .tcp(host: String(host), port: port)
  }

  public var settingText: String {
    switch self {
    case .unix(let path): "unix:\(path)"
    case .tcp(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }
  }

  /// Whether programs of this machine alone reach it.
  public var isLocal: Bool {
    switch self {
    case .unix: true
    case .tcp(let host, _): host == "localhost" || host == "::1" || host.isLoopback
    }
  }
}

extension String {
  /// Whether it is an address of 127.0.0.0/8.
  fileprivate var isLoopback: Bool {
    let parts = split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
  }
}

/// Names by which browsers may call a page.
public struct PageHosts: Sendable, Hashable, SettingValue {
  /// In small letters, without ports.
  public let names: [String]

  public init() { names = [] }

  public static var allowed: String { "names of machines with commas between them, without ports" }

  public static var forms: [SettingForm] {
    [.text(pattern: "( *[A-Za-z0-9.-]+ *(, *[A-Za-z0-9.-]+ *)*)?")]
  }

  public init?(settingText text: String) {
    let parts = text.lowercased().split(separator: ",", omittingEmptySubsequences: text.isEmpty)
    names = parts.map { name in
      String(name.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
    }
    let isFine = names.allSatisfy { name in
      !name.isEmpty
        && name.utf8.allSatisfy { byte in
          byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
            || UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte
            || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
        }
    }
    guard isFine else { return nil }
  }

  public var settingText: String { names.joined(separator: ",") }
}
