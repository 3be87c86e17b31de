internal import Sprocket

/// A capture that is under way: its events, for one reader.
public struct PhotoCapture: AsyncSequence, Sendable {
  public typealias Element = PhotoEvent
  public typealias Failure = Never

  public let resolved: ResolvedPhotoSettings
  let events: AsyncStream<PhotoEvent>

  public func makeAsyncIterator() -> AsyncStream<PhotoEvent>.AsyncIterator {
    events.makeAsyncIterator()
  }
}

/// What is left to come of a capture. Sees to it that every expected event comes once, and the last one last.
struct PhotoProgress: Sendable {
  struct Place: Sendable, Hashable {
    let format: PhotoFormat
    let step: Int
  }

  let resolved: ResolvedPhotoSettings
  let metadata: MovieMetadata
  private let bracket: [BracketStep]
  private let reader: AsyncStream<PhotoEvent>.Continuation
  /// Photographs that have not come.
  private var missing: [Place]
  private var delivered = 0
  /// Recordings that the capture asked for, with the photograph that each makes.
  private(set) var recordings: [RecordingID: Place] = [:]
  /// The movie of a live photo, until it is complete.
  private(set) var live: RecordingID?
  private var stillTime: Timestamp?
  private var hasCaptured = false
  private var firstError: CaptureError?
  private(set) var isOver = false
  /// The bracket, with the run that says whether a frame shows a step.
  private var sequence: (made: RecordingSequence, run: SessionRun)?
  /// A bracket has not put back what was there before.
  private var isHeld: Bool

  init(
    _ resolved: ResolvedPhotoSettings, bracket: [BracketStep], _ metadata: MovieMetadata,
    _ reader: AsyncStream<PhotoEvent>.Continuation
  ) {
    (self.resolved, self.bracket, self.reader) = (resolved, bracket, reader)
    self.metadata = metadata
    isHeld = !bracket.isEmpty
    missing = (0..<max(1, bracket.count)).flatMap { step in
      resolved.formats.map { Place(format: $0, step: step) }
    }
    reader.yield(.willBegin(resolved))
    reader.yield(.willCapture(resolved))
  }

  mutating func expect(_ recording: RecordingID, _ place: Place) { recordings[recording] = place }

  mutating func expect(live recording: RecordingID) { live = recording }

  /// Stops the bracket; the engine then restores the camera's controls.
  func stopSequence() { sequence?.made.stop() }

  mutating func expect(_ sequence: RecordingSequence, _ run: SessionRun) {
    self.sequence = (sequence, run)
  }

  /// The bracket has put back what was there before.
  mutating func release() {
    isHeld = false
    if case .failed(let why) = sequence?.made.end {
      firstError = firstError ?? CaptureError(.failed, "the bracket: \(why)")
    }
    finishIfDone()
  }

  func expects(_ recording: RecordingID) -> Bool {
    live == recording || recordings[recording] != nil
  }

  /// A photograph has come.
  mutating func take(_ file: PhotoFile, step: Int) {
    let place = Place(format: file.format, step: step)
    guard let index = missing.firstIndex(of: place) else { return }
    missing.remove(at: index)
    stillTime = file.record.captured
    noteCaptured(at: file.record.captured)
    let values = sequence?.made.controls(ofStep: step)
    let isRight = values.flatMap { sequence?.run.shows(file.record, $0) } ?? true
    let bytes = StillNotes(metadata).added(to: file.bytes)
    let why: String? =
      isRight
      ? bytes == nil ? "the photograph's EXIF has no room for its metadata; shorten the texts" : nil
      : "the photograph does not have the exposure of its step: another program, or a loop, has changed it"
    let error = why.map { CaptureError(.failed, $0) }
    firstError = firstError ?? error
    deliver(place, error, file, bytes ?? file.bytes)
    finishIfDone()
  }

  /// A recording has ended: what it did not bring does not come.
  mutating func end(_ record: RecordingRecord) {
    if record.id == live {
      endLive(RecordingResult(record))
      return finishIfDone()
    }
    guard let place = recordings.removeValue(forKey: record.id) else { return }
    if missing.contains(place) {
      let failure: String? = if case .failed(let why) = sequence?.made.end { why } else { nil }
      let reason = failure ?? record.error ?? record.reason?.sentence ?? "it was not taken"
      fail(place, CaptureError(.failed, "there is no photograph: \(reason)"))
    }
    finishIfDone()
  }

  private mutating func endLive(_ result: RecordingResult) {
    live = nil
    let first = result.firstFrame?.captured
    let time = first.flatMap { stillTime?.nanoseconds(since: $0) } ?? 0
    firstError = firstError ?? result.error
    reader.yield(.didRecordLiveMovie(resolved, path: result.path))
    reader.yield(
      .liveMovie(
        LivePhotoMovie(
          resolved: resolved, recording: result, photoDisplayTime: .nanoseconds(max(0, time)))))
  }

  /// Nothing more comes.
  mutating func fail(_ error: CaptureError) {
    for place in missing { fail(place, error) }
    if live != nil { endLive(RecordingResult(path: resolved.livePhotoMoviePath ?? "", error)) }
    finishIfDone()
  }

  private mutating func fail(_ place: Place, _ error: CaptureError) {
    missing.removeAll { $0 == place }
    firstError = firstError ?? error
    noteCaptured(at: nil)
    deliver(place, error, nil)
  }

  private mutating func noteCaptured(at time: Timestamp?) {
    if hasCaptured { return }
    hasCaptured = true
    reader.yield(.didCapture(resolved, at: time))
  }

  private mutating func deliver(
    _ place: Place, _ error: CaptureError?, _ file: PhotoFile?, _ bytes: [UInt8] = []
  ) {
    delivered += 1
    reader.yield(
      .photo(
        CapturedPhoto(
          resolved: resolved, format: place.format, photoCount: delivered,
          bracketStep: bracket.indices.contains(place.step) ? bracket[place.step] : nil,
          error: error, fileData: bytes, record: file?.record,
          origin: file?.origin ?? .unknown)))
  }

  private mutating func finishIfDone() {
    guard missing.isEmpty, live == nil, !isHeld, !isOver else { return }
    isOver = true
    reader.yield(.didFinish(resolved, firstError))
    reader.finish()
  }
}

extension StillNotes {
  /// Metadata as EXIF has it.
  fileprivate init(_ metadata: MovieMetadata) {
    self.init()
    setTexts(
      title: metadata.title, make: metadata.make, model: metadata.model,
      software: metadata.software, artist: metadata.artist, copyright: metadata.copyright,
      comment: metadata.comment)
    guard let place = metadata.location else { return }
    setPlace(latitude: place.latitude, longitude: place.longitude, altitude: place.altitude)
  }
}
