internal import SprocketCore

// Withdrawn requests, stamps, and the ends of recordings.
extension RecordingBook {
  static func isDetached(_ name: String) -> RunError {
    RunError(.usage, "\(name) was detached from the run; attach it again")
  }

  /// The sink of a recording that is to be paused, or resumed.
  func sink(pausing id: RecordingID) throws(RunError) -> Int {
    try requireOpen()
    guard let sink = sink(of: id), let recording = recording(id) else { throw hasEnded(id) }
    guard !recording.counts else {
      throw RunError(
        .usage,
        "recording \(id) counts its frames, and cannot be paused; record until it is stopped")
    }
    return sink
  }

  /// Takes back requests that have not taken effect. Returns the files that are not needed.
  mutating func withdraw(_ files: [FileID], stops: [RecordingID]) -> [FileID] {
    for id in stops { change(id) { $0.endsLater = false } }
    var unused: [FileID] = []
    for file in files {
      guard let recording = recording(of: file) else { continue }
      let isFirst = recording.waiting.contains { $0.file == file && !$0.isFurther }
      if isFirst {
        unused += end(recording.id, .asked)
      } else {
        change(recording.id) { $0.waiting.removeAll { $0.file == file } }
        unused.append(file)
      }
    }
    return unused
  }

  /// Begins a recording. Returns its first file; `nil` if the recording has ended already.
  mutating func begin(_ id: RecordingID) -> FileID? {
    change(id) { recording in
      recording.waiting.firstIndex { !$0.isFurther }.map { place in
        recording.isLater = false
        let part = recording.waiting.remove(at: place)
        recording.goOn(in: part)
        return part.file
      }
    } ?? nil
  }

  /// Continues a recording in a file that a request made. The recording gets the path of this file. Returns
  /// false if the recording has ended already: then the file is not needed.
  mutating func goOn(in file: FileID) -> Bool {
    guard let id = recording(of: file)?.id else { return false }
    change(id) { recording in
      guard let place = recording.waiting.firstIndex(where: { $0.file == file }) else { return }
      recording.goOn(in: recording.waiting.remove(at: place))
    }
    return true
  }

  /// Continues a recording in a file that the sink made at a limit (`--split`) or at another format.
  mutating func goOn(in order: Order) { change(order.recording) { $0.goOn(in: order.part) } }

  /// Ends a recording: from now on the next one may be asked for. Returns its files that are not needed.
  mutating func end(_ id: RecordingID, _ reason: RecordingEnd) -> [FileID] {
    add(Reason(id: id, end: reason))
    guard let sink = sink(of: id) else { return [] }
    let unused = recording(id)?.waiting.map(\.file) ?? []
    sinks[sink]?.recordings.removeAll { $0.id == id }
    return unused
  }
}

extension RecordingBook.Recording {
  fileprivate mutating func goOn(in part: RecordingBook.Part) {
    (path, index) = (part.path, part.index)
  }
}
