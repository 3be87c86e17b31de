internal import Glibc
package import SprocketCore

/// A file of JSON Lines that is written in large pieces, from memory that is there from the start.
package struct SceneTruthFile: ~Copyable {
  private let path: String
  private let descriptor: Int32
  private var text: [UInt8] = []
  /// The first error of a write; told when the source is next asked.
  private var failure: Int32 = 0

  private static let capacity = 1 << 18

  /// Creates the file, or empties it.
  package init(path: String) throws(RunError) {
    self.path = path
    descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else {
      throw RunError(
        .usage,
        "cannot write the scene's truth to \(path): \(Self.message(errno)); choose another truth=")
    }
    text.reserveCapacity(Self.capacity)
  }

  deinit {
    if descriptor >= 0 { close(descriptor) }
  }

  /// Adds one frame. Writes to the file only when the memory is full: every few hundred frames.
  package mutating func add(_ truth: SceneTruth) {
    let room = SceneTruth.longestLine * (1 + Int(min(truth.capture.lost, 64)))
    if text.count + room > Self.capacity { flush() }
    truth.append(to: &text)
  }

  /// Writes what is still in memory.
  package mutating func flush() {
    var written = 0
    while written < text.count && failure == 0 {
      let count = unsafe text.withUnsafeBytes { bytes in
        unsafe write(descriptor, bytes.baseAddress! + written, bytes.count - written)
      }
      if count >= 0 {
        written += count
      } else if errno != EINTR {
        failure = errno
      }
    }
    text.removeAll(keepingCapacity: true)
  }

  /// Throws if anything could not be written.
  package func check() throws(RunError) {
    guard failure != 0 else { return }
    throw RunError(
      .failed, "cannot write the scene's truth to \(path): \(Self.message(failure))")
  }

  private static func message(_ code: Int32) -> String {
    unsafe String(cString: strerror(code))
  }
}
