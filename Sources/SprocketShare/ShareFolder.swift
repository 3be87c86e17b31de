internal import Glibc
package import SprocketCore

/// Where the shares of this user have their sockets: `sprocket` in the folder of the session
/// (`XDG_RUNTIME_DIR`), else `/tmp/sprocket-UID`.
package enum ShareFolder {
  /// Longest name in bytes. Larger: longer names, until a socket's path is too long.
  private static let longestName = 64

  /// The path of a share's socket: `name` itself if it has a `/`, else in the folder, which is made.
  package static func path(of name: String) throws(RunError) -> String {
    if name.contains("/") { return name }
    let isPlain = name.utf8.allSatisfy { byte in
      let character = Character(UnicodeScalar(byte))
      return character.isASCII && (character.isLetter || character.isNumber)
        || ["-", "_", "."].contains(character)
    }
    guard isPlain, !name.hasPrefix("."), 1...longestName ~= name.utf8.count else {
      throw RunError(
        .usage,
        "share \(name): a name has 1 to \(longestName) letters, digits, dots, - and _; or give a path"
      )
    }
    let session = unsafe getenv("XDG_RUNTIME_DIR").map { unsafe String(cString: $0) }
    var places = ["/tmp/sprocket-\(geteuid())"]
    if let session, session.hasPrefix("/") { places.insert(session + "/sprocket", at: 0) }
    for place in places {
      _ = unsafe mkdir(place, 0o700)
      guard let folder = openOwnFolder(place) else { continue }
      close(folder)
      return "\(place)/\(name)"
    }
    throw RunError(
      .failed,
      "share: there is no folder for sockets that belongs to this user alone; set XDG_RUNTIME_DIR, or "
        + "give a path")
  }
}
