internal import SprocketCore
internal import Synchronization

/// What is known of recordings: from any thread.
extension RecordingList {
  /// Whether a recording was asked for and has not ended, nor been asked to.
  func isUnderWay(_ id: RecordingID) -> Bool {
    state.withLock { state in
      !state.ending.contains(id)
        && state.outputs.values.contains { $0.underWay.contains { $0.id == id } }
    }
  }

  /// The recording without a count of the sink of that name, if one goes on.
  func open(_ name: String) -> RecordingID? {
    state.withLock { state in
      let output = state.outputs.values.first { $0.name == name }
      return output?.underWay.first { !$0.counts && !$0.isLater && !state.ending.contains($0.id) }?
        .id
    }
  }

  /// Why a recording ended, of the latest ones; `nil` if it goes on.
  func reason(_ id: RecordingID) -> RecordingEnd? {
    state.withLock { $0.reasons.last { $0.id == id }?.reason }
  }

  /// How many files have ended so far, and the records of those after the first `count`, as far as they are
  /// kept.
  func ended(after count: Int) -> (count: Int, records: [RecordingRecord]) {
    state.withLock { state in
      let new = min(state.endedCount - count, state.records.count)
      return (state.endedCount, Array(state.records.suffix(max(0, new))))
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
