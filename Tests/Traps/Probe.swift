import Sprocket

/// A stage that makes the mistake that it is told, at frame 2 or in configure.
struct Probe: Stage {
  struct Report: FrameReport {
    var number = 0.0
    static var fields: [ReportField<Self>] { [ReportField("number", \.number)] }
  }
  /// Larger than what there is room for.
  struct OtherReport: FrameReport {
    var numbers = MatrixValues(repeating: 0)
    static var fields: [ReportField<Self>] { [ReportField("numbers", \.numbers)] }
  }

  static let plugin = Plugin("probe", "makes mistakes", Probe.self)
  static let order = Order.sequence

  struct Settings: KindSettings {
    var mistake = Mistake.luma
    static var settings: [Setting<Self>] { [Setting("mistake", \.mistake, "which one")] }
  }

  var settings = Settings()
  private var mistake: Mistake { settings.mistake }
  private var writer: ReportWriter<Report>?
  private var port: ControlPort?

  mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    writer = setup.report(Report.self)
    var format = setup.format
    switch mistake {
    case .source, .row: try setup.writes(.inPlace)
    case .rowOfPlane: try setup.writes(.nextImage)
    case .plane, .resampledRow: try setup.reads(.image)
    case .unpacker, .unpackerRange: try setup.reads(.luma(.full))
    case .sourcePlane: try setup.reads(.encoded)
    case .earlier: setup.readsHistory(1)
    case .later: setup.readsAhead(2)
    case .control: port = try setup.steers()
    case .history: setup.readsHistory(-1)
    case .lookahead: setup.readsAhead(-2)
    case .report: _ = setup.report(OtherReport.self)
    case .format: format.width /= 2
    default: break
    }
    return format
  }

  mutating func process(_ frame: inout FrameView) -> Verdict {
    if frame.record.number == 2 { make(&frame) }
    if let writer { frame.write(Report(), writer) }
    return .keep
  }

  private func make(_ frame: inout FrameView) {
    switch mistake {
    case .luma: _ = frame.luma(.half)
    case .reportByType: _ = frame.report(Report.self)
    case .image: _ = frame.image
    case .encoded: _ = frame.encoded
    case .edit: _ = frame.edit()
    case .sensorMap: frame.setSensorMap(frame.sensorMap)
    case .source: _ = frame.edit().source
    case .row:
      var picture = frame.edit()
      _ = picture.row(picture.rows(plane: 0), plane: 0)
    case .rowOfPlane:
      let picture = frame.edit()
      _ = picture.source[plane: 0][row: -1]
    case .plane: _ = frame.image[plane: 3]
    case .sourcePlane: _ = frame.sourcePlane(1)
    case .event: _ = frame.event(frame.eventCount)
    case .earlier: _ = frame.earlier(1)
    case .later: _ = frame.later(2)
    case .control: _ = port?.write(3, 0)
    case .resamplingTable:
      _ = ResamplingTable(.area, sourceCount: 64, count: 0, first: 0, step: 8)
    case .resampledRow:
      var resampler = PlaneResampler(
        columns: ResamplingTable(.area, sourceCount: 64, count: 8, first: 3.5, step: 8),
        rows: ResamplingTable(.area, sourceCount: 48, count: 6, first: 3.5, step: 8))
      var line = [Float](repeating: 0, count: 7)
      var numbers = line.mutableSpan
      resampler.makeRow(2, of: frame.image[plane: 0], into: &numbers)
    default: break
    }
  }
}

/// The same for stages of the order `.any`.
struct AnyProbe: Stage {
  static let plugin = Plugin("probe", "makes mistakes", AnyProbe.self)
  static let order = Order.any
  var settings = Probe.Settings()
  private var mistake: Mistake { settings.mistake }

  mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    if mistake == .steers { _ = try setup.steers() }
    return setup.format
  }

  mutating func process(_ frame: inout FrameView) -> Verdict {
    if mistake == .eventOrder, frame.record.number == 2 { _ = frame.eventCount }
    return .keep
  }
}

/// A stage with a report that has no such place in memory.
struct FieldProbe: Stage {
  struct Report: FrameReport {
    var number = 0.0
    var twice: Double { 2 * number }
    static var fields: [ReportField<Self>] { [ReportField("twice", \.twice)] }
  }
  static let order = Order.any
  mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    setup.format
  }
  mutating func process(_ frame: inout FrameView) -> Verdict { .keep }
}

