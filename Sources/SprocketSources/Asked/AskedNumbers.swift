internal import Glibc
internal import SprocketCore

/// The socket on which another program asks for pictures of a film or a dump by their numbers.
/// `docs/numbers.md` has its packets.
///
/// A request replaces the one before. All calls come from the source's thread.
@safe
final class AskedNumbers {
  /// A kind of request.
  enum Request {
    case pictures
    /// The file is that of ``path``.
    case file
    /// How many pictures there are, and their times.
    case times
  }

  private enum Kind {
    static let list: UInt64 = 1
    static let range: UInt64 = 2
    static let times: UInt64 = 3
    static let file: UInt64 = 4
  }

  /// Kinds of answers.
  enum Answer: UInt64 {
    case begins = 1
    case lost, beyond, times, changed, opened
  }

  /// Most numbers of a request. Larger: more memory for a buffer, fewer requests.
  static let mostNumbers = 8192
  /// Times in one packet. Larger: fewer packets; a socket takes 200 kB by default.
  private static let timesPerPacket = 8192
  /// Milliseconds between two looks at whether the source is to stop. Larger: fewer wake-ups, a later end.
  private static let tick: Int32 = 50

  private let descriptor: Int32
  private var buffer = [UInt64](repeating: 0, count: 2 + mostNumbers)
  private(set) var id: UInt64 = 0
  /// Numbers that are still to come, in the order in which they were asked.
  private var list: ArraySlice<UInt64> = []
  private var range: (next: Int64, step: Int64, left: UInt64) = (0, 0, 0)
  private(set) var isGone = false {
    didSet { if isGone { forget() } }
  }
  /// The file that was asked for last.
  private(set) var path = ""
  /// Nothing but a file was asked for so far.
  private(set) var isNew = true

  init(descriptor: Int32) throws(RunError) {
    var kind: Int32 = 0
    var length = socklen_t(MemoryLayout<Int32>.size)
    let result = unsafe getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &kind, &length)
    guard result == 0, kind == Int32(SOCK_SEQPACKET.rawValue) else {
      throw RunError(
        .usage, "asked: descriptor \(descriptor) is no Unix socket of the kind SOCK_SEQPACKET")
    }
    self.descriptor = descriptor
  }

  /// The number that is due; `nil` if none is.
  var next: UInt64? {
    list.first ?? (range.left > 0 ? UInt64(exactly: range.next) ?? .max : nil)
  }

  /// Whether a number behind it was asked for, too.
  var hasMore: Bool { list.count > 1 || list.isEmpty && range.left > 1 }

  /// The number that is due has been answered.
  func advance() {
    if list.popFirst() == nil, range.left > 0 {
      range.left -= 1
      range.next = range.next &+ range.step
    }
  }

  /// No further number of the request is due.
  private func forget() {
    list = []
    range.left = 0
  }

  /// Takes in a request, for which an idle source waits up to `timeout` nanoseconds. `place` counts the
  /// frames that were sent.
  func take<Failure>(
    timeout: Int64, place: UInt64, while goesOn: () -> Bool,
    times: () throws(Failure) -> [Int64]
  ) throws(Failure) {
    switch receive(timeout: next == nil ? timeout : 0) {
    case nil: return
    case .file: refuse()
    case .pictures: answer(.begins, place, while: goesOn)
    case .times: answer(times: try times(), while: goesOn)
    }
  }

  /// Answers that there is no picture of the number that is due.
  func end(_ place: UInt64, count: Int, while goesOn: () -> Bool) {
    answer(.beyond, place, UInt64(count), while: goesOn)
    forget()
  }

  /// Receives a request, which is waited for up to `timeout` nanoseconds; `nil` if there is none.
  func receive(timeout: Int64) -> Request? {
    guard !isGone, isReady(POLLIN, milliseconds: Int32(clamping: timeout / 1_000_000)) else {
      return nil
    }
    let count = unsafe buffer.withUnsafeMutableBytes { bytes in
      // The length of the whole packet, also where it is too long.
      unsafe recv(
        descriptor, bytes.baseAddress, bytes.count, Int32(MSG_DONTWAIT) | Int32(MSG_TRUNC))
    }
    if count < 0, errno == EAGAIN || errno == EINTR { return nil }
    let words = count / MemoryLayout<UInt64>.size
    guard count >= 16, count % 8 == 0, words <= buffer.count else {
      isGone = true
      return nil
    }
    forget()
    id = buffer[1]
    isNew = isNew && buffer[0] == Kind.file
    switch buffer[0] {
    case Kind.list:
      list = buffer[2..<words]
      return .pictures
    case Kind.range where words == 5:
      range = (
        Int64(truncatingIfNeeded: buffer[2]), Int64(truncatingIfNeeded: buffer[3]), buffer[4]
      )
      return .pictures
    case Kind.times: return .times
    case Kind.file:
      let bytes = unsafe buffer.withUnsafeBytes { bytes in
        unsafe bytes[16..<count].prefix { $0 != 0 }.map { $0 }
      }
      path = String(decoding: bytes, as: UTF8.self)
      return .file
    default:
      isGone = true
      return nil
    }
  }

  /// The other program has sent what it may not send now.
  func refuse() { isGone = true }

  func answer(_ answer: Answer, _ place: UInt64, _ count: UInt64 = 0, while goesOn: () -> Bool) {
    send([answer.rawValue, id, place, count], while: goesOn)
  }

  /// Sends all times, at least one packet: the number of pictures, the number of the first time, and times.
  func answer(times: [Int64], while goesOn: () -> Bool) {
    var start = 0
    repeat {
      let part = times[start..<min(times.count, start + Self.timesPerPacket)]
      send(
        [Answer.times.rawValue, id, UInt64(times.count), UInt64(start)]
          + part.map(UInt64.init(bitPattern:)), while: goesOn)
      start += Self.timesPerPacket
    } while start < times.count && !isGone
  }

  private func send(_ words: [UInt64], while goesOn: () -> Bool) {
    while goesOn(), !isGone {
      guard isReady(POLLOUT, milliseconds: Self.tick) else { continue }
      let count = unsafe words.withUnsafeBytes { bytes in
        unsafe Glibc.send(
          descriptor, bytes.baseAddress, bytes.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
      }
      if count >= 0 { return }
      if errno != EAGAIN, errno != EINTR { isGone = true }
    }
  }

  private func isReady(_ events: Int32, milliseconds: Int32) -> Bool {
    var request = pollfd(fd: descriptor, events: Int16(events), revents: 0)
    return unsafe poll(&request, 1, milliseconds) > 0
  }
}
