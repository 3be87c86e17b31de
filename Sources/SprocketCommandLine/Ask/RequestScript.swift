internal import Sprocket
internal import SprocketPipelines

/// `--script`: a file of requests, each with the frame or time from which it holds. One JSON object per line,
/// as on the control socket (docs/on-demand.md). Empty lines and lines that begin with `#` are ignored.
///
/// The script checks all lines before the run, and makes as many requests as a client may have waiting. A
/// thread makes the others while the run goes on; an offline source waits for them (`Engine.hold`).
final class RequestScript: Sendable {
  private struct Line {
    /// Line number in the file, from 1.
    let number: Int
    let asked: RequestReader.Asked
    var moment: Moment { asked.moment }
  }

  private let path: String
  private let answerer: RequestAnswerer
  private let engine: Engine
  private let lines: [Line]
  /// Number of requests that the script made before the run started. The thread makes the others.
  private let askedAhead: Int
  private let voice: Voice
  private let refused: RefusedRequests
  private let state = Locked(State())
  private let work = Locked<BackgroundWork<Void>?>(nil)

  private struct State {
    /// Requests that were made and have no outcome yet, with the index of their line in `lines`.
    var asked: [RequestID: Int] = [:]
    /// Number of requests that were not made before the run's end, and the first line of them.
    var unmadeCount = 0
    var firstUnmade = Int.max
  }

  private static let holder = RequestHolder.script
  /// Largest size of a script in bytes, 16 MB. A larger value allows longer scripts, which take more memory
  /// and more time at the start.
  private static let longest = 16 << 20
  /// Longest wait in nanoseconds for a place after the request's frame has arrived, 10 s. With a larger
  /// value, a slow disk causes fewer refusals, and an offline source may stand still for longer.
  private static let patience: Int64 = 10_000_000_000
  /// Interval between two checks for a free place. A larger value costs fewer wake-ups, and makes an offline
  /// source pause for longer.
  private static let tick = Duration.milliseconds(5)
  private static let late = RunError(
    .failed,
    "its frame had passed when the request was made, so it holds from a later frame; ask for fewer at a time"
  )

  private static let refusal = RunError(
    .failed,
    "not made: its sink had another recording at that frame, or the recording had ended; move the line"
  )

  /// Reads and checks a script, and makes its first requests. Throws if one cannot be read or is refused; the
  /// error names its line.
  init(_ path: String, _ desk: RequestDesk, _ voice: Voice) throws(RunError) {
    self.path = path
    self.voice = voice
    refused = RefusedRequests(voice)
    engine = desk.engine
    answerer = RequestAnswerer(desk)
    let bytes = fileBytes(path, atMost: Self.longest + 1)
    guard let bytes, bytes.count <= Self.longest else {
      let reason =
        bytes != nil
        ? "it is too long"
        : PartialFile.isThere(path)
          ? "it cannot be read, or is a pipe whose writer sends nothing" : "it does not exist"
      throw RunError(
        .usage, "--script \(path): \(reason); give a file of requests, at most 16 MB")
    }
    lines = try Self.lines(bytes, path, answerer)
    var asked: [RequestID: Int] = [:]
    var next = 0
    while next < lines.count, engine.hasRoom(for: Self.holder) {
      if let id = try Self.ask(lines[next], path, answerer) { asked[id] = next }
      next += 1
    }
    askedAhead = next
    state.withLock { $0.asked = asked }
    engine.hold(at: next < lines.count ? lines[next].moment : nil)
  }

  /// Starts the thread that makes the other requests. Call it after the start of the run.
  func start() throws(RunError) {
    guard askedAhead < lines.count else { return }
    let started = try BackgroundWork("script") { self.askAll() }
    work.withLock { $0 = started }
  }

  /// Errors of requests that were refused, came too late or were not made. Read them once, after the run.
  var errors: [RunError] {
    guard work.withLock({ $0 })?.wait(for: .seconds(1)) ?? true else {
      return refused.errors + [
        RunError(
          .failed, "--script \(path): a request has not ended; look at which disk it waits for")
      ]
    }
    takeOutcomes()
    let state = state.withLock { $0 }
    guard state.unmadeCount > 0 else { return refused.errors }
    let sentence =
      "--script \(path): the run ended before line \(lines[state.firstUnmade].number); "
      + "\(state.unmadeCount) requests were not made"
    // The user ended the run early. This is no error of the script.
    guard !engine.wasStopped else {
      voice.tell(notice: sentence)
      return refused.errors
    }
    return refused.errors + [RunError(.failed, sentence + "; ask for frames that the run has")]
  }