/// A stage whose report has a set of one word.
struct WordProbe: Stage {
  enum OneWord: String, ReportWords { case only }
  struct Report: FrameReport {
    var word = OneWord.only
    static var fields: [ReportField<Self>] { [ReportField("word", \.word)] }
  }
  static let order = Order.any
  mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    setup.format
  }
  mutating func process(_ frame: inout FrameView) -> Verdict { .keep }
}

/// A sink that makes its mistake at frame 2.
final class ProbeSink: Sink {
  let name = "probe"
  private let mistake: Mistake
  private var layout: ReportLayout?

  init(_ mistake: Mistake) { self.mistake = mistake }

  func configure(_ setup: inout SinkSetup) throws(RunError) {
    layout = setup.reports.first
    if mistake == .upsideDown { try setup.reads(.encoded) }
  }

  func write(_ frame: borrowing PackedFrame) throws(RunError) {
    guard frame.record.number == 2, let layout else { return }
    if mistake == .sinkImage { _ = frame.view.image }
    if mistake == .upsideDown {
      unsafe frame.view.sourcePlane(0).withUnsafeRows { _, _ in }
    }
    let field = layout.fields[0]
    if mistake == .value { _ = frame.value(field, of: layout, index: 1, as: Double.self) }
  }
}

/// Grey frames, of a scene where that makes none of the mistakes.
final class ProbeSource: Source {
  static let format = FrameFormat(
    pixelFormat: .grey, width: 64, height: 48, color: .jpeg, rate: FrameRate(frames: 25))

  private let mistake: Mistake
  private let scene: SceneSource
  private var number: UInt64 = 0

  init(_ mistake: Mistake, _ settings: SceneSettings) throws(RunError) {
    self.mistake = mistake
    scene = try SceneSource(settings)
  }

  func open() throws(RunError) -> SourceDescription {
    _ = try scene.open()
    return SourceDescription(
      name: "probe", format: Self.format, isLive: false, clock: .media, capacity: 64 * 48)
  }

  func next(timeout: Int64) throws(RunError) -> Arrival {
    let time = Timestamp(nanoseconds: Int64(number) * 40_000_000, clock: .media)
    return .frame(ArrivedFrame(sequence: number, captured: time))
  }

  func take(into slot: inout CaptureSlot) {
    number += 1
    if number == 3 {
      // Never freed: the program ends.
      let nothing = UnsafeMutableRawPointer.allocate(byteCount: 64 * 48, alignment: 64)
      switch mistake {
      case .fill: slot.filled(64 * 48 + 1)
      case .take: scene.take(into: &slot)
      case .cameraTake: CameraSource(name: "none").take(into: &slot)
      case .sceneReclaim: unsafe scene.reclaim(nothing)
      case .replayReclaim: unsafe ReplaySource(path: "none").reclaim(nothing)
      case .upsideDown:
        var image = unsafe ImageStorage()
        let last = unsafe nothing.assumingMemoryBound(to: UInt8.self) + 47 * 64
        unsafe image.planes[0] = PlaneStorage(base: last, stride: -64, bytesPerRow: 64, rows: 48)
        return unsafe slot.lend(image, byteCount: 64 * 48, handle: nothing)
      default: break
      }
    }
    slot.filled(64 * 48)
  }

  func discard() { number += 1 }
  func reclaim(_ lent: UnsafeMutableRawPointer) {}
  func close() throws(RunError) { try scene.close() }
}

/// Unpacks with an unpacker that was not made ready.
final class ProbeUnpacker: Unpacker {
  private let mistake: Mistake
  private let inner = FrameUnpacker()

  init(_ mistake: Mistake) { self.mistake = mistake }

  func plan(format: FrameFormat, parts: FrameParts) -> UnpackPlan {
    guard mistake == .unpackerRange else {
      return UnpackPlan(borrowsImage: false, borrowsLuma: false)
    }
    var limited = format
    limited.pixelFormat = .mjpeg
    limited.color = .video
    return inner.plan(format: limited, parts: parts)
  }

  func configure(format: FrameFormat, parts: FrameParts) -> UnpackPlan {
    plan(format: format, parts: parts)
  }

  func unpack(_ slot: UnsafeMutablePointer<FrameStorage>) -> Bool { unsafe inner.unpack(slot) }
  func deriveLuma(
    _ slot: UnsafeMutablePointer<FrameStorage>, version: VersionIndex, format: FrameFormat,
    parts: FrameParts
  ) {}
}

/// A recording's file that no sink made.
final class ProbeFile: RecordingFile {
  let path = "probe"
  let byteCount: UInt64 = 0
  let durableCount: UInt64 = 0
  let freeByteCount: UInt64? = nil
  func finish() {}
  func abandon() {}
}
