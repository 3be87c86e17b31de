internal import Glibc
package import SprocketCore

extension PartialFile {
  /// Gives a complete file another name. To another file system it is copied, and removed when the copy is
  /// complete. An existing file of that name is an error unless `replaces` is set. The corresponding C
  /// function is `renameat2`.
  package static func move(_ path: String, to name: String, replaces: Bool) throws(RunError) {
    guard isFile(path) else {
      throw RunError(.usage, "\(path) cannot be moved: there is no such file")
    }
    let final = target(of: name)
    var code = unsafe FileCalls.rename(AT_FDCWD, path, to: final, replaces: replaces)
    if code == EXDEV {
      try copy(path, to: name, replaces: replaces)
      FileCalls.remove(path)
      return
    }
    if code == 0 { code = unsafe FileCalls.sync(folder: RunError.parent(of: final)) }
    if code != 0 { throw .opening(name, purpose: "a file that is moved", code) }
  }

  private static func copy(_ path: String, to name: String, replaces: Bool) throws(RunError) {
    let descriptor = unsafe FileCalls.open(AT_FDCWD, path, O_RDONLY)
    guard descriptor >= 0 else {
      throw .opening(path, purpose: "a file that is moved", -descriptor)
    }
    defer { close(descriptor) }
    var file = try FileWriter(path: name, purpose: "a file that is moved", overwrite: replaces)
    var bytes = [UInt8](repeating: 0, count: FileWriter.capacity)
    while true {
      let count = unsafe bytes.withUnsafeMutableBytes { bytes in
        unsafe read(descriptor, bytes.baseAddress, bytes.count)
      }
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else {
        throw RunError(
          .failed, "reading \(path) failed: \(RunError.text(errno)); it is where it was")
      }
      if count == 0 { break }
      try file.append(bytes.span.extracting(first: count))
    }
    try file.complete()
  }
}
