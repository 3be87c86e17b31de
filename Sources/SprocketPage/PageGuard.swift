internal import Sprocket

/// Which requests of browsers are answered. Pure.
///
/// A page of another site must not reach the camera: not by a name that its owner points at this machine (the
/// header `Host`), not by a request that it makes itself (`Origin`, `Sec-Fetch-Site`), and not by a form or a
/// link (changes are JSON in a POST). Other machines show a token besides.
struct PageGuard: Sendable {
  /// What a request says of itself. A header that comes twice is two entries.
  struct Asked: Sendable {
    var method = "GET"
    /// Without its query.
    var path = "/"
    var query = ""
    var hosts: [String] = []
    var origins: [String] = []
    var sites: [String] = []
    var contentTypes: [String] = []
    var cookies: [String] = []
    var authorizations: [String] = []
  }

  /// Why a request is not answered: the status of HTTP, and what to do.
  struct Refusal: Error, Hashable {
    let status: Int
    let sentence: String
  }

  /// The page's port; `nil` at a Unix socket.
  private var port: UInt16?
  /// Names, beside addresses in numbers and `localhost`, by which browsers may call the page.
  private let names: Set<String>
  /// The token that each request shows; `nil` where none is needed.
  private let token: [UInt8]?

  /// Paths that change something, and are asked by POST.
  static let changing: Set<String> = ["/ask", "/point"]

  init(_ address: PageAddress, _ hosts: PageHosts, token: [UInt8]?) {
    self.token = token
    names = Set(hosts.names)
    switch address {
    case .tcp(_, let port): self.port = port
    case .unix: port = nil
    }
  }

  /// The same at the port that the system chose, where it was asked to.
  func at(port chosen: Int?) -> PageGuard {
    guard port == 0, let chosen else { return self }
    var guarded = self
    guarded.port = UInt16(clamping: chosen)
    return guarded
  }

  /// The name of the cookie that has the token: with the port, since browsers share cookies between ports.
  var cookieName: String { "sprocket-\(port ?? 0)" }

  /// Throws if the request is not to be answered.
  func check(_ asked: Asked) throws(Refusal) {
    let host = try checkHost(asked.hosts)
    try checkOrigin(asked.origins, host)
    for site in asked.sites where site != "none" && site != "same-origin" {
      throw Refusal(
        status: 403, sentence: "a page of another site asks; open this page by its own address")
    }
    try checkMethod(asked)
    guard token == nil || isKnown(asked) else {
      throw Refusal(
        status: 401,
        sentence: "this page needs its token; open it by the link that sprocket printed, or send "
          + "Authorization: Bearer TOKEN")
    }
  }

  /// Whether the query of a link has the token, so that the browser may have it as a cookie.
  func isLink(_ asked: Asked) -> Bool {
    guard let token, asked.path == "/" else { return false }
    return asked.query.split(separator: "&").contains { part in
      part.hasPrefix("token=") && isEqual(Array(part.dropFirst(6).utf8), token)
    }
  }

  private func checkMethod(_ asked: Asked) throws(Refusal) {
    guard Self.changing.contains(asked.path) else {
      guard asked.method == "GET" || asked.method == "HEAD" else {
        throw Refusal(status: 405, sentence: "\(asked.path) is asked by GET")
      }
      return
    }
    guard asked.method == "POST" else {
      throw Refusal(status: 405, sentence: "\(asked.path) is asked by POST")
    }
    let types = asked.contentTypes.map { $0.prefix { $0 != ";" }.lowercased() }
    guard types == ["application/json"] else {
      throw Refusal(
        status: 415, sentence: "\(asked.path) takes JSON; send Content-Type: application/json")
    }
  }

  /// Returns what `Origin` has to have behind its scheme.
  private func checkHost(_ hosts: [String]) throws(Refusal) -> (text: String, isNamed: Bool) {
    let wrong = Refusal(
      status: 421,
      sentence:
        "this page is not called so; open it by the address that sprocket printed, or name the "
        + "host with page's setting hosts")
    guard hosts.count == 1 else { throw wrong }
    let text = hosts[0].lowercased()
    let (name, given) = try Self.parts(of: text, or: wrong)
    // A proxy has a port of its own.
    if names.contains(name) { return (text, true) }
    guard name == "localhost" || Self.isNumeric(name) else { throw wrong }
    guard let port else { return (text, false) }
    guard given ?? 80 == port else { throw wrong }
    return (text, false)
  }

  private func checkOrigin(
    _ origins: [String], _ host: (text: String, isNamed: Bool)
  ) throws(Refusal) {
    guard let origin = origins.first else { return }
    let own =
      host.isNamed ? ["http://\(host.text)", "https://\(host.text)"] : ["http://\(host.text)"]
    guard origins.count == 1, own.contains(origin.lowercased()) else {
      throw Refusal(
        status: 403, sentence: "a page of another site asks; open this page by its own address")
    }
  }

  /// Splits `name:port`, `[::1]:port` and the same without a port.
  private static func parts(
    of host: String, or wrong: Refusal
  ) throws(Refusal) -> (name: String, port: UInt16?) {
    guard let first = host.first else { throw wrong }
    var (name, rest) = (Substring(host), Substring())
    if first == "[" {
      guard let end = host.firstIndex(of: "]") else { throw wrong }
      (name, rest) = (host[...end], host[host.index(after: end)...])
    } else if let colon = host.firstIndex(of: ":") {
      (name, rest) = (host[..<colon], host[colon...])
    }
    guard !rest.isEmpty else { return (String(name), nil) }
    let digits = rest.dropFirst()
    guard rest.first == ":", digits.allSatisfy({ "0"..."9" ~= $0 }), let port = UInt16(digits)
    else {
      throw wrong
    }
    return (String(name), port)
  }

  /// Whether it is an address in numbers: no name, which somebody could point at another machine.
  private static func isNumeric(_ name: String) -> Bool {
    if name.hasPrefix("[") {
      return name.count > 3
        && name.dropFirst().dropLast().utf8.allSatisfy { byte in
          byte == UInt8(ascii: ":") || byte == UInt8(ascii: ".")
            || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
            || UInt8(ascii: "a")...UInt8(ascii: "f") ~= byte
        }
    }
    let parts = name.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 4 && parts.allSatisfy { UInt8($0) != nil && !$0.hasPrefix("+") }
  }

  private func isKnown(_ asked: Asked) -> Bool {
    guard let token else { return true }
    let cookies = asked.cookies.flatMap { text in
      text.split(separator: ";").map { part in part.drop { $0 == " " } }
    }
    let own = cookies.filter { $0.hasPrefix("\(cookieName)=") }
      .map { $0.dropFirst(cookieName.count + 1) }
    let bearers = asked.authorizations.filter { $0.hasPrefix("Bearer ") }.map { $0.dropFirst(7) }
    return (own + bearers).contains { isEqual(Array($0.utf8), token) }
  }

  /// Takes as long for each wrong token of a length.
  private func isEqual(_ given: [UInt8], _ token: [UInt8]) -> Bool {
    guard given.count == token.count else { return false }
    var difference: UInt8 = 0
    for index in token.indices { difference |= given[index] ^ token[index] }
    return difference == 0
  }
}
