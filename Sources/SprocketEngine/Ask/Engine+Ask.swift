public import SprocketCore

extension Engine {
  /// Asks the run for recordings while it goes on: to start, split or stop them. All of the requests hold
  /// from the same frame on, or none does. Returns the recording of each request.
  ///
  /// A file is made before this returns, so that a name that cannot be used is an error here. Throws also
  /// if no on-demand sink has that name, if the recording has ended (with the reason), if 64 files wait for
  /// a slow disk, and if the run is over. May be called from any thread; waits for no frame.
  ///
  ///     let take = try engine.ask([.record(sink: "movie")])[0]
  ///     ...
  ///     try engine.ask([.stop(take)])
  @discardableResult
  public func ask(_ requests: [Request], at moment: Moment = .now) throws(RunError) -> [RecordingID]
  {
    try recordings.ask(requests, at: moment)
  }

  /// Whether a recording was asked for, and has neither ended nor been asked to.
  public func isUnderWay(_ recording: RecordingID) -> Bool { recordings.isUnderWay(recording) }

  /// The recording of that sink that goes on until it is stopped; `nil` if there is none.
  public func openRecording(of sink: String) -> RecordingID? { recordings.open(sink) }

  /// Why a recording ended; `nil` if it goes on, or ended long ago.
  public func reason(of recording: RecordingID) -> RecordingEnd? { recordings.reason(recording) }

  /// How many files of recordings have ended so far, and the records of those after the first `count`: of the
  /// latest 1,024.
  public func endedRecordings(after count: Int) -> (count: Int, records: [RecordingRecord]) {
    recordings.ended(after: count)
  }

  /// Names of the sinks that can be asked to record.
  public var onDemandSinks: [String] { recordings.outputNames }

  /// A record of each file: of the latest 1,024 that have ended, the oldest first, and of those under way.
  public var recordingRecords: [RecordingRecord] { recordings.records }
}
