internal import SprocketCore
internal import SprocketRecords

// Plays frames by number, as another program asks for them (`asked`). Numbers count the frames that came.

extension ReplaySource {
  /// Refuses settings that contradict requests by number.
  func checkAsked() throws(RunError) {
    guard settings.asked >= 0 else { return }
    guard !settings.live, settings.from == .zero else {
      throw RunError(.usage, "asked takes pictures by number: leave out live and from")
    }
    asked = try AskedNumbers(descriptor: Int32(settings.asked))
  }

  /// Makes the frame that is asked for the one that is told next; false if none is.
  func choose(_ asked: AskedNumbers, timeout: Int64) -> Bool {
    if isChosen { return true }
    asked.take(timeout: timeout, place: sentCount, while: goesOn) {
      numbered.map { index?.frames[$0].captured ?? 0 }
    }
    guard let number = asked.next else { return false }
    guard number < numbered.count else {
      asked.end(sentCount, count: numbered.count, while: goesOn)
      return false
    }
    place = numbered[Int(number)]
    asked.advance()
    isChosen = true
    return true
  }

  /// Ends the work on the frame that was asked for, when it has been taken or has no bytes.
  func answerChosen(_ asked: AskedNumbers, isCorrupt: Bool) {
    if isCorrupt { asked.answer(.lost, sentCount, while: goesOn) }
    sentCount += 1
    isChosen = false
  }

  func goesOn() -> Bool { !interruption.isSet }
}
