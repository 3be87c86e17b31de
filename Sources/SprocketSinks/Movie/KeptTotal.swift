internal import Glibc
import SprocketCore
internal import SprocketFiles

/// Keeps all files of a movie's name below a number of bytes: deletes the oldest when a new one is complete.
///
/// Older is what has the lower number, so that a clock that is wrong after a power cut deletes nothing new;
/// therefore the numbers of a run begin behind the highest that is there. Files of earlier runs count, whole
/// ones and those that such a run left with their partial names. Never deleted: the file that was completed
/// last, what any run is writing, what has another name, and what no run wrote, which does not count either.
///
/// A file under way counts as large as it is, or as the largest that this run has completed, if that is
/// more. Room for the first file of a recording is made before that begins; behind the last one none is.
final class KeptTotal: Sendable {
  private struct State {
    var highest: Int?
    /// Bytes of the largest file that was completed.
    var largest: UInt64
    var deletedFiles = 0
    var deletedBytes: UInt64 = 0
    var hasFailed = false
    var isAbove = false
    /// Whether a run wrote a file, of those that were looked into: each is once.
    var marks: [NumberedFiles.File: Bool] = [:]
    /// Paths of files that no run wrote.
    var others: [String] = []
  }

  private let files: NumberedFiles
  private let name: String
  private let limit: ByteCount
  private let state: Locked<State>

  /// `fileBytes` is the size at which a file ends, if that is given. `nil` where the number is not in the
  /// name of the file itself, once.
  init?(_ limit: ByteCount, of pattern: OutputName, fileBytes: UInt64?) {
    guard let files = Self.files(of: pattern) else { return nil }
    self.files = files
    self.limit = limit
    name = pattern.path
    state = Locked(State(largest: fileBytes ?? 0))
  }

  /// Why a name keeps no total.
  static let needsNumber =
    "keeping a total deletes files by their numbers; give the movie a name that has {n} once, with no digit "
    + "or place beside it, such as ride-{n}.mov"

  /// The files of a name; `nil` where the number is not in it once, or could be read as a part of what
  /// stands beside it: the first file of `cam1{n}.mov` is the eleventh of `cam{n}.mov`.
  static func files(of pattern: OutputName) -> NumberedFiles? {
    let place = OutputName.Part.place(MovieNames.place)
    guard let at = pattern.parts.firstIndex(of: place),
      !pattern.parts[(at + 1)...].contains(place)
    else { return nil }
    func text(_ parts: ArraySlice<OutputName.Part>) -> String {
      parts.map { part in
        switch part {
        case .text(let text): text
        case .place(let word): "{\(word)}"
        }
      }.joined()
    }
    let (before, behind) = (text(pattern.parts[..<at]), text(pattern.parts[(at + 1)...]))
    let beside = [before.last, behind.first].compactMap(\.self)
    guard !beside.contains(where: { $0.isNumber || "{}".contains($0) }) else { return nil }
    return NumberedFiles(before: before, behind: behind)
  }

  /// The highest number of a file when the run began: those of the run follow it.
  var highestNumber: Int {
    state.withLock { state in
      if let known = state.highest { return known }
      let found = files.list().last?.number ?? 0
      state.highest = found
      return found
    }
  }

  /// What was deleted, and the first error of the run.
  typealias Trimming = (deleted: [String], error: RunError?)

  /// Deletes the oldest files until the total is below the limit. `path` is the file that was just completed.
  /// On the thread that completes files.
  func trim(after path: String, bytes: UInt64) -> Trimming {
    guard let newest = files.number(ofPath: path) else { return ([], nil) }
    let (rest, written) = found()
    let size = rest.last { $0.number == newest }?.byteCount ?? bytes
    let largest = state.withLock { state in
      state.largest = max(state.largest, bytes, size)
      return state.largest
    }
    // Where no file is under way, none follows.
    let room = written.isEmpty ? 0 : max(largest, Self.sum(written))
    return delete(rest, below: newest, room: room, tellsAbove: true)
  }

  /// Deletes the oldest files until there is room for the first file of a recording, which counts as large
  /// as the largest that is there. Does nothing while a file of the name is under way: `trim` makes room for
  /// what follows it.
  func makeRoom() -> Trimming {
    let (rest, written) = found()
    guard written.isEmpty, let newest = rest.last?.number else { return ([], nil) }
    return delete(rest, below: newest, room: nil, tellsAbove: false)
  }

