internal import Glibc

/// A file without a name that has the latest input, for what reads files.
struct InputFile: Sendable {
  let path: String
  private let descriptor: Int32

  static let shared = InputFile()

  private init() {
    var name = Array(("/dev/shm/fuzz-" + String(repeating: "X", count: 6)).utf8CString)
    var span = name.mutableSpan
    descriptor = unsafe span.withUnsafeMutableBufferPointer { name in
      let start = unsafe name.baseAddress.unsafelyUnwrapped
      let made = unsafe mkstemp(start)
      unsafe unlink(start)
      return made
    }
    expect(descriptor >= 0, "no file can be made in /dev/shm")
    path = "/proc/self/fd/\(descriptor)"
  }

  func hold(_ bytes: [UInt8]) {
    expect(ftruncate(descriptor, 0) == 0, "the file cannot be emptied")
    let count = unsafe bytes.withUnsafeBytes {
      unsafe pwrite(descriptor, $0.baseAddress, $0.count, 0)
    }
    expect(count == bytes.count, "the file is full")
  }
}
