internal import Glibc
package import SprocketCore
internal import SprocketFiles

/// A Unix socket with a name, at which programs of this user connect.
package final class ListeningSocket: Sendable {
  package enum Kind: Sendable {
    case stream
    /// Packets in order (`SOCK_SEQPACKET`).
    case packets
  }

  package let path: String
  package let descriptor: Int32
  /// Device and inode of the name.
  package let identity: SocketIdentity?

  /// Replaces a socket that an earlier run left behind; throws if a program listens on it, or if another
  /// kind of file has that name. The name appears when clients can connect. `owner` begins the sentences
  /// of errors. The corresponding C functions are `socket`, `bind`, `chmod`, `listen` and `link`.
  package init(path: String, _ kind: Kind, owner: String) throws(RunError) {
    let first = path + "~"
    guard !path.isEmpty, !path.hasPrefix("@"), let address = SocketAddress(path: path),
      let firstAddress = SocketAddress(path: first)
    else {
      throw RunError(
        .usage,
        "\(owner): a path of a socket has 1 to \(SocketAddress.longest - 1) bytes; give a shorter one"
      )
    }
    // Without the lock, two programs that find one left-over socket would remove each other's new socket.
    let lock = FolderLock(of: path)
    defer { extendLifetime(lock) }
    try Self.removeLeftOver(path, address, kind, owner)
    try Self.removeLeftOver(first, firstAddress, kind, owner)
    let descriptor = Self.makeSocket(kind)
    guard descriptor >= 0 else { throw Self.failure(path, errno, owner) }
    let isBound = unsafe firstAddress.withPointer { unsafe bind(descriptor, $0, $1) } == 0
    let isMade =
      unsafe isBound && chmod(first, 0o600) == 0 && listen(descriptor, 64) == 0
      && link(first, path) == 0
    let code = errno
    if isBound { _ = unsafe unlink(first) }
    guard isMade else {
      close(descriptor)
      throw Self.failure(path, code, owner)
    }
    self.descriptor = descriptor
    self.path = path
    identity = SocketIdentity(path: path, followsLinks: false)
  }

  /// Removes the name, if it is still this socket's.
  package func removeName() {
    guard let identity, SocketIdentity(path: path, followsLinks: false) == identity else { return }
    _ = unsafe unlink(path)
  }

  deinit { close(descriptor) }

  private static func makeSocket(_ kind: Kind) -> Int32 {
    let type = kind == .stream ? SOCK_STREAM : SOCK_SEQPACKET
    let flags =
      Int32(type.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
    return socket(AF_UNIX, flags, 0)
  }

  private static func removeLeftOver(
    _ path: String, _ address: SocketAddress, _ kind: Kind, _ owner: String
  ) throws(RunError) {
    var status = stat()
    guard unsafe lstat(path, &status) == 0 else { return }
    guard status.st_mode & S_IFMT == S_IFSOCK else {
      throw RunError(
        .usage, "\(owner): \(path) is there and no socket; choose another name, or remove it")
    }
    let probe = makeSocket(kind)
    guard probe >= 0 else { throw failure(path, errno, owner) }
    defer { close(probe) }
    let result = unsafe address.withPointer { unsafe connect(probe, $0, $1) }
    guard result != 0, errno == ECONNREFUSED else {
      throw RunError(.usage, "\(owner): another program listens on \(path); choose another name")
    }
    _ = unsafe unlink(path)
  }

  private static func failure(_ path: String, _ code: Int32, _ owner: String) -> RunError {
    let reason = RunError.text(code)
    // The name is wrong, as a file's would be.
    let isUsage = [ENOENT, ENOTDIR, EACCES, EPERM, EROFS].contains(code)
    return RunError(
      isUsage ? .usage : .failed, "\(owner): cannot make \(path): \(reason); choose another name")
  }
}

/// Locks the folder of a path for as long as the object lives, so that programs make sockets there one after
/// the other.
/// The corresponding C function is `flock`.
private final class FolderLock {
  private let descriptor: Int32

  /// Longest wait for the lock in milliseconds. After it, the program goes on without the lock, as on file
  /// systems that have no locks. With a larger value, a program that was stopped while it held the lock
  /// delays others for longer.
  private static let patience = 2_000

  init(of path: String) {
    let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
    descriptor = unsafe open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { return }
    for _ in 0..<Self.patience {
      guard flock(descriptor, LOCK_EX | LOCK_NB) != 0, errno == EWOULDBLOCK else { return }
      usleep(1_000)
    }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }
}
