internal import Glibc

/// A process that has a device open.
public struct V4L2Holder: Hashable, Sendable {
  public var process: Int32
  /// The program's name.
  public var name: String

  /// Who has the device open, as far as this user may see: looks through `/proc/*/fd`. Not this process
  /// itself.
  public static func all(of path: String) -> [V4L2Holder] {
    names(in: "/proc").compactMap { Int32($0) }.sorted().filter { $0 != getpid() }
      .compactMap { process in
        guard descriptors(of: path, "\(process)") > 0 else { return nil }
        let name = contents("/proc/\(process)/comm", upTo: 64) ?? []
        return V4L2Holder(
          process: process, name: String(decoding: name.prefix { $0 != 0x0A }, as: UTF8.self))
      }
  }

  /// Whether this process keeps the device open, for 0.3 s. A source that waits for a device opens it four
  /// times a second, for a moment.
  public static func isKeptHere(_ path: String) -> Bool {
    for _ in 0..<15 {
      guard descriptors(of: path, "self") > 0 else { return false }
      usleep(20_000)
    }
    return true
  }

  /// How often a process of `/proc` has it open.
  static func descriptors(of path: String, _ process: String) -> Int {
    let folder = "/proc/\(process)/fd"
    return names(in: folder).count { target("\(folder)/\($0)") == path }
  }

  /// The corresponding C function is `readlink`.
  static func target(_ link: String) -> String? {
    var bytes = [UInt8](repeating: 0, count: 256)
    let count = unsafe bytes.withUnsafeMutableBytes { buffer in
      let characters = unsafe buffer.bindMemory(to: CChar.self)
      guard let start = characters.baseAddress else { return -1 }
      return unsafe readlink(link, start, characters.count)
    }
    return count < 0 ? nil : String(decoding: bytes.prefix(count), as: UTF8.self)
  }
}
