public import SprocketCore
internal import SprocketRing
internal import Synchronization

/// What happened in a run beside its frames, for programs that show or record it.
public enum RunNews: Sendable {
  /// A file of a recording was begun. A pre-roll may begin it earlier than its record says by then.
  case started(RecordingRecord)
  /// A recording takes no more frames, or takes them again.
  case paused(RecordingRecord)
  case resumed(RecordingRecord)
  /// A file is complete, or will not be made. It may end without having been started.
  case ended(RecordingRecord)
  /// Live settings of a stage changed. The frame is the first for which they hold.
  case settings(ChangedSettings, from: UInt64)
  /// Source, stages or sinks changed (`Engine.reconfigure`). The frame is the first after the change.
  case reconfigured(from: UInt64)
  /// Another program, or the device itself, changed a control of the source. The frame is the first that was
  /// captured after it.
  case control(name: String, value: Double, from: UInt64)
}

/// A reader's place in the news of a run.
public struct NewsMark: Sendable {
  fileprivate var recordings = 0
  fileprivate var events: UInt64 = 0

  /// The run's start.
  public init() {}
}

extension Engine {
  /// The news since `mark`, which moves on. Those about recordings are in order, and so are those about
  /// settings and controls. The latest 2,048 and 4,096 are kept: a reader that comes later misses the ones
  /// before. A mark beyond the latest news, such as one of another run, is moved back to the latest. May be
  /// called from any thread, and delays no frame.
  public func news(since mark: inout NewsMark) -> [RunNews] {
    recordings.news(since: &mark.recordings) + changes(since: &mark.events)
  }

  /// The place after all news so far.
  public var newsMark: NewsMark {
    var mark = NewsMark()
    mark.recordings = recordings.state.withLock(\.newsCount)
    mark.events = shared.events.end
    return mark
  }

  /// Whether `news` has something new. Cheaper than asking for it: for a reader that looks at each frame.
  public func hasNews(since mark: NewsMark) -> Bool {
    shared.events.end != mark.events
      || recordings.state.withLock(\.newsCount) != mark.recordings
  }

  /// The log of events has readers on any thread, and its writer never waits for them.
  private func changes(since next: inout UInt64) -> [RunNews] {
    let log = shared.events
    let end = log.end
    let controls = description.controls?.controls ?? []
    var found: [RunNews] = []
    next = min(max(next, log.oldest), end)
    while next < end {
      defer { next += 1 }
      // `nil`: it was overwritten meanwhile.
      guard let event = log.entry(next).map({ Event($0) }) else { continue }
      if event.kind == .settingsChanged, let changed = shared.settings.changed(event.ticket) {
        found.append(.settings(changed, from: event.number))
      } else if event.kind == .controlChanged, controls.indices.contains(Int(event.control)) {
        found.append(
          .control(
            name: controls[Int(event.control)].name, value: event.value, from: event.number))
      }
    }
    return found
  }
}

extension RecordingList {
  /// News of files that were begun, and of their ends.
  func news(since count: inout Int) -> [RunNews] {
    state.withLock { state in
      defer { count = state.newsCount }
      return Array(state.news.suffix(max(0, min(state.newsCount - count, state.news.count))))
    }
  }
}

extension RecordingList.State {
  /// Twice the records that are kept: a file begins and ends.
  private static let keptNews = 2 * RecordingList.kept

  mutating func tell(_ new: RunNews) {
    if news.count == Self.keptNews { news.removeFirst() }
    news.append(new)
    newsCount += 1
    bell.ring()
  }
}
