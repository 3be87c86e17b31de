import Sprocket
import TestExpectations
import Testing

@testable import SprocketPage

/// Which requests of browsers are answered.
@Suite struct PageGuardTests {
  private static let token = "k3q9zp2m7w5x8v4n6t"

  private func guarded(
    _ address: String = "8080", hosts: String = "", token: String? = nil
  ) throws -> PageGuard {
    PageGuard(
      try #require(PageAddress(settingText: address)), try #require(PageHosts(settingText: hosts)),
      token: token.map { Array($0.utf8) })
  }

  /// The status of the refusal; `nil` where it is answered.
  private func status(_ guarded: PageGuard, _ change: (inout PageGuard.Asked) -> Void = { _ in })
    -> Int?
  {
    var asked = PageGuard.Asked()
    asked.hosts = ["127.0.0.1:8080"]
    change(&asked)
    do throws(PageGuard.Refusal) {
      try guarded.check(asked)
      return nil
    } catch { return error.status }
  }

  @Test(arguments: [
    "127.0.0.1:8080", "localhost:8080", "LOCALHOST:8080", "[::1]:8080", "192.168.1.7:8080",
    "[fe80::1]:8080",
  ])
  func addressesInNumbersAreThisPage(host: String) throws {
    expectEqual(status(try guarded()) { $0.hosts = [host] }, nil)
  }

  /// A stranger can point a name at this machine; an address in numbers he cannot.
  @Test(arguments: [
    "evil.example:8080", "127.0.0.1.evil.example:8080", "127.0.0.1", "127.0.0.1:8081", "localhost",
    "localhost.:8080", "", ":8080", "[::1:8080", "[::1]8080", "127.0.0.1:8080:8080",
    "127.0.0.1:+8080",
    "127.0.0.256:8080", "127.1:8080", "0x7f.0.0.1:8080", "user@127.0.0.1:8080",
  ])
  func otherNamesAreNot(host: String) throws {
    expectEqual(status(try guarded()) { $0.hosts = [host] }, 421)
  }

  @Test func oneHostIsSaid() throws {
    expectEqual(status(try guarded()) { $0.hosts = [] }, 421)
    expectEqual(status(try guarded()) { $0.hosts += ["127.0.0.1:8080"] }, 421)
    expectEqual(status(try guarded()) { $0.hosts.append("evil.example") }, 421)
  }

  @Test func namesThatWereGivenHaveAnyPort() throws {
    let guarded = try guarded(hosts: "camera.local, proxy.example")
    for host in ["camera.local", "camera.local:8080", "Proxy.Example:443"] {
      expectEqual(status(guarded) { $0.hosts = [host] }, nil)
    }
    expectEqual(status(guarded) { $0.hosts = ["x.camera.local"] }, 421)
    for (origin, expected) in [
      ("https://camera.local", nil), ("http://camera.local", nil), ("https://camera.local:1", 403),
    ] as [(String, Int?)] {
      expectEqual(
        status(guarded) { ($0.hosts, $0.origins) = (["camera.local"], [origin]) }, expected)
    }
  }

  @Test(
    arguments: [
      ("http://127.0.0.1:8080", nil), ("http://127.0.0.1:8081", 403), ("http://127.0.0.1", 403),
      ("https://127.0.0.1:8080", 403), ("http://localhost:8080", 403), ("null", 403), ("", 403),
      ("http://evil.example", 403), ("http://127.0.0.1:8080/", 403),
    ] as [(String, Int?)])
  func originIsExactlyOurs(origin: String, expected: Int?) throws {
    expectEqual(status(try guarded()) { $0.origins = [origin] }, expected)
    if expected == nil {
      expectEqual(status(try guarded()) { $0.origins = [origin, origin] }, 403)
    }
  }

  @Test(
    arguments: [
      ("none", nil), ("same-origin", nil), ("same-site", 403), ("cross-site", 403), ("", 403),
    ] as [(String, Int?)])
  func sitesAreOurs(site: String, expected: Int?) throws {
    expectEqual(status(try guarded()) { $0.sites = [site] }, expected)
  }

