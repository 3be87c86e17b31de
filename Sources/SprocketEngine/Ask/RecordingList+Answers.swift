internal import SprocketCore
internal import Synchronization

// State of recordings, for any thread.
extension RecordingList {
  /// Whether a recording was asked for, has not ended, and was not asked to end.
  func isUnderWay(_ id: RecordingID) -> Bool {
    state.withLock { $0.book.recording(id)?.isEnding == false }
  }

  /// The recording without a count of frames that is under way at the sink of that name; `nil` if there is
  /// none.
  func open(_ name: String) -> RecordingID? {
    state.withLock { state in
      let sink = state.book.sinks.first { $0.value.name == name }?.key
      return sink.flatMap { state.book.current($0).first { !$0.counts }?.id }
    }
  }

  /// Why a recording ended; `nil` if it goes on, or ended long ago.
  func reason(_ id: RecordingID) -> RecordingEnd? {
    state.withLock { $0.book.reason(id) }
  }

  /// Number of files that have ended so far, and the records of those after the first `count` that are still
  /// kept.
  func ended(after count: Int) -> (count: Int, records: [RecordingRecord]) {
    state.withLock { state in
      let known = min(max(0, count), state.endedCount)
      return (state.endedCount, Array(state.records.suffix(state.endedCount - known)))
    }
  }

  /// Records of files that have ended, the oldest first, then of those under way.
  var records: [RecordingRecord] {
    state.withLock { state in
      let current = state.current.sorted { $0.key < $1.key }.map { sink, record in
        var record = record
        if let stamped = state.outputs[sink]?.stamped {
          record.counts[.delivered] = stamped.writtenFrames.load(ordering: .relaxed)
          record.byteCount = stamped.writtenBytes.load(ordering: .relaxed)
          record.runningTime = stamped.writtenTime.load(ordering: .relaxed)
        }
        return record
      }
      let completing = state.completing.map { job in
        var record = job.record
        record.reason = nil
        return record
      }
      return state.records + completing + current
    }
  }
}
