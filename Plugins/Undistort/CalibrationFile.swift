import Glibc

/// Reads a calibration file: the one place of this stage that calls the system.
enum CalibrationFile {
  /// The longest file, in bytes. Larger: files with more views of the pattern, which OpenCV's sample also
  /// writes; a hundred views of a hundred corners take 200 KB.
  static let longest = 4 << 20

  /// The bytes of a regular file. Waits for nothing: pipes and devices are refused.
  static func read(_ path: String) throws(CalibrationError) -> [UInt8] {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw .system(errno) }
    defer { close(descriptor) }
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0 else { throw .system(errno) }
    guard status.st_mode & S_IFMT == S_IFREG else { throw .notAFile }
    guard status.st_size <= longest else { throw .tooLong }
    var bytes = [UInt8](repeating: 0, count: longest + 1)
    var count = 0
    while count < bytes.count {
      let found = unsafe bytes.withUnsafeMutableBytes { memory in
        unsafe memory.baseAddress.map { start in
          unsafe Glibc.read(descriptor, start + count, memory.count - count)
        } ?? 0
      }
      if found < 0, errno == EINTR { continue }
      guard found >= 0 else { throw .system(errno) }
      if found == 0 { break }
      count += found
    }
    guard count <= longest else { throw .tooLong }
    bytes.removeLast(bytes.count - count)
    return bytes
  }
}

/// Why a calibration cannot be used; the text follows the path and a colon.
enum CalibrationError: Error, Equatable, CustomStringConvertible {
  case system(Int32)
  case notAFile
  case tooLong
  case noText
  case missing(String)
  case wrong(String)

  var description: String {
    switch self {
    case .system(let code):
      "\(unsafe String(cString: strerror(code))); give the path of a file that can be read"
    case .notAFile: "it is not a file; give the path of one"
    case .tooLong:
      "it is longer than \(CalibrationFile.longest >> 20) MB; give the file that holds the matrices alone"
    case .noText: "it is not a text; give a YAML, XML or JSON file of OpenCV, or a YAML file of ROS"
    case .missing(let key):
      "it has no \(key); give a file as OpenCV's calibration or ROS's camera_calibration writes it"
    case .wrong(let sentence): sentence
    }
  }
}
