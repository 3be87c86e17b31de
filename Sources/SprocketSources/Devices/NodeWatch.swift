internal import Glibc
internal import SprocketCore

/// Watches the nodes of cameras and microphones in a folder: `/dev`.
///
/// After a change it waits until the nodes are unchanged for a while, since a device's nodes appear one
/// by one and get their rights later. A change of rights counts as a change.
struct NodeWatch: ~Copyable {
  /// Properties of a node that can be read without opening it. A replugged device has a new inode.
  struct Node: Hashable {
    var inode: UInt64
    var isPermitted: Bool
  }

  /// Time without a change before nodes are listed, in nanoseconds. A larger value reports later; a
  /// smaller one may list incomplete devices. udev sets rights within about 50 ms.
  static let quiet: Int64 = 200_000_000
  /// Longest time before nodes are listed while changes continue, in nanoseconds.
  static let patience: Int64 = 1_000_000_000

  let folder: String
  private let descriptor: Int32
  private(set) var nodes: [String: Node] = [:]

  /// The corresponding C functions are `inotify_init1` and `inotify_add_watch`.
  init(folder: String = "/dev") throws(RunError) {
    self.folder = folder
    descriptor = try Self.watch(folder)
    // The folder does not exist before the first sound card.
    _ = Self.watch(folder + "/snd", descriptor)
    nodes = list()
  }

  deinit { close(descriptor) }

  private static func watch(_ folder: String) throws(RunError) -> Int32 {
    let descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
    if descriptor >= 0, watch(folder, descriptor) { return descriptor }
    let reason = unsafe strerror(errno).map { unsafe String(cString: $0) } ?? "no error"
    if descriptor >= 0 { close(descriptor) }
    throw RunError(
      .failed, "\(folder) cannot be watched (\(reason)); close other programs that watch")
  }

  private static func watch(_ path: String, _ descriptor: Int32) -> Bool {
    let mask = IN_CREATE | IN_DELETE | IN_ATTRIB | IN_MOVED_TO | IN_MOVED_FROM
    return unsafe inotify_add_watch(descriptor, path, UInt32(mask)) >= 0
  }

  /// True when nodes have changed and are unchanged again. False after `timeout` nanoseconds without a
  /// change.
  ///
  /// The corresponding C functions are `poll` and `read`.
  mutating func wait(timeout: Int64) -> Bool {
    guard hears(within: timeout) else { return false }
    let end = monotonicNow() + Self.patience
    while monotonicNow() < end, hears(within: Self.quiet) {}
    _ = Self.watch(folder + "/snd", descriptor)
    return true
  }

  /// Whether a node of a camera or microphone changes within the time, in nanoseconds.
  private func hears(within timeout: Int64) -> Bool {
    let end = monotonicNow() + timeout
    while true {
      let left = max(0, end - monotonicNow())
      var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      guard unsafe poll(&entry, 1, Int32(clamping: (left + 999_999) / 1_000_000)) > 0 else {
        if monotonicNow() >= end { return false }
        continue
      }
      if readsRelevant() { return true }
    }
  }

  /// Reads pending events. True if one is about a camera or a microphone.
  private func readsRelevant() -> Bool {
    var isRelevant = false
    var bytes = [UInt8](repeating: 0, count: 4096)
    while true {
      let count = unsafe bytes.withUnsafeMutableBytes {
        unsafe read(descriptor, $0.baseAddress, $0.count)
      }
      guard count > 0 else { return isRelevant }
      // struct inotify_event: watch, mask, cookie, length, then the name with zeros behind it.
      var offset = 0
      while offset + 16 <= count {
        let mask = word(bytes, offset + 4)
        let length = Int(word(bytes, offset + 12))
        let name = String(
          decoding: bytes[(offset + 16)..<min(count, offset + 16 + length)].prefix { $0 != 0 },
          as: UTF8.self)
        if Self.isRelevant(name) || mask & UInt32(IN_Q_OVERFLOW) != 0 { isRelevant = true }
        offset += 16 + length
      }
    }
  }

  private func word(_ bytes: [UInt8], _ offset: Int) -> UInt32 {
    (0..<4).reduce(0) { $0 | UInt32(bytes[offset + $1]) << UInt32(8 * $1) }
  }

  /// `video0`; `pcmC1D0c`, from which sound is captured; the folder `snd`.
  static func isRelevant(_ name: String) -> Bool {
    isCamera(name) || isMicrophone(name) || name == "snd"
  }

  static func isCamera(_ name: String) -> Bool {
    name.hasPrefix("video") && Int(name.dropFirst(5)) != nil
  }

  static func isMicrophone(_ name: String) -> Bool { name.hasPrefix("pcmC") && name.hasSuffix("c") }

  /// Names of nodes that appeared or became accessible, and of those that disappeared or became
  /// inaccessible. A replugged device is in both.
  mutating func changes() -> (gone: [String], new: [String]) {
    let found = list()
    let gone = nodes.filter { found[$0.key] != $0.value }.keys.sorted()
    let new = found.filter { nodes[$0.key] != $0.value }.keys.sorted()
    nodes = found
    return (gone, new)
  }

  /// The corresponding C functions are `readdir`, `stat` and `access`.
  private func list() -> [String: Node] {
    let cameras = DeviceTree.names(in: folder).filter(Self.isCamera)
    let microphones = DeviceTree.names(in: folder + "/snd").filter(Self.isMicrophone)
    var nodes: [String: Node] = [:]
    for name in cameras + microphones.map({ "snd/\($0)" }) {
      var status = stat()
      let path = "\(folder)/\(name)"
      guard unsafe stat(path, &status) == 0 else { continue }
      nodes[name] = Node(
        inode: UInt64(status.st_ino), isPermitted: unsafe access(path, R_OK | W_OK) == 0)
    }
    return nodes
  }
}