  /// The files that are there, and of these apart those that a run is writing.
  private func found() -> (rest: [NumberedFiles.File], written: [NumberedFiles.File]) {
    let all = files.list()
    let written = all.filter { files.isWritten($0) }
    return (all.filter { !written.contains($0) }, written)
  }

  /// Deletes the oldest of `found` until they and `room` are below the limit. `room`: by default the size of
  /// the largest.
  private func delete(
    _ found: [NumberedFiles.File], below newest: Int, room: UInt64?, tellsAbove: Bool
  ) -> Trimming {
    let most = UInt64(clamping: limit.bytes)
    func total(_ files: [NumberedFiles.File]) -> UInt64 {
      let largest = files.map(\.byteCount).max() ?? 0
      return Self.sum(Self.sum(files), room ?? max(largest, state.withLock { $0.largest }))
    }
    // Files are looked into when one has to go.
    guard total(found) > most else { return ([], nil) }
    let own = self.own(found)
    var total = total(own)
    var (deleted, deletedBytes): ([String], UInt64) = ([], 0)
    var failure: RunError?
    for file in own where file.number < newest && total > most {
      let code = files.delete(file)
      if code == 0 {
        deleted.append(file.path)
        deletedBytes = Self.sum(deletedBytes, file.byteCount)
      } else if code != ENOENT {
        failure = failure ?? self.failure(file.path, code)
        continue
      }
      // Or another run, or the user, was quicker.
      total -= min(total, file.byteCount)
    }
    return state.withLock { state in
      state.deletedFiles += deleted.count
      state.deletedBytes = Self.sum(state.deletedBytes, deletedBytes)
      if tellsAbove, total > most, failure == nil { state.isAbove = true }
      defer { state.hasFailed = state.hasFailed || failure != nil }
      return (deleted, state.hasFailed ? nil : failure)
    }
  }

  /// Those that a run wrote: a user may have files of such names, too.
  private func own(_ found: [NumberedFiles.File]) -> [NumberedFiles.File] {
    let known = state.withLock { $0.marks }
    var marks: [NumberedFiles.File: Bool] = [:]
    for file in found { marks[file] = known[file] ?? files.holds(Timestamp.capturedTag, file) }
    let others = found.filter { marks[$0] == false && $0.byteCount > 0 }.map(\.path)
    state.withLock { ($0.marks, $0.others) = (marks, others) }
    return found.filter { marks[$0] == true }
  }

  private static func sum(_ files: [NumberedFiles.File]) -> UInt64 {
    files.reduce(0) { sum($0, $1.byteCount) }
  }

  /// Adds sizes, which of sparse files may be more than 64 bits hold.
  private static func sum(_ one: UInt64, _ other: UInt64) -> UInt64 {
    let (sum, isTooMuch) = one.addingReportingOverflow(other)
    return isTooMuch ? .max : sum
  }

  private func failure(_ path: String, _ code: Int32) -> RunError {
    RunError(
      .failed,
      "\(path) cannot be deleted to keep the files of \(name) below \(limit.settingText): "
        + "\(RunError.text(code)); make its folder writable for you")
  }

  /// What a user should know of it.
  var notes: [String] {
    state.withLock { state in
      var notes: [String] = []
      if state.deletedFiles > 0 {
        let count = state.deletedFiles == 1 ? "1 file" : "\(state.deletedFiles) files"
        let isSmall = state.deletedBytes < 10 << 20
        let size = isSmall ? "\(state.deletedBytes >> 10) KiB" : "\(state.deletedBytes >> 20) MiB"
        notes.append(
          "movie: to keep the files of \(name) below \(limit.settingText), the oldest were deleted: "
            + "\(count), \(size)")
      }
      if state.isAbove {
        notes.append(
          "movie: the files of \(name) were above \(limit.settingText) for a time; give a shorter split, "
            + "or more"
        )
      }
      if let first = state.others.first {
        let more = state.others.count > 1 ? " and \(state.others.count - 1) more" : ""
        notes.append(
          "movie: no run wrote \(first)\(more), which have names of \(name): they are not counted, and stay"
        )
      }
      return notes
    }
  }
}
