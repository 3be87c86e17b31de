package import CSprocketSystem
internal import Glibc

/// Who may read and write a file. What replaces it takes that over before it holds a byte, so that what
/// is private is not readable for a moment.
package struct FileAccess {
  let user: uid_t
  private let group: gid_t
  private let mode: mode_t
  private let path: String

  /// `nil` where no file is at `path`. The corresponding C function is `lstat`.
  package init?(of path: String) {
    var status = stat()
    guard unsafe lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    self.path = path
    (user, group, mode) = (status.st_uid, status.st_gid, status.st_mode & 0o777)
  }

  /// What to create the new file with: nobody but its owner may read it yet.
  package var firstMode: mode_t { mode & 0o600 }

  /// Gives a file the same owner, group, mode and access control list. The owner stays who makes it
  /// where only root may change that; a group that cannot be given gets what all others have.
  /// The corresponding C functions are `fchown`, `fsetxattr` and `fchmod`.
  package func give(to descriptor: Int32) {
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0 else { return }
    if status.st_uid != user { _ = fchown(descriptor, user, gid_t.max) }
    let hasGroup = status.st_gid == group || fchown(descriptor, uid_t.max, group) == 0
    let hasList = unsafe sprocket_copy_acl(path, descriptor) == 0
    let others = mode & 0o007
    let open = hasGroup && hasList ? mode : mode & (0o707 | others << 3)
    _ = fchmod(descriptor, open)
  }
}
