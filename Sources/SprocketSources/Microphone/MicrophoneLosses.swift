internal import SprocketCore

/// What went wrong while a microphone was read, for the end of a run.
struct MicrophoneLosses: Sendable {
  /// Samples that were overwritten before they were read, as the device counts them; and how often.
  var overwritten: UInt64 = 0
  var overruns: UInt64 = 0
  /// Samples that were lost while the device was not running, estimated from times; and why it was not.
  var estimated: UInt64 = 0
  var stops: UInt64 = 0
  var sleeps: UInt64 = 0
  var unplugs: UInt64 = 0

  /// Sentences for a user.
  func notes(_ title: String, replacedTimes: UInt64) -> [String] {
    var notes: [String] = []
    if overruns > 0 {
      notes.append(
        "\(title) lost \(count(overwritten, "sample")) in \(count(overruns, "overrun")): nobody read for "
          + "longer than its buffer lasts; ask for a longer buffer, or run less beside it")
    }
    let interruptions: [(count: UInt64, what: String)] = [
      (unplugs, "was unplugged"), (sleeps, "was asleep"), (stops, "was stopped by its driver"),
    ]
    let reasons = interruptions.filter { $0.count > 0 }.map { count, what in
      count == 1 ? what : "\(what) \(count) times"
    }
    if !reasons.isEmpty {
      notes.append(
        "\(title) \(reasons.joined(separator: " and ")): about \(count(estimated, "sample")) missing, "
          + "estimated from times")
    }
    if replacedTimes > 0 {
      let times = replacedTimes == 1 ? "1 time was" : "\(replacedTimes) times were"
      notes.append(
        "\(title) gave times that cannot be right: \(times) replaced by that of the wake-up")
    }
    return notes
  }

  private func count(_ number: UInt64, _ noun: String) -> String {
    number == 1 ? "1 \(noun)" : "\(number) \(noun)s"
  }
}
