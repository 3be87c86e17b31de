public import Sprocket

/// What a stage said of a frame, with the frame's time.
public struct MetadataObject: Sendable {
  /// The name of the stage's plug-in, such as `motion`.
  public let type: String
  /// Running number of the frame.
  public let number: UInt64
  public let time: Timestamp
  /// The report, of the type that the stage declares: `object.report as? MotionDetection`.
  public let report: any FrameReport
}

/// Delivers the reports of the session's stages as timed objects, on a thread of its own. Points in reports
/// are in the coordinates that the stage says; `FrameView.sensorPoint` has the way back to the sensor.
///
///     let metadata = MetadataOutput(types: ["motion"]) { objects in print(objects.count) }
public final class MetadataOutput: TakesVideo, SessionOutput {
  /// Gets what was found in a frame, on the output's thread.
  public typealias Handler = @Sendable ([MetadataObject]) -> Void

  public let core = OutputCore("metadata")
  let takes: Set<CaptureDevice.MediaType> = [.video]
  /// Names of plug-ins; `nil` for all.
  public let types: Set<String>?
  private let onObjects: Handler

  /// `onObjects` is called once for each frame that has such reports. Costs some allocations for each.
  public init(types: Set<String>? = nil, onObjects: @escaping Handler) {
    (self.types, self.onObjects) = (types, onObjects)
  }

  /// Makes an output and a sequence of its objects, to be read by `for await` in any task. The sequence has
  /// one list for each frame that has reports of these types. If the reader is slow, up to 64 lists wait;
  /// then the oldest lists are dropped. The sequence ends when the output is removed from its session.
  ///
  ///     let (output, lists) = MetadataOutput.objects(types: ["motion"])
  public static func objects(
    types: Set<String>? = nil
  ) -> (output: MetadataOutput, lists: AsyncStream<[MetadataObject]>) {
    let (stream, reader) = AsyncStream.makeStream(
      of: [MetadataObject].self, bufferingPolicy: .bufferingNewest(64))
    let output = MetadataOutput(types: types) { reader.yield($0) }
    output.core.state.withLock { $0.onRemove = { reader.finish() } }
    return (output, stream)
  }

  func check(stages: Set<String>) throws(CaptureError) { try ReportReader.check(types, stages) }

  func makeSinks(_ setup: OutputSetup) throws(CaptureError) -> [any Sink] {
    try check(stages: setup.stages)
    return [MetadataSink(core, types, onObjects)]
  }
}

private final class MetadataSink: Sink {
  let name: String
  private let core: OutputCore
  private let onObjects: MetadataOutput.Handler
  private var reader: ReportReader

  init(_ core: OutputCore, _ types: Set<String>?, _ onObjects: @escaping MetadataOutput.Handler) {
    name = core.name
    (self.core, self.onObjects) = (core, onObjects)
    reader = ReportReader(types: types)
  }

  func configure(_ setup: inout SinkSetup) throws(RunError) { reader.configure(setup) }

  func write(_ frame: borrowing PackedFrame) throws(RunError) {
    guard core.link.isEnabled else { return }
    let objects = reader.objects(of: frame)
    if !objects.isEmpty { onObjects(objects) }
  }
}

/// The reports of a frame as objects.
struct ReportReader {
  /// Names of plug-ins; `nil` for all.
  let types: Set<String>?
  private var layouts: [ReportLayout] = []

  init(types: Set<String>?) { self.types = types }

  mutating func configure(_ setup: borrowing SinkSetup) {
    layouts = setup.reports.filter { types?.contains($0.plugin) ?? true }
  }

  func objects(of frame: borrowing PackedFrame) -> [MetadataObject] {
    var objects: [MetadataObject] = []
    let record = frame.record
    for layout in layouts {
      guard let report = Self.report(layout.type, of: frame.view) else { continue }
      objects.append(
        MetadataObject(
          type: layout.plugin, number: record.number, time: record.captured, report: report))
    }
    return objects
  }

  private static func report<Report: FrameReport>(
    _ type: Report.Type, of frame: borrowing FrameView
  ) -> Report? { frame.report(type) }

  /// Throws if no stage makes one of the types.
  static func check(_ types: Set<String>?, _ known: Set<String>) throws(CaptureError) {
    guard let missing = types?.sorted().first(where: { !known.contains($0) }) else { return }
    throw CaptureError(
      .settingsRefused,
      "no stage of the session makes objects of the type \(missing); add it to the session's stages"
    )
  }
}
