internal import Glibc
internal import SprocketCore
internal import SprocketFiles

// Reads a folder's entries.
extension StillFolder {
  /// Numbers of the stills in an open folder, complete or partial. The corresponding C functions are
  /// `fdopendir` and `readdir`.
  static func numbers(in descriptor: Int32) -> Set<StillNumber> {
    let copy = unsafe FileCalls.open(descriptor, ".", O_RDONLY | O_DIRECTORY)
    guard copy >= 0 else { return [] }
    guard let folder = unsafe fdopendir(copy) else {
      close(copy)
      return []
    }
    defer { unsafe closedir(folder) }
    var numbers: Set<StillNumber> = []
    while let entry = unsafe readdir(folder) {
      let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { name in
        unsafe String(cString: UnsafeRawPointer(name).assumingMemoryBound(to: CChar.self))
      }
      if let number = StillNumber(of: name) { numbers.insert(number) }
    }
    return numbers
  }

  /// Describes the file at `path`, which is no folder, for an error's sentence. The corresponding C function
  /// is `stat`.
  static func kind(of path: String) -> String {
    var status = stat()
    let isFile = unsafe stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    return isFile ? "a file" : "a device, a pipe or in no folder"
  }

  /// Whether there is a file of the name that is set. The corresponding C function is `faccessat`.
  var isThere: Bool {
    unsafe faccessat(descriptor, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0
  }

  /// Whether no still may have the name that is set.
  var isTaken: Bool { isOwn || !overwrite && isThere }

  /// Notes when a still of this run was made or named.
  func noteTime(of file: Int32) {
    guard naming.isPattern, let time = FileCalls.changeTime(file) else { return }
    began = min(began ?? time, time)
  }

  /// Whether it is that of a still of this run, which is never replaced.
  private var isOwn: Bool {
    guard let began else { return false }
    return unsafe FileCalls.hasChanged(descriptor, name, since: began)
      || FileCalls.hasChanged(descriptor, partialName, since: began)
  }

  func refusal(_ code: RunError.Code = .failed) -> RunError {
    let remedy =
      naming.isFixed ? "give another name" : "add {time} to the name, choose another folder"
    return RunError(
      code,
      "cannot write a still to \(current), which exists: \(remedy), or let files be overwritten",
      change: .overwrite)
  }
}

/// What tells stills of a folder apart whose name is no pattern.
struct StillNumber: Hashable, Comparable {
  /// Running number of the frame.
  let frame: UInt64
  /// Number among the stills of the frame, from 1.
  let copy: UInt32

  init(_ mark: StillMark) { (frame, copy) = (mark.number, mark.copy) }

  /// The number of a still, complete or partial; `nil` if `name` is not that of a still.
  init?(of name: String) {
    guard name.hasPrefix("still-"), let point = name.firstIndex(of: "."),
      [".jpg", ".partial.jpg"].contains(name[point...])
    else { return nil }
    let parts = name[..<point].split(separator: "-", omittingEmptySubsequences: false)
    guard 2...3 ~= parts.count, let frame = UInt64(parts[1]),
      let copy = parts.count == 2 ? 1 : UInt32(parts[2])
    else { return nil }
    (self.frame, self.copy) = (frame, copy)
    if text != name[..<point] { return nil }
  }

  /// `still-00000123`, or `still-00000123-2`.
  var text: String {
    let digits = "\(frame)"
    let zeros = String(repeating: "0", count: max(0, StillName.digits - digits.count))
    return "still-\(zeros)\(digits)" + (copy > 1 ? "-\(copy)" : "")
  }

  var mark: StillMark {
    var record = FrameRecord()
    record.number = frame
    var mark = StillMark(record)
    mark.copy = copy
    return mark
  }

  static func < (one: StillNumber, other: StillNumber) -> Bool {
    (one.frame, one.copy) < (other.frame, other.copy)
  }
}
