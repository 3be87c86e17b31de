import Glibc
public import SprocketCodecs
public import SprocketCore
internal import SprocketFiles

/// `--pipe`: pixels on standard output, for ffmpeg, Python or anything that reads a stream.
///
/// `y4m` is a YUV4MPEG2 stream of the final picture, uncompressed, with its size, rate, subsampling, range,
/// pixel aspect and field order in the header (`man yuv4mpeg`, and FFmpeg's `yuv4mpegenc.c` for
/// `XCOLORRANGE`, `mono10` and all other samples of more than 8 bits). `gray`, `rgb` and `bgr` are bytes,
/// pixel by pixel and nothing between frames; `tensor` is what its settings say (`TensorSettings`).
///
/// Without `header` a stream carries no times, and a frame that is missing is missing from it. With it each
/// frame follows a header (`docs/share.md`). A change of what a frame takes ends the stream. A reader that
/// goes away is `readerGone`; the process must ignore SIGPIPE.
public final class PipeSink: Sink, RenamedSink {
  /// How pixels are written.
  public enum Layout: String, SettingValue, CaseIterable {
    case y4m, gray, rgb, bgr, rgba, tensor
  }

  public internal(set) var name = "pipe"
  private let layout: Layout
  private let settings: PipeSettings
  private let descriptor: Int32
  private var output: FileWriter
  private var format: FrameFormat?
  private var plan: TensorPlan?
  private var header = FrameHeader()
  private var headerBytes = [UInt8](repeating: 0, count: FrameHeader.byteCount)
  /// Frames that the source produced so far.
  private var producedCount: UInt64 = 0
  public private(set) var notes: [String] = []

  /// Writes to `descriptor`, by default standard output, which stays open when the sink is done.
  public init(
    _ layout: Layout, _ settings: PipeSettings = PipeSettings(), descriptor: Int32 = 1
  ) {
    self.layout = layout
    self.settings = settings
    self.descriptor = descriptor
    let name = descriptor == STDOUT_FILENO ? "standard output" : "descriptor \(descriptor)"
    output = FileWriter(borrowing: descriptor, name: name)
  }

  public func configure(_ setup: inout SinkSetup) throws(RunError) {
    let new = setup.format
    try refuseSettings()
    let plan =
      layout == .y4m ? nil : try TensorPlan(tensor, for: new, untouched: setup.untouchedSource)
    if let format {
      guard isSame(format, new, plan) else {
        throw RunError(
          .failed,
          "the source changed from \(text(format)) to \(text(new)), which a pipe cannot carry; "
            + "start again")
      }
    } else {
      try RunError.refuseTerminal(descriptor, "the pipe writes pixels")
    }
    setup.takesLatest = settings.take == .latest
    self.plan = plan
    if let plan, !isPlainLuma {
      try setup.reads(plan.parts)
      setup.packs(capacity: plan.byteCount, packerBytes: TensorPacker.workingBytes(plan))
    } else {
      try setup.reads(layout == .y4m ? .image : .luma(.full))
    }
    if layout == .y4m, format == nil { try output.append(header(of: new).utf8Span.span) }
    if format == nil, new.presentation.orientation != .upright {
      notes.append(
        "\(name): pictures are turned, which \(layout) has no word for; they lie as they are")
    }
    if format == nil { notes += plan?.notes(of: name) ?? [] }
    format = new
    header.layout = plan.map { FrameLayoutCode($0) }
    if let plan { header.pictureFromTensor = plan.pictureFromTensor(region: 0) }
  }

  private var tensor: TensorSettings {
    var tensor = settings.tensor
    tensor.layout = TensorSettings.Layout(rawValue: layout.rawValue) ?? .tensor
    return tensor
  }

  /// Luma as stages see it, which needs no packer.
  private var isPlainLuma: Bool { layout == .gray && settings.tensor == TensorSettings() }

  private func refuseSettings() throws(RunError) {
    guard layout == .y4m, settings.header || settings.tensor != TensorSettings() else { return }
    throw RunError(
      .usage,
      "y4m is the picture as it is, with a header of its own; for other sizes, numbers and headers use the "
        + "pipe's layouts rgb, bgr, gray or tensor", change: .pipe)
  }

  public func makePacker() throws(RunError) -> (any Packer)? {
    isPlainLuma ? nil : plan.map { TensorPacker($0) }
  }

  public func write(_ frame: borrowing PackedFrame) throws(RunError) {
    if settings.header {
      header.record = frame.record
      header.sensorMap = frame.view.sensorMap
      header.payloadBytes = plan?.byteCount ?? 0
      try appendHeader()
    }
    if layout == .y4m {
      try output.append("FRAME\n")
      let image = frame.view.image
      for index in 0..<image.planeCount { try output.append(image[plane: index]) }
    } else if isPlainLuma {
      try output.append(frame.view.luma())
    } else {
      try output.append(frame.packed)
    }
    try output.flush()
    producedCount = frame.record.number + 1
  }

  public func account(_ lost: LostFrame) throws(RunError) {
    header.note(lost.fate)
    producedCount = lost.number + 1
  }

