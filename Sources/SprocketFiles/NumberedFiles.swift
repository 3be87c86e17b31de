internal import Glibc
internal import SprocketCore

/// The files of one numbered name in a folder: `ride-7.mov` of `ride-{n}.mov`, and `ride-8.partial.mov`,
/// which a run left that did not end. No other file is ever listed or deleted.
package struct NumberedFiles: Sendable {
  package struct File: Sendable, Hashable {
    package let number: Int
    package let path: String
    package let byteCount: UInt64
    package let isPartial: Bool
  }

  /// Largest number of a file. A name with a larger one is another's: numbers are added to, and must not
  /// come near to what 64 bits hold. Larger: of no use, since no folder has so many files.
  package static let mostNumber = 1_000_000_000_000

  /// With a slash at its end, or empty.
  private let folder: String
  /// What stands before and behind the number in a file's name.
  private let before: String
  private let behind: String

  /// `before` and `behind` stand around the number in a path. `nil` where the number is in no file's own
  /// name.
  package init?(before: String, behind: String) {
    guard !behind.contains("/"), before + behind != "" else { return nil }
    let start = before.lastIndex(of: "/").map { before.index(after: $0) } ?? before.startIndex
    folder = String(before[..<start])
    self.before = String(before[start...])
    self.behind = behind
  }

  /// The files that are there, by their numbers. Links, folders and devices are none.
  ///
  /// The corresponding C functions are `opendir`, `readdir` and `fstatat`.
  package func list() -> [File] {
    guard let handle = unsafe opendir(folder.isEmpty ? "." : folder) else { return [] }
    defer { unsafe closedir(handle) }
    var found: [File] = []
    while let entry = unsafe readdir(handle) {
      let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { name in
        unsafe String(cString: UnsafeRawPointer(name).assumingMemoryBound(to: CChar.self))
      }
      guard let (number, isPartial) = number(of: name) else { continue }
      var status = stat()
      guard unsafe fstatat(dirfd(handle), name, &status, AT_SYMLINK_NOFOLLOW) == 0,
        status.st_mode & S_IFMT == S_IFREG
      else { continue }
      found.append(
        File(
          number: number, path: folder + name, byteCount: UInt64(max(0, status.st_size)),
          isPartial: isPartial))
    }
    return found.sorted { ($0.number, $0.path) < ($1.number, $1.path) }
  }

  /// The number of the file with this path; `nil` if the path is of another name.
  package func number(ofPath path: String) -> Int? {
    guard path.hasPrefix(folder) else { return nil }
    return number(of: String(path.dropFirst(folder.count)))?.number
  }

  /// The number in a file's name as this program spells it: without zeros before it.
  func number(of name: String) -> (number: Int, isPartial: Bool)? {
    guard name.hasPrefix(before) else { return nil }
    let digits = name.dropFirst(before.count).prefix { $0.isASCII && $0.isNumber }
    guard let number = Int(digits), (1...Self.mostNumber).contains(number), "\(number)" == digits
    else { return nil }
    let whole = before + digits + behind
    if name == whole { return (number, false) }
    return name == PartialFile.partialName(of: whole) ? (number, true) : nil
  }

  /// Whether a run is writing the file, or that cannot be known.
  ///
  /// The corresponding C functions are `open` and `flock`.
  package func isWritten(_ file: File) -> Bool {
    guard file.isPartial else { return false }
    do throws(RunError) {
      let descriptor = try PartialFile.openUnwritten(file.path)
      guard descriptor >= 0 else { return true }
      close(descriptor)
      return false
    } catch {
      return true
    }
  }

  /// Bytes of a file's beginning, and of its end, in which a text is looked for: more than the tags that a
  /// movie takes over from its source. Larger: more is read.
  private static let edge = 64 << 10

  /// Whether a file has a text, in letters of either case, near its beginning or its end.
  ///
  /// The corresponding C functions are `open` and `pread`.
  package func holds(_ text: String, _ file: File) -> Bool {
    let descriptor = unsafe open(file.path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    let wanted = text.utf8.map { $0 | 0x20 }
    var bytes = [UInt8](repeating: 0, count: Self.edge)
    let end = Int(clamping: file.byteCount)
    return [0, max(0, end - Self.edge)].contains { (offset: Int) in
      let count = unsafe pread(descriptor, &bytes, bytes.count, offset)
      return (0..<max(0, count - wanted.count + 1)).contains { start in
        wanted.indices.allSatisfy { bytes[start + $0] | 0x20 == wanted[$0] }
      }
    }
  }

  /// Deletes a file. Returns 0, or why it could not, as an `errno`.
  ///
  /// The corresponding C function is `unlink`.
  package func delete(_ file: File) -> Int32 {
    unsafe unlink(file.path) == 0 ? 0 : errno
  }
}
