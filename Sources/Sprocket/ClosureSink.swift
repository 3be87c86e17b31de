/// Lends each delivered frame to a closure, on a thread of the sink's own.
///
///     let sink = ClosureSink(reading: .luma(.eighth)) { frame in
///       print(frame.record.number, frame.luma(.eighth)[row: 0][0])
///     }
///
/// The frame cannot outlive the call; take from it what is to be kept. A closure that is too slow loses
/// frames of this sink alone where the source is live (`behind`, or `skipped` with `takesLatest`); a file
/// waits for it. An error that it throws ends this sink, and is among the errors of the summary.
public final class ClosureSink: Sink {
  public let name: String
  private let parts: FrameParts
  private let takesLatest: Bool
  private let body: @Sendable (borrowing FrameView) throws -> Void

  /// Makes a sink of a closure.
  ///
  /// - Parameters:
  ///   - name: the key in the summary.
  ///   - parts: what the closure reads of the pixels; reading anything else stops the program.
  ///   - takesLatest: gives the newest frame only, each time that the closure has returned.
  ///   - body: called for each frame, on the sink's thread. What it throws ends the sink, and is an error of
  ///     the run.
  public init(
    _ name: String = "closure", reading parts: FrameParts = [], takesLatest: Bool = false,
    _ body: @escaping @Sendable (borrowing FrameView) throws -> Void
  ) {
    self.name = name
    self.parts = parts
    self.takesLatest = takesLatest
    self.body = body
  }

  public func configure(_ setup: inout SinkSetup) throws(RunError) {
    try setup.reads(parts)
    setup.takesLatest = takesLatest
  }

  public func write(_ frame: borrowing PackedFrame) throws(RunError) {
    do {
      try body(frame.view)
    } catch let error as RunError {
      throw error
    } catch {
      throw RunError(.failed, "the closure of the sink `\(name)` failed: \(error)")
    }
  }
}
