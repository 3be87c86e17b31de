package import Glibc

/// The address of a Unix socket.
package struct SocketAddress {
  private var address = sockaddr_un()
  private let length: socklen_t

  /// Longest path in bytes: `sun_path` has 108, and the last is the end mark.
  package static let longest = 107

  /// `nil` if the path is empty or longer than `longest`. A path that begins with `@` is an abstract name.
  package init?(path: String) {
    let bytes = Array(path.utf8)
    guard !bytes.isEmpty, bytes.count <= Self.longest, !bytes.contains(0) else { return nil }
    address.sun_family = sa_family_t(AF_UNIX)
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { room in
      unsafe room.copyBytes(from: bytes)
      if bytes[0] == UInt8(ascii: "@") { unsafe room[0] = 0 }
    }
    let isAbstract = bytes[0] == UInt8(ascii: "@")
    // An abstract name has no end mark: its length tells its end.
    length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count + (isAbstract ? 0 : 1))
  }

  package func withPointer<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result
  {
    unsafe withUnsafePointer(to: address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe body($0, length) }
    }
  }
}

/// The user of the program at the other end of a Unix socket; `nil` if that is not known. The corresponding
/// C function is `getsockopt`.
package func peerUser(of descriptor: Int32) -> uid_t? {
  // `struct ucred`: process, user and group.
  var peer: InlineArray<3, UInt32> = [0, .max, .max]
  var length = socklen_t(MemoryLayout.size(ofValue: peer))
  let result = unsafe getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &length)
  return result == 0 ? peer[1] : nil
}

/// Device and inode of a socket's file.
package struct SocketIdentity: Hashable, Sendable {
  package let device, inode: UInt64

  /// `nil` if no socket has that name. The corresponding C functions are `stat` and `lstat`.
  package init?(path: String, followsLinks: Bool) {
    var status = stat()
    let result = unsafe followsLinks ? stat(path, &status) : lstat(path, &status)
    guard result == 0, status.st_mode & S_IFMT == S_IFSOCK else { return nil }
    (device, inode) = (UInt64(status.st_dev), UInt64(status.st_ino))
  }
}

/// Opens a folder that belongs to this user and that no other user can write to; `nil` for any other. The
/// corresponding C functions are `open` and `fstat`.
package func openOwnFolder(_ path: String) -> Int32? {
  let descriptor = unsafe open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
  guard descriptor >= 0 else { return nil }
  var status = stat()
  guard unsafe fstat(descriptor, &status) == 0, status.st_uid == geteuid(),
    status.st_mode & 0o022 == 0
  else {
    close(descriptor)
    return nil
  }
  return descriptor
}
