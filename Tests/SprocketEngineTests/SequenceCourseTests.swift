import SprocketCore
import TestExpectations
import Testing

@testable import SprocketEngine

/// What a sequence does, for any order of answers, refusals, ends, failures and replugs.
@Suite struct SequenceCourseTests {
  @Test(arguments: 0..<400) func a21EachRecordingBeginsOnceOrIsCancelled(_ seed: Int) throws {
    var model = SequenceModel(seed: UInt64(seed))
    for number in UInt64(0)..<400 where model.end == nil {
      model.happen(at: number)
      while model.end == nil, let action = model.course.next(at: number) {
        try model.carryOut(action, at: number)
      }
    }
    let all = Set(model.recordings.joined())
    expectNotNil(model.end)
    expectEqual(model.ended.union(model.cancelled), all)
    expectTrue(model.ended.isDisjoint(with: model.cancelled))
    let isWhole = model.begun == all && model.course.failure == nil
    expectEqual((model.end == .complete), (isWhole && model.course.unrestored == nil))
    expectEqual((model.course.unrestored != nil), model.wasRestoringRefused)
    expectTrue(model.written.isEmpty || model.written.last == SequenceModel.restored)
  }
}

/// A source, its recordings, and what must hold of each action.
private struct SequenceModel {
  static let restored = 99.0

  private var random: TestRandom
  private let port = ControlPort(controls: [
    ControlDescription(name: "exposure", unit: "us", minimum: 0, maximum: 100)
  ])
  let recordings: [[RecordingID]]
  var course: SequenceCourse
  private(set) var written: [Double] = []
  private(set) var begun: Set<RecordingID> = []
  private(set) var ended: Set<RecordingID> = []
  private(set) var cancelled: Set<RecordingID> = []
  private(set) var end: RecordingSequence.End?
  /// Whether the source has refused, or not taken, the values that were restored last.
  private(set) var wasRestoringRefused = false
  /// Events that the source has not told yet.
  private var events: [Event] = []
  /// The first frame that shows the latest write; `nil` before its answer.
  private var shows: UInt64?
  private var hasFailed = false
  /// The ticket of the values that are restored.
  private var restoring: UInt64?

  init(seed: UInt64) {
    var random = TestRandom(seed: seed)
    var next: UInt64 = 1
    recordings = (0..<random.below(4)).map { _ in
      (0..<random.below(3)).map { _ in
        defer { next += 1 }
        return RecordingID(next)
      }
    }
    self.random = random
    course = SequenceCourse(
      controls: recordings.indices.map { [ControlValue(0, Double($0 + 1))] },
      recordings: recordings, restored: [ControlValue(0, Self.restored)])
  }

  /// A failure counts until the controls are restored.
  private mutating func noteFailure() { hasFailed = hasFailed || written.last != Self.restored }

  /// What happens before a frame.
  mutating func happen(at number: UInt64) {
    if !events.isEmpty, random.chance(60) {
      var event = events.removeFirst()
      event.number = number
      if random.chance(8) {
        event.kind = .controlRefused
        noteFailure()
        if event.ticket == restoring { wasRestoringRefused = true }
      } else {
        shows = number + 2
      }
      course.take(event) { _ in "no" }
    }
    for id in begun.subtracting(cancelled).subtracting(ended) where random.chance(50) {
      ended.insert(id)
      course.ended(id)
    }
    if random.chance(3) {
      course.fail("something")
      if random.chance(30) { course.move(from: port, to: port) }
      noteFailure()
    }
  }

  mutating func carryOut(_ action: SequenceCourse.Action, at number: UInt64) throws {
    switch action {
    case .write(let values):
      let isRestoring = values.last?.value == Self.restored
      if isRestoring, hasFailed, random.chance(10) {
        course.isHurried = true
        course.skipRestoring()
        written.append(Self.restored)
        wasRestoringRefused = true
        return
      }
      expectTrue(begun.subtracting(cancelled).isSubset(of: ended), "it writes while it records")
      let batch = try #require(ShownBatch(values, to: port, unknownDelay: 2))
      written += values.map(\.value)
      if isRestoring { wasRestoringRefused = false }
      while let write = port.take() {
        if isRestoring { restoring = write.ticket }
        events.append(
          Event(
            kind: .controlApplied, control: write.control, ticket: write.ticket,
            value: write.value))
      }
      shows = values.isEmpty ? 0 : nil
      course.wrote(batch)
    case .begin(let step, let made):
      expectAtLeast(number, (try #require(shows, "the source has not answered")))
      expectTrue(written.last == Double(step + 1) && made.map(\.value) == [Double(step + 1)])
      expectTrue(!hasFailed && begun.isDisjoint(with: recordings[step]))
      begun.formUnion(recordings[step])
    case .cancel(let ids):
      expectTrue(hasFailed)
      expectTrue(ids.isDisjoint(with: cancelled))
      expectTrue(ids.isDisjoint(with: ended))
      cancelled.formUnion(ids)
    case .finish(let how): end = how
    }
  }
}
