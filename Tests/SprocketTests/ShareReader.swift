import Glibc
import Synchronization

/// A program that reads a share, written from docs/share.md alone.
@safe
final class ShareReader {
  /// A received packet, by its kind.
  enum Packet {
    case layout
    case frames(Notice)
    case end
  }

  struct Notice {
    let slot: Int
    let frames: Int
    let ticket: UInt64
    let sharedCount: UInt64
  }

  let socket: Int32
  private var memory: UnsafeRawPointer?
  private var mappedBytes = 0
  private var layout = ""
  /// Frames that were shared when the reader connected, and up to the latest notice.
  private(set) var firstShared: UInt64 = 0
  private var lastShared: UInt64 = 0
  private(set) var seen: UInt64 = 0
  private(set) var missed: UInt64 = 0
  /// It was told why it was disconnected.
  private(set) var isRefused = false

  /// Connects to the socket at `path`; `nil` if no program listens there.
  init?(path: String, every: Bool) {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path.utf8) }
    socket = Glibc.socket(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0)
    let result = unsafe withUnsafePointer(to: address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe connect(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    guard result == 0 else {
      close(socket)
      return nil
    }
    // No wait without a bound.
    var limit = timeval(tv_sec: 30, tv_usec: 0)
    _ = unsafe setsockopt(
      socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    send("SPRKRDR1", every ? 1 : 0)
  }

  deinit {
    close(socket)
    unmap()
  }

  static func exists(_ path: String) -> Bool { unsafe access(path, F_OK) == 0 }

  func acknowledge(_ ticket: UInt64) { send("SPRKACK1", ticket) }

  func send(_ word: StaticString, _ number: UInt64) {
    var bytes = [UInt8](repeating: 0, count: 16)
    for index in 0..<8 {
      bytes[index] = unsafe word.utf8Start[index]
      bytes[8 + index] = UInt8(truncatingIfNeeded: number >> (8 * UInt64(index)))
    }
    _ = unsafe Glibc.send(socket, bytes, 16, Int32(MSG_NOSIGNAL))
  }

  /// The next packet; waits for it at most 30 seconds.
  func receive() -> Packet {
    var bytes = [UInt8](repeating: 0, count: 65536)
    var control = [UInt64](repeating: 0, count: 8)
    var count = 0
    repeat {
      count = unsafe bytes.withUnsafeMutableBytes { room in
        unsafe control.withUnsafeMutableBytes { side in
          var part = unsafe iovec(iov_base: room.baseAddress, iov_len: room.count)
          return unsafe withUnsafeMutablePointer(to: &part) { part in
            var message = unsafe msghdr()
            unsafe message.msg_iov = unsafe part
            unsafe message.msg_iovlen = 1
            unsafe message.msg_control = side.baseAddress
            unsafe message.msg_controllen = side.count
            return unsafe recvmsg(socket, &message, 0)
          }
        }
      }
    } while count < 0 && errno == EINTR
    guard count > 0 else { return .end }
    guard bytes[0] != UInt8(ascii: "{") else {
      let text = String(decoding: bytes[..<count], as: UTF8.self)
      // Why the connection ends.
      if text.hasPrefix(#"{"error""#) {
        isRefused = true
        return receive()
      }
      map(text, Int32(truncatingIfNeeded: control[2]))
      return .layout
    }
    func word(_ index: Int) -> UInt64 {
      (0..<8).reduce(0) { $0 | UInt64(bytes[8 * index + $1]) << (8 * UInt64($1)) }
    }
    let notice = Notice(
      slot: Int(word(0) & 0xFFFF_FFFF), frames: Int(word(0) >> 32), ticket: word(1),
      sharedCount: word(2))
    missed += notice.sharedCount - UInt64(notice.frames) - lastShared
    lastShared = notice.sharedCount
    return .frames(notice)
  }

  /// A number of the layout.
  func number(_ key: String) -> Int {
    guard let start = layout.range(of: "\"\(key)\":") else { return 0 }
    return Int(layout[start...].prefix { $0.isNumber }) ?? 0
  }

  private func map(_ text: String, _ descriptor: Int32) {
    unmap()
    layout = text
    mappedBytes = number("memory_bytes")
    let mapped = unsafe mmap(nil, mappedBytes, PROT_READ, MAP_SHARED, descriptor, 0)
    unsafe memory = unsafe mapped == MAP_FAILED ? nil : UnsafeRawPointer(mapped)
    if firstShared == 0, seen == 0, missed == 0, lastShared == 0 {
      firstShared = UInt64(number("shared"))
      lastShared = firstShared
    }
    close(descriptor)
  }

  private func unmap() {
    if let memory = unsafe memory {
      unsafe munmap(UnsafeMutableRawPointer(mutating: memory), mappedBytes)
    }
    unsafe memory = nil
  }

  private func atomic(_ offset: Int) -> UInt64 {
    guard let memory = unsafe memory else { return 0 }
    return unsafe (memory + offset).assumingMemoryBound(to: Atomic<UInt64>.self).pointee.load(
      ordering: .acquiring)
  }

  /// Frames that were shared so far, and whether the writer has ended, by the memory.
  var sharedCount: UInt64 { atomic(64) }
  var hasEnded: Bool { atomic(72) == 2 }

  /// The numbers and pixels of a slot's frames; `nil` if they were overwritten meanwhile.
  func read(_ notice: Notice) -> [(number: UInt64, pixels: [UInt8])]? {
    guard let memory = unsafe memory else { return nil }
    let slot = number("slots_at") + notice.slot * number("slot_bytes")
    guard atomic(slot + 8) == notice.ticket else { return overwritten(notice) }
    let bytes = number("payload_bytes")
    let frames = (0..<notice.frames).map { index in
      let header = slot + number("frames_at") + index * number("frame_stride")
      let payload = slot + number("payload_at") + index * bytes
      let found = unsafe memory.loadUnaligned(fromByteOffset: header + 24, as: UInt64.self)
      return unsafe (found, Array(UnsafeRawBufferPointer(start: memory + payload, count: bytes)))
    }
    guard atomic(slot) == notice.ticket else { return overwritten(notice) }
    seen += UInt64(notice.frames)
    return frames
  }

  private func overwritten(_ notice: Notice) -> [(number: UInt64, pixels: [UInt8])]? {
    missed += UInt64(notice.frames)
    return nil
  }

  /// Counts what was shared since the latest notice as missed. Returns whether everything adds up.
  func finish() -> Bool {
    let shared = sharedCount
    missed += shared - lastShared
    lastShared = shared
    return seen + missed == shared - firstShared
  }
}

extension String {
  fileprivate func range(of part: String) -> Index? {
    var at = startIndex
    while at < endIndex {
      if self[at...].hasPrefix(part) { return index(at, offsetBy: part.count) }
      at = index(after: at)
    }
    return nil
  }
}
