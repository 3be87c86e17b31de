internal import FoundationEssentials
internal import Glibc
internal import Sprocket
internal import SprocketPage
internal import SprocketPipelines
internal import Synchronization

/// `--page`: what a page asks of its run. A façade over the requests that the control socket takes.
final class RunPage: PageRun {
  /// Requests that may wait for a disk or a device, each with a thread of its own. Larger: more browsers may
  /// wait for a disk that hangs.
  private static let mostWork = 8

  private let desk: RequestDesk
  private let answerer: RequestAnswerer
  /// Name of the sink that has the pictures.
  private let sink: String
  private let feed: PageFeed
  private let recording = Locked<RecordingID?>(nil)
  private let working = Atomic<Int>(0)

  init(_ desk: RequestDesk, _ sink: PageSink) {
    (self.desk, self.sink, feed) = (desk, sink.name, sink.feed)
    answerer = RequestAnswerer(desk, limits: .page)
  }

  /// Makes the server of a page. Throws if its token cannot be read.
  func server(_ settings: PageSettings) throws(RunError) -> PageServer {
    PageServer(settings, token: try Self.token(settings), feed, self)
  }

  /// What browsers of other machines have to show; `nil` where only this one reaches the page.
  private static func token(_ settings: PageSettings) throws(RunError) -> String? {
    if !settings.token.path.isEmpty {
      let bytes = fileBytes(settings.token.path, atMost: 4096) ?? []
      let word = String(decoding: bytes, as: UTF8.self).split { $0.isWhitespace }
      guard word.count == 1, word[0].utf8.count >= 16,
        word[0].allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || "-_".contains($0)) })
      else {
        throw RunError(
          .usage,
          "\(settings.token.path) has no token: give it one word of 16 letters, digits, - and _ or more"
        )
      }
      return String(word[0])
    }
    guard !settings.address.isLocal else { return nil }
    guard Console.errors.isTerminal else {
      throw RunError(
        .usage,
        "other machines show a token, and one that was made for this run would stand in a log here; give a "
          + "file with one as page's setting token")
    }
    let letters = Array("abcdefghijkmnpqrstuvwxyz23456789")
    return String((0..<26).compactMap { _ in letters.randomElement() })
  }

  func watch(_ isWatched: Bool) {
    recording.withLock { recording in
      let old = recording.flatMap { desk.engine.isUnderWay($0) ? $0 : nil }
      // What is refused is asked again at the server's next tick, or with the next watcher.
      do throws(RunError) {
        switch (old, isWatched) {
        case (let old?, false): try desk.engine.ask([.stop(old)])
        case (nil, true): recording = try desk.hidden(.record(sink: sink))
        default: break
        }
      } catch {}
    }
  }

  func answer(_ object: [UInt8], _ done: @escaping @Sendable (String) -> Void) {
    switch answerer.outcome(object, of: .client(.max)) {
    case .answer(let text): done(text)
    case .events:
      done(answerer.refusal("a page has its events at /events"))
    case .work(let make):
      guard working.wrappingAdd(1, ordering: .relaxed).newValue <= Self.mostWork else {
        working.wrappingSubtract(1, ordering: .relaxed)
        return done(
          answerer.refusal("\(Self.mostWork) requests wait for a disk or a device already"))
      }
      do throws(RunError) {
        _ = try BackgroundWork("page change") { [self] in
          let text = make()
          working.wrappingSubtract(1, ordering: .relaxed)
          done(text)
        }
      } catch {
        working.wrappingSubtract(1, ordering: .relaxed)
        done(answerer.refusal(error))
      }
    }
  }

  func status() -> String { PageDocument.text(StatusDocument(desk.engine, socket: nil)) }

  func controls() -> String { PageDocument.text(PageDocument(desk)) }

  func metrics() -> String { RunMetrics(StatusDocument(desk.engine, socket: nil)).text }

  func events(since mark: inout NewsMark) -> [String] { answerer.events(since: &mark) }
}

/// What a page can ask of its run.
struct PageDocument: Encodable {
  struct Control: Encodable {
    let name, unit, kind: String
    let minimum, maximum, step: Double
    let `default`: Double?
    let choices: [String: Double]?
  }

  let source: String
  let controls: [Control]
  /// Names of the plug-ins in the chain.
  let stages: [String]
  let records, photographs: Bool

  init(_ desk: RequestDesk) {
    source = desk.engine.description.name
    controls = (desk.engine.description.controls?.controls ?? []).compactMap { control in
      let kind: String
      var choices: [String: Double]?
      switch control.kind {
      case .number: kind = "number"
      case .boolean: kind = "boolean"
      case .button: kind = "button"
      case .menu(let all):
        kind = "menu"
        choices = Dictionary(all.map { ($0.name, $0.value) }) { first, _ in first }
      case .text, .array: return nil
      }
      return Control(
        name: control.name, unit: control.unit, kind: kind, minimum: control.minimum,
        maximum: control.maximum, step: control.step, default: control.defaultValue,
        choices: choices)
    }
    stages = desk.parts.pipeline.stages.map(\.kind)
    (records, photographs) = (desk.recordsMovies, desk.takesPhotos)
  }

  static func text(_ document: some Encodable) -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let data = (try? encoder.encode(document)) ?? Data("{}".utf8)
    return String(decoding: data, as: UTF8.self)
  }
}