  @Test func changesArePostsOfJSON() throws {
    let guarded = try guarded()
    for path in PageGuard.changing {
      expectEqual(status(guarded) { $0.path = path }, 405)
      expectEqual(status(guarded) { ($0.path, $0.method) = (path, "POST") }, 415)
      for (type, expected) in [
        ("application/json", nil), ("Application/JSON; charset=utf-8", nil), ("text/plain", 415),
        ("application/x-www-form-urlencoded", 415), ("application/jsonx", 415),
      ] as [(String, Int?)] {
        expectEqual(
          status(guarded) { ($0.path, $0.method, $0.contentTypes) = (path, "POST", [type]) },
          expected)
      }
    }
    expectEqual(status(guarded) { ($0.path, $0.method) = ("/state.json", "POST") }, 405)
    expectEqual(status(guarded) { $0.method = "DELETE" }, 405)
  }

  @Test func aTokenIsShown() throws {
    let guarded = try guarded("0.0.0.0:8080", token: Self.token)
    expectEqual(guarded.cookieName, "sprocket-8080")
    expectEqual(status(guarded), 401)
    expectEqual(status(guarded) { $0.cookies = ["a=b; sprocket-8080=\(Self.token)"] }, nil)
    expectEqual(status(guarded) { $0.authorizations = ["Bearer \(Self.token)"] }, nil)
    for wrong in ["", "k", Self.token.dropLast() + "u", Self.token + "t"] {
      expectEqual(status(guarded) { $0.cookies = ["sprocket-8080=\(wrong)"] }, 401)
      expectEqual(status(guarded) { $0.authorizations = ["Bearer \(wrong)"] }, 401)
    }
    // Of another page on this machine.
    expectEqual(status(guarded) { $0.cookies = ["sprocket-8081=\(Self.token)"] }, 401)
    expectEqual(status(guarded) { $0.query = "token=\(Self.token)" }, 401)
  }

  @Test func aLinkHasTheTokenOnce() throws {
    let guarded = try guarded("0.0.0.0:8080", token: Self.token)
    var asked = PageGuard.Asked()
    asked.query = "token=\(Self.token)"
    expectTrue(guarded.isLink(asked))
    asked.path = "/state.json"
    expectFalse(guarded.isLink(asked))
    (asked.path, asked.query) = ("/", "token=x")
    expectFalse(guarded.isLink(asked))
    expectFalse(try self.guarded().isLink(asked))
  }
}

@Suite struct PageAddressTests {
  @Test(arguments: [
    ("8081", "127.0.0.1:8081", true), ("0.0.0.0:80", "0.0.0.0:80", false),
    ("[::1]:9", "[::1]:9", true),
    ("localhost:8080", "localhost:8080", true), ("unix:/run/page", "unix:/run/page", true),
    ("127.9.9.9:1", "127.9.9.9:1", true), ("camera:80", "camera:80", false),
    ("0", "127.0.0.1:0", true),
    ("127.0.0.1.evil:1", "127.0.0.1.evil:1", false),
  ])
  func texts(text: String, shown: String, isLocal: Bool) throws {
    let address = try #require(PageAddress(settingText: text))
    expectEqual(address.settingText, shown)
    expectEqual(PageAddress(settingText: shown), address)
    expectEqual(address.isLocal, isLocal)
  }

  @Test(arguments: [
    "", "x", "65536", "+80", ":80", "::1:80", "[::1]", "a b:80", "host:", "unix:", "/p:80",
  ])
  func refused(text: String) { expectEqual(PageAddress(settingText: text), nil) }

  @Test func points() {
    expectEqual(PagePoint(json: Array("{\"x\":0.25, \"y\":1}".utf8))?.x, 0.25)
    for text in [
      "", "{}", "{\"x\":1}", "{\"x\":nan,\"y\":0}", "{\"x\":1e999,\"y\":0}", "[0,0]",
      "{\"x\":1,\"x\":1}", "{\"x\":1,\"y\":1,\"z\":1}", "{\"x\":\"1\",\"y\":1}",
    ] {
      expectEqual(PagePoint(json: Array(text.utf8)), nil, "\(text)")
    }
  }
}
