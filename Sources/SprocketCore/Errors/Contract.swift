// Mistakes of a program's author: told in debug and release builds alike, then the program stops.
// `docs/traps.md` lists the sentences.

internal import Glibc

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
  if RunningCode.mayTellEnd() { tell("\(code)\(sentence)\n") }
  abort()
}

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