  public func finish() throws(RunError) {
    if settings.header {
      header.flags = FrameHeader.Flag.end
      header.record = FrameRecord()
      header.record.number = producedCount
      header.payloadBytes = 0
      try appendHeader()
    }
    try output.complete()
  }

  private func appendHeader() throws(RunError) {
    header.handedOn = monotonicNow()
    header.encode(into: &headerBytes)
    try output.append(headerBytes)
    header.forget()
  }

  private func isSame(_ old: FrameFormat, _ new: FrameFormat, _ plan: TensorPlan?) -> Bool {
    if let plan, let known = self.plan {
      return plan.byteCount == known.byteCount && plan.width == known.width
    }
    guard old.width == new.width, old.height == new.height else { return false }
    let (before, after) = (old.presentation, new.presentation)
    return old.image == new.image && old.color.range == new.color.range
      && before.pixelAspect == after.pixelAspect && before.fieldOrder == after.fieldOrder
  }

  private func text(_ format: FrameFormat) -> String {
    let range = format.color.range == .full ? "full" : "limited"
    return "\(format.width)x\(format.height) \((format.image ?? format.pixelFormat).fourcc) "
      + "(\(range) range)"
  }

  private func header(of format: FrameFormat) throws(RunError) -> String {
    let image = format.image ?? format.pixelFormat
    guard let tag = image.y4mTag(format.color.chromaSite) else {
      throw RunError(
        .usage,
        "y4m has no name for \(image.fourcc) pictures; use gray, or another format",
        change: .pipe, .format)
    }
    let rate = format.rate
    let isKnown = rate.frames > 0 && rate.seconds > 0
    let fraction = isKnown ? "\(rate.frames):\(rate.seconds)" : "0:0"
    let range = format.color.range == .full ? "FULL" : "LIMITED"
    let aspect = format.presentation.pixelAspect
    let isAspectKnown = aspect != .unknown
    let fields = format.presentation.fieldOrder.y4mTag
    return "YUV4MPEG2 W\(format.width) H\(format.height) F\(fraction) I\(fields) "
      + (isAspectKnown ? "A\(aspect.width):\(aspect.height)" : "A0:0")
      + " C\(tag) XCOLORRANGE=\(range)\n"
  }
}

extension PixelFormat {
  /// The colour space in a YUV4MPEG2 header; `nil` where there is none that readers know.
  func y4mTag(_ site: Color.ChromaSite) -> String? {
    switch layout {
    case .planar(.yuv420, .eight, .blueFirst): site == .center ? "420jpeg" : "420mpeg2"
    case .planar(.yuv420, let depth, .blueFirst): "420p\(depth.rawValue)"
    case .planar(.yuv422, let depth, .blueFirst): depth == .eight ? "422" : "422p\(depth.rawValue)"
    case .planar(.yuv444, let depth, .blueFirst): depth == .eight ? "444" : "444p\(depth.rawValue)"
    case .planar(.yuv411, .eight, .blueFirst): "411"
    case .planar(.gray, let depth, _): depth == .eight ? "mono" : "mono\(depth.rawValue)"
    case .planar(.yuv411, .ten, _), .planar(.yuv411, .twelve, _), .planar(.yuv411, .sixteen, _),
      .planar(.yuv440, _, _), .planar(_, _, .redFirst):
      nil
    case .encoded, .semiPlanar420, .semiPlanar420Words, .packedGray, .packed422, .rgb, .rgbWords,
      .bayer:
      nil
    }
  }
}

extension FieldOrder {
  /// What is not known to be interlaced is progressive, as in most programs' headers.
  fileprivate var y4mTag: String {
    switch self {
    case .unknown, .progressive: "p"
    case .topFirst: "t"
    case .bottomFirst: "b"
    }
  }
}

extension FileWriter {
  /// Appends a plane without its padding.
  fileprivate mutating func append(_ plane: borrowing Plane) throws(RunError) {
    if let bytes = plane.contiguous { return try append(bytes) }
    for y in 0..<plane.rows { try append(plane[row: y]) }
  }
}

/// What a user may choose of a pipe. `tensor.layout` is the pipe's own.
public struct PipeSettings: KindSettings {
  public var layout = PipeSink.Layout.rgb
  public var tensor = TensorSettings()
  public var take = FrameTaking.every
  /// Whether each frame follows a header.
  public var header = false

  public init() {}

  public static var settings: [Setting<Self>] {
    [Setting("layout", \.layout, "how pictures lie on the pipe")]
      + TensorSettings.settings.map { $0.within(\.tensor) } + [
        Setting(
          "take", \.take, "every frame, or only the latest each time that the reader has room"),
        Setting(
          "header", \.header, "precedes each frame by 384 bytes: number, times, fates, shape"),
      ]
  }
}

/// Which frames a sink hands on that is slower than its source.
public enum FrameTaking: String, SettingValue, CaseIterable {
  case every, latest
}

extension PipeSink {
  public static let kind = SinkKind(
    "pipe", "frames on standard output",
    argument: "layout", shown: Layout.choices.joined(separator: "|"), isArgumentOptional: true,
    PipeSettings.self
  ) { (settings, request) throws(RunError) in
    request.naming(PipeSink(settings.layout, settings))
  }
}
