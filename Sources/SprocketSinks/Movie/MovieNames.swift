import SprocketCore
internal import SprocketFiles
internal import Synchronization

/// The name of a file of this run. It is free again when this object ends, unless there is a file: complete,
/// or with its partial name because it could not be completed.
final class MovieName: Sendable {
  let path: String
  /// What the name was made of, and its number.
  fileprivate let pattern: OutputName
  let number: Int
  private let names: MovieNames
  private let isKept = Atomic(false)

  fileprivate init(_ path: String, _ pattern: OutputName, _ number: Int, of names: MovieNames) {
    self.path = path
    self.pattern = pattern
    self.number = number
    self.names = names
  }

  /// A file is there: this run gives its name to no other.
  func keep() { isKept.store(true, ordering: .relaxed) }

  /// The file was empty, and is removed.
  func free() { isKept.store(false, ordering: .relaxed) }

  deinit { names.leave(path, pattern, number, isKept: isKept.load(ordering: .relaxed)) }
}

/// The names of the files of one run. Any thread may take one: the lock is not held while the disk is asked.
final class MovieNames: Sendable {

  private struct State {
    /// Names of files that are being made.
    var held: Set<String> = []
    /// Names of files that exist, the latest ones; `ring` has them in order.
    var made: Set<String> = []
    var ring: [String] = []
    var next = 0
    /// The latest number of each pattern.
    var numbers: [OutputName: Int] = [:]
  }

  /// Names of files that are kept, and patterns. Beyond these a file of this run is known by its time alone.
  /// Larger: that happens later.
  private static let kept = 1024

  private let state = Locked(State())
  private let began = FileCalls.now()

  /// Numbers of names that are held, of those of files that are there, and of patterns.
  var counts: [Int] { state.withLock { [$0.held.count, $0.made.count, $0.numbers.count] } }

  /// Takes the name of the file of that number. Where a made-up name is taken, a later number is: its cost
  /// does not depend on how many there are. Throws if a name that is not made up is one of this run's files.
  func take(
    _ pattern: OutputName, _ number: Int, isMadeUp: Bool, replaces: Bool,
    isThere: (String) -> Bool = { PartialFile.isTaken($0) }
  ) throws(RunError) -> MovieName {
    func isTaken(_ number: Int) -> Bool {
      guard number <= NumberedFiles.mostNumber else { return false }
      let path = Self.path(pattern, number)
      return state.withLock { $0.held.contains(path) || $0.made.contains(path) }
        || isThere(path) && (!replaces || isOwn(path))
    }
    var number = number
    while true {
      if isMadeUp, isTaken(number) {
        number = state.withLock { max(number, $0.numbers[pattern] ?? 0) } + 1
        if isTaken(number) { number = Self.free(from: number, isTaken) }
      }
      guard number <= NumberedFiles.mostNumber else {
        throw RunError(
          .usage,
          "\(pattern.path) has files with the largest numbers that there are; give another name")
      }
      if let name = hold(pattern, number), isMadeUp || !replaces || !isOwn(name.path) {
        return name
      }
      guard isMadeUp else {
        throw RunError(
          .usage, "\(Self.path(pattern, number)) was recorded by this run; give another name")
      }
    }
  }

  /// A number behind a taken one that is free: found by doubling, then halving.
  private static func free(from taken: Int, _ isTaken: (Int) -> Bool) -> Int {
    var (low, step) = (taken, 1)
    while isTaken(low + step) {
      low += step
      step *= 2
    }
    var high = low + step
    while high - low > 1 {
      let middle = low + (high - low) / 2
      if isTaken(middle) { low = middle } else { high = middle }
    }
    return high
  }

  /// Whether a file that would be replaced is one of this run. The clock is asked only where more names were
  /// given than are kept: it may be wrong.
  private func isOwn(_ path: String) -> Bool {
    let (isMade, isFull) = state.withLock { ($0.made.contains(path), $0.ring.count == Self.kept) }
    return isMade || isFull && FileCalls.hasChanged(path, since: began)
  }

  private func hold(_ pattern: OutputName, _ number: Int) -> MovieName? {
    let path = Self.path(pattern, number)
    let isHeld = state.withLock { state in
      guard state.held.insert(path).inserted else { return false }
      if state.numbers.count >= Self.kept { state.numbers = [:] }
      state.numbers[pattern] = max(number, state.numbers[pattern] ?? 0)
      return true
    }
    return isHeld ? MovieName(path, pattern, number, of: self) : nil
  }

  fileprivate func leave(_ path: String, _ pattern: OutputName, _ number: Int, isKept: Bool) {
    state.withLock { state in
      state.held.remove(path)
      if isKept {
        if state.ring.count < Self.kept {
          state.ring.append(path)
        } else {
          state.made.remove(state.ring[state.next])
          state.ring[state.next] = path
        }
        state.made.insert(path)
        state.next = (state.next + 1) % Self.kept
      } else if state.numbers[pattern] == number {
        state.numbers[pattern] = number - 1
      }
    }
  }

  /// The place of a file's number in a name.
  static let place = "n"

  /// The path of a numbered file: `movie.mov`, `movie-2.mov`; `take-1.mov` for `take-{n}.mov`.
  static func path(_ pattern: OutputName, _ number: Int) -> String {
    if pattern.hasNumber { return pattern.filled(place, with: "\(number)").path }
    let path = pattern.path
    guard number > 1 else { return path }
    guard let point = path.lastIndex(of: ".") else { return "\(path)-\(number)" }
    return path[..<point] + "-\(number)" + path[point...]
  }
}

extension OutputName {
  /// Whether it has a place for a file's number.
  var hasNumber: Bool { places.contains(MovieNames.place) }
}
