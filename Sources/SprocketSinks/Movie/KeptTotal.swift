internal import Glibc
import SprocketCore
internal import SprocketFiles

/// Keeps all files of a movie's name below a number of bytes: deletes the oldest when a new one is complete.
///
/// Older is what has the lower number, so that a clock that is wrong after a power cut deletes nothing new;
/// therefore the numbers of a run begin behind the highest that is there. Files of earlier runs count, whole
/// ones and those that such a run left with their partial names. Never deleted: the file that was completed
/// last, what any run is writing, and what has another name.
///
/// The file under way counts as large as it is, or as the largest that this run has completed, if that is
/// more.
final class KeptTotal: Sendable {
  private struct State {
    var highest: Int?
    /// Bytes of the largest file that was completed.
    var largest: UInt64
    var deletedFiles = 0
    var deletedBytes: UInt64 = 0
    var hasFailed = false
    var isAbove = false
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
    "keeping a total deletes files by their numbers; give the movie a name that has {n} once, such as "
    + "ride-{n}.mov"

  /// The files of a name.
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
    return NumberedFiles(
      before: text(pattern.parts[..<at]), behind: text(pattern.parts[(at + 1)...]))
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

  /// Deletes the oldest files until the total is below the limit. `path` is the file that was just completed.
  /// Returns the paths of those that were deleted, and the first error of the run. On the thread that
  /// completes files.
  func trim(after path: String, bytes: UInt64) -> (deleted: [String], error: RunError?) {
    guard let newest = files.number(ofPath: path) else { return ([], nil) }
    let all = files.list()
    let written = all.filter { files.isWritten($0) }
    let rest = all.filter { !written.contains($0) }
    let size = rest.last { $0.number == newest }?.byteCount ?? bytes
    let largest = state.withLock { state in
      state.largest = max(state.largest, bytes, size)
      return state.largest
    }
    var total = rest.reduce(0) { $0 &+ $1.byteCount }
    total &+= max(largest, written.reduce(0) { $0 &+ $1.byteCount })
    let most = UInt64(clamping: limit.bytes)
    var (deleted, deletedBytes): ([String], UInt64) = ([], 0)
    var failure: RunError?
    for file in rest where file.number < newest && total > most {
      let code = files.delete(file)
      if code == 0 {
        deleted.append(file.path)
        deletedBytes &+= file.byteCount
      } else if code != ENOENT {
        failure = failure ?? self.failure(file.path, code)
        continue
      }
      // Or another run, or the user, was quicker.
      total -= file.byteCount
    }
    return state.withLock { state in
      state.deletedFiles += deleted.count
      state.deletedBytes &+= deletedBytes
      if total > most, failure == nil { state.isAbove = true }
      defer { state.hasFailed = state.hasFailed || failure != nil }
      return (deleted, state.hasFailed ? nil : failure)
    }
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
      return notes
    }
  }
}
