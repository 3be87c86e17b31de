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
    var failure: String?
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
  /// Returns the paths of those that were deleted. On the thread that completes files.
  func trim(after path: String, bytes: UInt64) -> [String] {
    guard let newest = files.number(ofPath: path) else { return [] }
    let largest = state.withLock { state in
      state.largest = max(state.largest, bytes)
      return state.largest
    }
    let all = files.list()
    let written = all.filter { files.isWritten($0) }
    let rest = all.filter { !written.contains($0) }
    var total = rest.reduce(0) { $0 &+ $1.byteCount }
    total &+= max(largest, written.reduce(0) { $0 &+ $1.byteCount })
    var deleted: [String] = []
    for file in rest where file.number < newest && total > UInt64(limit.bytes) {
      let code = files.delete(file)
      if code == 0 {
        total -= file.byteCount
        deleted.append(file.path)
        state.withLock { state in
          state.deletedFiles += 1
          state.deletedBytes &+= file.byteCount
        }
      } else if code == ENOENT {
        // Another run, or the user, was quicker.
        total -= file.byteCount
      } else {
        state.withLock { state in
          state.failure = state.failure ?? "\(file.path) cannot be deleted (\(RunError.text(code)))"
        }
      }
    }
    if total > UInt64(limit.bytes) { state.withLock { $0.isAbove = true } }
    return deleted
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
          "movie: \(state.failure.map { "\($0), and " } ?? "")the files of \(name) were above "
            + "\(limit.settingText) for a time; "
            + (state.failure == nil ? "give a shorter split, or more" : "make it writable for you"))
      }
      return notes
    }
  }
}
