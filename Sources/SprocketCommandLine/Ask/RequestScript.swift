internal import Sprocket

/// `--script`: a file of requests, each with the frame or time from which it holds. One JSON object per line,
/// as on the control socket (docs/on-demand.md). Empty lines and lines that begin with `#` are ignored.
///
/// All lines are checked before the run. Requests are made as far ahead as there are places for them, like
/// those of a client, and the others while the run goes on: an offline source waits for them.
final class RequestScript: Sendable {
  private struct Line {
    /// From 1.
    let number: Int
    let request: RequestAnswerer.Request
    let moment: Moment
  }

  private let path: String
  private let answerer: RequestAnswerer
  private let engine: Engine
  private let lines: [Line]
  /// How many of them were asked before the run.
  private let askedAhead: Int
  private let voice: Voice
  private let refusals = Locked<[RunError]>([])
  private let work = Locked<BackgroundWork<Void>?>(nil)

  /// The number of no client of the control socket, which are counted from 1.
  private static let holder = RequestHolder.client(.max)
  /// Most bytes of a script, 16 MB. Larger: longer scripts, which take longer to check, and memory.
  private static let longest = 16 << 20
  /// Longest wait for a place of a request whose frame has come, 10 s. Larger: a slower disk refuses fewer.
  private static let patience: Int64 = 10_000_000_000
  /// Time between two looks for a place. Larger: fewer wake-ups, longer pauses of an offline source.
  private static let tick = Duration.milliseconds(5)
  private static let keptErrors = 10
  private static let late = RunError(
    .failed, "its frame had passed when there was a place for the request; ask for fewer at a time")

  /// Reads and checks a script, and makes its first requests. Throws if one cannot be read or is refused; the
  /// error names its line.
  init(_ path: String, _ desk: RequestDesk, _ voice: Voice) throws(RunError) {
    self.path = path
    self.voice = voice
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

  /// Begins to make the others. Call it when the run has started.
  func start() throws(RunError) {
    guard askedAhead < lines.count else { return }
    let started = try BackgroundWork("script") { self.askAll() }
    work.withLock { $0 = started }
  }

  /// The first errors of requests that were refused or came too late; after the run's end.
  var errors: [RunError] {
    _ = work.withLock { $0 }?.wait(for: .seconds(1))
    return refusals.withLock { $0 }
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
    // Not all of them are asked before the run: one that comes after later ones would be late.
    guard lines.count > RequestHolder.mostOfClient else { return lines }
    for (line, following) in zip(lines, lines.dropFirst())
    where !line.moment.isBefore(orAt: following.moment) {
      throw named(
        RunError(
          .usage,
          "a script of more than \(RequestHolder.mostOfClient) requests has them in order, all with at_frame "
            + "or all with at_s; move this line, or change its key"), path, following.number)
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
    // Since when a frame that has come waits for a place.
    var waitsSince: Int64?
    while next < lines.count, waitForRoom(&waitsSince) {
      let line = lines[next]
      do throws(RunError) {
        try Self.ask(line, path, answerer)
        if engine.description.isLive, engine.isHoldReached {
          refuse(Self.named(Self.late, path, line.number))
        }
      } catch {
        guard engine.takesRequests else { break }
        refuse(error)
      }
      next += 1
      engine.hold(at: next < lines.count ? lines[next].moment : nil)
    }
    guard next < lines.count else { return }
    voice.tell(
      notice: "--script \(path): the run ended before line \(lines[next].number); "
        + "\(lines.count - next) requests were not made")
  }

  /// Waits for a place. Returns true without one, too, if the frame has waited for long: then the request
  /// tells what is missing. Returns false once the run is over.
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

  private func refuse(_ error: RunError) {
    voice.tell(refusal: error)
    refusals.withLock { refusals in
      if refusals.count < Self.keptErrors { refusals.append(error) }
    }
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
