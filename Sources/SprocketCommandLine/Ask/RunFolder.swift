internal import Glibc
internal import Sprocket
internal import SprocketShare

extension SocketIdentity {
  /// Name of the entry in a `RunFolder`.
  var name: String { "\(device)-\(inode)" }
}

/// A folder in which `top` finds the runs of this user. Each run with a control socket has an entry there:
/// a symbolic link to the socket. The link's name is made of the socket's device and inode.
///
/// A folder is used only if it belongs to this user and no other user can write to it. So nobody else can
/// make an entry, and no entry leads to where another user wants it.
struct RunFolder: ~Copyable {
  /// A control socket of this user.
  struct Found {
    let path: String
    let identity: SocketIdentity
    /// The folder that has the entry; `nil` if the socket itself was found.
    var folder: String?
  }

  let path: String
  private let descriptor: Int32

  /// `nil` if there is no such folder, or it may not be used. With `makes` it is made. The corresponding C
  /// function is `mkdir`.
  init?(_ path: String, makes: Bool = false) {
    if makes { _ = unsafe mkdir(path, 0o700) }
    guard let descriptor = openOwnFolder(path) else { return nil }
    self.descriptor = descriptor
    self.path = path
  }

  deinit { close(descriptor) }

  // MARK: Which folders

  /// Folders with entries, the first that can be used for new ones: in that of the session, else in the one
  /// for temporary files.
  static func places(session: String?, user: uid_t) -> [String] {
    let temporary = "/tmp/sprocket-\(user)"
    guard let session, session.hasPrefix("/") else { return [temporary] }
    return ["\(session)/sprocket-runs", temporary]
  }

  private static var places: [String] {
    let session = unsafe getenv("XDG_RUNTIME_DIR").map { unsafe String(cString: $0) }
    // A program that became another user may have kept the session's variable.
    let isOwn = session.map { RunFolder($0) != nil } ?? false
    return places(session: isOwn ? session : nil, user: geteuid())
  }

  /// Where services have their sockets (`RuntimeDirectory=sprocket`): a service with a `/tmp` of its own
  /// has no entry that others see.
  private static let services = "/run/sprocket"

  // MARK: Entries

  /// Makes an entry for a socket; returns the folder. `nil` if there is no folder: then `top` has to be
  /// given the socket. The corresponding C function is `symlinkat`.
  static func add(_ identity: SocketIdentity, path: String) -> String? {
    for place in places {
      guard let folder = RunFolder(place, makes: true) else { continue }
      folder.remove(identity.name)
      let result = unsafe symlinkat(absolutePath(path), folder.descriptor, identity.name)
      if result == 0 { return place }
    }
    return nil
  }

  /// Removes an entry. The corresponding C function is `unlinkat`.
  static func remove(_ identity: SocketIdentity, from place: String) {
    RunFolder(place)?.remove(identity.name)
  }

  private func remove(_ name: String) { _ = unsafe unlinkat(descriptor, name, 0) }

  /// The control sockets of this user's runs, each once. Removes entries without a socket. A socket that is
  /// found need not have a run.
  static func sockets() -> [Found] {
    var found: [Found] = []
    for place in places {
      guard let folder = RunFolder(place) else { continue }
      found += folder.linkedSockets()
    }
    if let folder = RunFolder(services) { found += folder.ownSockets() }
    var known: Set<SocketIdentity> = []
    return found.filter { known.insert($0.identity).inserted }
  }

  /// Removes entries of runs that were killed. Nothing bounds how long it takes: a file system that has one
  /// of their sockets may hang.
  static func removeLeftOvers() {
    for found in sockets() {
      guard let folder = found.folder, let connection = try? RunConnection(path: found.path) else {
        continue
      }
      _ = try? connection.tryConnect()
      if connection.isLeftOver { remove(found.identity, from: folder) }
    }
  }

  private func linkedSockets() -> [Found] {
    names.compactMap { name in
      guard let target = target(of: name) else { return nil }
      let identity = SocketIdentity(path: target, followsLinks: true)
      guard let identity, identity.name == name else {
        remove(name)
        return nil
      }
      return Found(path: target, identity: identity, folder: path)
    }
  }

  private func ownSockets() -> [Found] {
    names.sorted().compactMap { name in
      let path = "\(path)/\(name)"
      return SocketIdentity(path: path, followsLinks: false).map { Found(path: path, identity: $0) }
    }
  }

  /// Returns the path of the socket to which an entry leads; `nil` if the name is no entry's.
  private func target(of name: String) -> String? {
    guard name.allSatisfy({ $0.isASCII && ($0.isNumber || $0 == "-") }) else { return nil }
    guard let target = PartialFile.link(at: "/proc/self/fd/\(descriptor)/\(name)"),
      target.hasPrefix("/")
    else {
      return nil
    }
    return target
  }

  /// The corresponding C functions are `fdopendir` and `readdir`.
  private var names: [String] {
    let copy = unsafe openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard copy >= 0 else { return [] }
    guard let folder = unsafe fdopendir(copy) else {
      close(copy)
      return []
    }
    defer { unsafe closedir(folder) }
    var names: [String] = []
    while let entry = unsafe readdir(folder) {
      names.append(
        unsafe withUnsafePointer(to: &entry.pointee.d_name) { name in
          unsafe String(cString: UnsafeRawPointer(name).assumingMemoryBound(to: CChar.self))
        })
    }
    return names
  }
}

/// A path from the root, for programs with another working directory. The corresponding C function is
/// `getcwd`.
func absolutePath(_ path: String) -> String {
  path.isEmpty || path.hasPrefix("/") ? path : "\(workingFolder())/\(path)"
}

/// The corresponding C function is `getcwd`.
func workingFolder() -> String {
  guard let folder = unsafe getcwd(nil, 0) else { return "." }
  defer { unsafe free(folder) }
  return unsafe String(cString: folder)
}
