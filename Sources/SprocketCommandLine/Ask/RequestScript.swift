internal import Sprocket

/// `--script`: a file of requests, each with the frame or time from which it holds. One JSON object per line,
/// as on the control socket (docs/on-demand.md). Empty lines and lines that begin with `#` are ignored.
///
/// The script checks all lines before the run, and makes as many requests as a client may have waiting. A
/// thread makes the others while the run goes on; an offline source waits for them (`Engine.hold`).
final class RequestScript: Sendable {
  private struct Line {
    /// Line number in the file, from 1.
    let number: Int
    let request: RequestAnswerer.Request
    let moment: Moment
  }

  private let path: String
  private let answerer: RequestAnswerer
  private let engine: Engine
  private let lines: [Line]
  /// Number of lines whose requests were made before the run.
  private let askedAhead: Int
  private let voice: Voice
  private let refused: RefusedRequests
  private let work = Locked<BackgroundWork<Void>?>(nil)

  /// Holder of the script's requests. Clients of the control socket are numbered from 1, so that none of them
  /// has this number.
  private static let holder = RequestHolder.client(.max)
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
    .failed, "its frame had passed when there was a place for the request; ask for fewer at a time")

  /// Reads and checks a script, and makes its first requests. Throws if one cannot be read or is refused; the
  /// error names its line.
  init(_ path: String, _ desk: RequestDesk, _ voice: Voice) throws(RunError) {
    self.path = path
    self.voice = voice
    refused = RefusedRequests(voice)
    engine = desk.engine
    answerer = RequestAnswerer(desk)
    guard let bytes = fileBytes(path, atMost: Self.longest + 1), bytes.count <= Self.longest else {
      let reason =
        !PartialFile.isThere(path) ? "it does not exist" : "it cannot be read, or is too long"
      throw RunError(
        .usage, "--script \(path): \(reason); give a file of requests, at most 16 MB")
    }
    lines = try Self.lines(bytes, path, answerer)
    var asked = 0
    while asked < lines.count, engine.hasRoom(for: Self.holder) {
      try Self.ask(lines[asked], path, answerer)
      asked += 1
    }
    askedAhead = asked
    engine.hold(at: asked < lines.count ? lines[asked].moment : nil)
  }

  /// Starts the thread that makes the other requests. Call it after the start of the run.
  func start() throws(RunError) {
    guard askedAhead < lines.count else { return }
    let started = try BackgroundWork("script") { self.askAll() }
    work.withLock { $0 = started }
  }

  /// Errors of requests that were refused or came too late. Read them after the run's end.
  var errors: [RunError] {
    _ = work.withLock { $0 }?.wait(for: .seconds(1))
    return refused.errors
  }

  private static func lines(
    _ bytes: [UInt8], _ path: String, _ answerer: RequestAnswerer
  ) throws(RunError) -> [Line] {
    var lines: [Line] = []
    let texts = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    for (index, text) in texts.enumerated() {
      guard let first = text.first(where: { $0 != UInt8(ascii: " ") }), first != UInt8(ascii: "#")
      else { continue }
      do throws(RunError) {
        let (request, moment) = try answerer.parseAhead(Array(text))
        lines.append(Line(number: index + 1, request: request, moment: moment))
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

  private static func named(_ error: RunError, _ path: String, _ line: Int) -> RunError {
    RunError(error.code, "--script \(path), line \(line): \(error.description)", error.remedies)
  }

  private static func ask(
    _ line: Line, _ path: String, _ answerer: RequestAnswerer
  ) throws(RunError) {
    do throws(RunError) {
      try answerer.ask(line.request, by: holder)
    } catch {
      throw named(error, path, line.number)
    }
  }

  // MARK: The thread

  private func askAll() {
    var next = askedAhead
    // Start of the wait for a place of a request whose frame has arrived.
    var waitsSince: Int64?
    while next < lines.count, waitForRoom(&waitsSince) {
      let line = lines[next]
      do throws(RunError) {
        try Self.ask(line, path, answerer)
        if engine.description.isLive, engine.isHoldReached {
          refused.add(Self.named(Self.late, path, line.number))
        }
      } catch {
        guard engine.takesRequests else { break }
        refused.add(error)
      }
      next += 1
      engine.hold(at: next < lines.count ? lines[next].moment : nil)
    }
    guard next < lines.count else { return }
    voice.tell(
      notice: "--script \(path): the run ended before line \(lines[next].number); "
        + "\(lines.count - next) requests were not made")
  }

  /// Waits for a place. Also returns true without a place once the request's frame has waited for `patience`:
  /// the refusal of the request then says what is missing. Returns false if the run is over.
  private func waitForRoom(_ since: inout Int64?) -> Bool {
    while !engine.hasRoom(for: Self.holder) {
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
