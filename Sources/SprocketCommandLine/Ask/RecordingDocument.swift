internal import Sprocket

/// A recording's record in JSON: of the control socket and the summary.
struct RecordingDocument: Codable {
  let recording: UInt64
  let sink, path: String
  let asked, begin, end, firstFrame, lastFrame: UInt64?
  let firstCaptured, lastCaptured: Int64?
  let duration: Double
  let bytes: UInt64
  let frames: [String: UInt64]
  let reason: String?
  /// `nil` while the file is under way.
  let usable: Bool?
  /// `nil` unless it is paused.
  let paused: Bool?
  let error: String?
  /// `nil` if there are none.
  let deleted: [String]?

  enum CodingKeys: String, CodingKey {
    case recording, sink, path, asked, begin, end, bytes, frames, reason, usable, paused, error,
      deleted
    case firstFrame = "first_frame"
    case lastFrame = "last_frame"
    case firstCaptured = "first_captured_ns"
    case lastCaptured = "last_captured_ns"
    case duration = "duration_s"
  }

  init(_ record: RecordingRecord) {
    recording = record.id.number
    sink = record.sink
    path = record.path
    asked = record.asked
    begin = record.begin
    end = record.end
    firstFrame = record.firstFrame?.number
    lastFrame = record.lastFrame?.number
    firstCaptured = record.firstFrame?.captured.nanoseconds
    lastCaptured = record.lastFrame?.captured.nanoseconds
    duration = Double(record.nanoseconds) / 1e9
    bytes = record.byteCount
    frames = record.counts.byName(always: .delivered)
    reason = record.reason?.rawValue
    usable = record.reason == nil ? nil : record.isUsable
    paused = record.isPaused && record.reason == nil ? true : nil
    error = record.error
    deleted = record.deleted.isEmpty ? nil : record.deleted
  }
}

extension FateCounts {
  /// Counts above zero by the fate's name, and that of one fate also if it is zero.
  func byName(always fate: Fate? = nil) -> [String: UInt64] {
    let fates = Fate.allCases.filter { $0 == fate || self[$0] > 0 }
    return Dictionary(uniqueKeysWithValues: fates.map { ($0.name, self[$0]) })
  }
}
