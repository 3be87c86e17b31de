internal import SprocketCore

// Accounting for what a file was given. Samples count as delivered when the file's output has them for good.

extension AudioTrack {
  /// The output has the first `stored` samples of the file.
  func settle(upTo stored: UInt64) {
    guard let number = settled.take(upTo: Int64(clamping: stored)) else { return }
    account(upTo: number, as: .delivered)
  }

  /// Accounts for all other samples that were given out: `.delivered` once the file is complete, `.failed`
  /// where they cannot be stored.
  func settle(as fate: Fate) { account(upTo: delivered, as: fate) }

  /// The file is lost, and with it what was accounted for as delivered.
  func revoke() {
    if settled.delivered > 0 { reader.tap.recount(settled.delivered, .delivered, as: .failed) }
    settled.delivered = 0
  }

  /// Tells the tap of the file, which is complete.
  func note(path: String) {
    let counts = counts
    reader.tap.note(
      AudioFileAccount(
        path: path, samples: counts.samples, delivered: counts.delivered, silence: counts.silence,
        corrected: counts.corrected))
  }

  private func account(upTo number: UInt64, as fate: Fate) {
    guard number > settled.count else { return }
    let samples = number - settled.count
    reader.tap.count(samples, as: fate)
    settled.count = number
    if fate == .delivered { settled.delivered += samples }
  }

  /// How finely a track knows which samples of the device are in how much of the file. Larger: of a file that
  /// fails, fewer samples count as failed that are in it.
  static let marksPerSecond = 100
}

/// Which samples of a track are accounted for.
struct SettledSound {
  /// Of the delivered samples of the device, how many of the first are accounted for, and how many of these
  /// as `.delivered`.
  var (count, delivered): (UInt64, UInt64) = (0, 0)
  /// Samples of the file, and of the device that it had by then, from `first` on.
  private var marks = [(emitted: Int64, delivered: UInt64)](repeating: (0, 0), count: most)
  private var (first, markCount) = (0, 0)

  /// The file has `emitted` samples, and `delivered` ones of the device in them. Only the newest mark is
  /// moved while there is no room for another.
  mutating func mark(_ emitted: Int64, _ delivered: UInt64, spacing: Int64) {
    let newest = (first + markCount + Self.most - 1) % Self.most
    if markCount > 0, emitted < marks[newest].emitted + spacing { return }
    if markCount == Self.most {
      marks[newest] = (emitted, delivered)
    } else {
      marks[(first + markCount) % Self.most] = (emitted, delivered)
      markCount += 1
    }
  }

  /// Takes the marks up to `stored` samples of the file; the count of the last one, `nil` if there is none.
  mutating func take(upTo stored: Int64) -> UInt64? {
    var found: UInt64?
    while markCount > 0, marks[first].emitted <= stored {
      found = marks[first].delivered
      (first, markCount) = ((first + 1) % Self.most, markCount - 1)
    }
    return found
  }

  /// Most marks: 2.5 s of sound, and a fragment has one. Larger: more memory.
  private static let most = 256
}
