// Mistakes of a program's author: told in debug and release builds alike, then the program stops.
// `docs/traps.md` lists the sentences.

internal import Glibc
internal import Synchronization

/// Ends the program, because its code does what the interface does not allow. Says first, on standard
/// error, which stage, sink or source that was, at which frame, and how to mend it.
///
/// `sentence` begins with a verb that goes with that name: "reads ..., add ...". Nothing that a user, a
/// file or a device does may lead here: those are errors.
@inline(never)
public func contractBroken(_ sentence: String) -> Never {
  let code = RunningCode.current.map { "\($0): " } ?? ""
  // Several workers of a lane may break the contract at the same time. Only the first reports it and ends
  // the program.
  if isBroken.exchange(true, ordering: .relaxed) { sleep(1) } else { tell("\(code)\(sentence)\n") }
  abort()
}

private let isBroken = Atomic<Bool>(false)

/// Ends the program with `sentence` unless `isKept`.
@inlinable
public func contract(_ isKept: Bool, _ sentence: @autoclosure () -> String) {
  if !isKept { contractBroken(sentence()) }
}

/// Longest sentence, in bytes; more is cut off. Larger: up to 4,096 (`PIPE_BUF`), a write to a pipe is
/// atomic.
private let longestSentence = 2048
/// Milliseconds to wait until standard error can be written. Larger: a slow reader gets the sentence more
/// often, and a blocked one delays the end. After that the program stops without a
/// sentence, so that a blocked standard error cannot keep it running.
private let patienceMilliseconds: Int32 = 200

private func tell(_ sentence: String) {
  let bytes = Array(sentence.utf8.prefix(longestSentence))
  var request = pollfd(fd: STDERR_FILENO, events: Int16(POLLOUT), revents: 0)
  guard unsafe poll(&request, 1, patienceMilliseconds) == 1, request.revents & Int16(POLLOUT) != 0
  else { return }
  _ = unsafe write(STDERR_FILENO, bytes, bytes.count)
}

/// The stage, sink or source whose code a thread runs, and the frame. `contractBroken` begins its
/// sentence with them.
///
/// A thread has at most one. Only that thread changes it, with two stores for each call of a stage.
public final class RunningCode: CustomStringConvertible {
  private let names: [String]
  private var index = 0
  private var frame: UInt64?

  /// `names` are all that the thread will run, such as "stage `focus`".
  public init(_ names: [String]) { self.names = names }

  /// From here on the thread runs the code of the name at `index`, on that frame.
  public func enter(_ index: Int, frame: UInt64) {
    self.index = index
    self.frame = frame
  }

  public var description: String {
    let name = index < names.count ? names[index] : ""
    return frame.map { "\(name), frame \($0)" } ?? name
  }

  /// Runs `body` as this code, on the calling thread.
  public func during<Result, Failure: Error>(
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let before = Self.current
    Self.set(self)
    defer { withExtendedLifetime(self) { Self.set(before) } }
    return try body()
  }

  /// Whether the calling thread runs such code.
  public static var isOnThread: Bool { current != nil }

  static var current: RunningCode? {
    guard let key, let found = unsafe pthread_getspecific(key) else { return nil }
    return unsafe Unmanaged<RunningCode>.fromOpaque(found).takeUnretainedValue()
  }

  private static func set(_ code: RunningCode?) {
    guard let key else { return }
    unsafe pthread_setspecific(key, code.map { unsafe Unmanaged.passUnretained($0).toOpaque() })
  }

  /// `nil` if the process has no thread-specific key left; sentences then do not name the code.
  private static let key: pthread_key_t? = {
    var key = pthread_key_t()
    return unsafe pthread_key_create(&key, nil) == 0 ? key : nil
  }()
}