  private static func lines(
    _ bytes: [UInt8], _ path: String, _ answerer: RequestAnswerer
  ) throws(RunError) -> [Line] {
    var lines: [Line] = []
    let texts = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    for (index, text) in texts.enumerated() {
      guard let first = text.first(where: { !isSpace($0) }), first != UInt8(ascii: "#") else {
        continue
      }
      do throws(RunError) {
        lines.append(Line(number: index + 1, asked: try answerer.readAhead(Array(text))))
      } catch {
        throw named(error, path, index + 1)
      }
    }
    // The thread makes requests in the order of the lines: a line after one for a later frame is late.
    guard lines.count > RequestHolder.mostPerClient else { return lines }
    for (line, following) in zip(lines, lines.dropFirst())
    where !line.moment.isBefore(orAt: following.moment) {
      throw named(
        RunError(
          .usage,
          "a script of more than \(RequestHolder.mostPerClient) requests has them in order, all with "
            + "at_frame or all with at_s; move this line, or change its key"), path,
        following.number)
    }
    return lines
  }

  /// What JSON calls white space, without the line's end.
  private static func isSpace(_ byte: UInt8) -> Bool { [0x20, 0x09, 0x0D].contains(byte) }

  private static func named(_ error: RunError, _ path: String, _ line: Int) -> RunError {
    RunError(error.code, "--script \(path), line \(line): \(error.description)", error.settings)
  }

  private static func ask(
    _ line: Line, _ path: String, _ answerer: RequestAnswerer
  ) throws(RunError) -> RequestID? {
    do throws(RunError) {
      return try answerer.ask(line.asked, by: holder)
    } catch {
      throw named(error, path, line.number)
    }
  }

  // MARK: The thread

  private func askAll() {
    var next = askedAhead
    // Time at which the source began to wait, because the next request has no place; `nil` if it goes on.
    var waitsSince: Int64?
    // Line of the latest `record`, if that was refused. A `stop` or `next` after it would change another
    // recording.
    var refusedRecord: Int?
    while next < lines.count, waitForRoom(lines[next].asked, &waitsSince) {
      let line = lines[next]
      do throws(RunError) {
        if let refusedRecord, line.asked.request.isOfLatestRecording {
          throw Self.named(
            RunError(
              .failed, "not made, because the `record` of line \(refusedRecord) was refused"),
            path, line.number)
        }
        let id = try Self.ask(line, path, answerer)
        if let id { state.withLock { $0.asked[id] = next } }
        if line.asked.name == "record" { refusedRecord = nil }
      } catch {
        guard engine.takesRequests else { break }
        refused.add(error, like: lines[next].asked.name)
        if line.asked.name == "record" { refusedRecord = line.number }
      }
      next += 1
      engine.hold(at: next < lines.count ? lines[next].moment : nil)
      takeOutcomes()
    }
    noteUnmade(lines.count - next, from: next)
  }

  /// Reports requests that were late, and counts those that were not made before the run's end.
  private func takeOutcomes() {
    for (id, outcome) in engine.takeOutcomes() {
      guard let place = state.withLock({ $0.asked.removeValue(forKey: id) }) else { continue }
      switch outcome {
      case .inTime: break
      case .late: refused.add(Self.named(Self.late, path, lines[place].number), like: "late")
      case .unmade: noteUnmade(1, from: place)
      case .refused:
        refused.add(Self.named(Self.refusal, path, lines[place].number), like: "refused")
      }
    }
  }

  private func noteUnmade(_ count: Int, from place: Int) {
    guard count > 0 else { return }
    state.withLock { state in
      state.unmadeCount += count
      state.firstUnmade = min(state.firstUnmade, place)
    }
  }

  /// Waits for a place. Also returns true without a place once the request's frame has waited for `patience`:
  /// the refusal of the request then says what is missing. Returns false if the run is over.
  private func waitForRoom(
    _ asked: RequestReader.Asked, _ since: inout Int64?
  ) -> Bool {
    // Stops have places of their own.
    while asked.name != "stop", !engine.hasRoom(for: Self.holder) {
      if engine.isHoldReached {
        let start = since ?? monotonicNow()
        since = start
        if monotonicNow() - start > Self.patience { return true }
      }
      guard engine.takesRequests, !engine.wait(for: Self.tick) else { return false }
    }
    since = nil
    return engine.takesRequests
  }
}

extension Moment {
  /// False for moments that cannot be compared.
  fileprivate func isBefore(orAt other: Moment) -> Bool {
    switch (self, other) {
    case (.frame(let first), .frame(let second)): first <= second
    case (.time(let first), .time(let second)): first <= second
    default: false
    }
  }
}
