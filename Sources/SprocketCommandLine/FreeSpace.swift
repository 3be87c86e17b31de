internal import Sprocket

/// The free space of a folder's disk for the status line. It is asked on a thread of its own: a file system
/// that hangs must not stop the thread that takes signals.
final class FreeSpace {
  private let folder: String
  private var work: BackgroundWork<UInt64?>?
  private var asked: Int64 = 0
  private var latest: UInt64?

  init(_ folder: String) { self.folder = folder }

  /// Longest wait for the answer. Larger: the first status line has it on slower disks, and keys wait longer.
  private static let patience = Duration.milliseconds(20)
  /// Nanoseconds without an answer after which the status line says that the disk does not answer. Larger:
  /// shorter stalls are not shown.
  private static let longest: Int64 = 2_000_000_000

  /// Part of the status line; `nil` if the file system does not tell its free space.
  var sentence: String? {
    if work == nil {
      work = try? BackgroundWork("free space") { [folder] in FileCalls.freeByteCount(at: folder) }
      asked = monotonicNow()
    }
    if let work, work.wait(for: Self.patience) {
      if case .success(let free)? = work.take() { latest = free }
      self.work = nil
    } else if monotonicNow() - asked > Self.longest {
      return "the disk of \(folder) does not answer"
    }
    return latest.map { "\(fixed(Double($0) / 1_073_741_824, 1)) GB free" }
  }
}
