import Glibc
public import SprocketCore
internal import SprocketFiles

/// `--pipe`: pixels on standard output, for ffmpeg, Python or anything that reads a stream.
///
/// `y4m` is a YUV4MPEG2 stream of the final picture, uncompressed, with its size, rate, subsampling,
/// range, pixel aspect and field order in the header (`man yuv4mpeg`, and FFmpeg's `yuv4mpegenc.c` for
/// `XCOLORRANGE`, `mono10` and all other samples of more than 8 bits). `gray` is full-range 8-bit luma,
/// width times height bytes per frame and nothing between them.
///
/// Neither carries times, and neither can change its size: a frame that is missing is missing
/// from the stream, and a change of format ends it. A reader that goes away is `readerGone`; the
/// process must ignore SIGPIPE.
public final class PipeSink: Sink {
  public enum Layout: String, Sendable, CaseIterable {
    case y4m, gray
  }

  public let name = "pipe"
  private let layout: Layout
  private let descriptor: Int32
  private var output: FileWriter
  private var format: FrameFormat?
  public private(set) var notes: [String] = []

  /// Writes to `descriptor`, by default standard output, which stays open when the sink is done.
  public init(_ layout: Layout, descriptor: Int32 = 1) {
    self.layout = layout
    self.descriptor = descriptor
    let name = descriptor == STDOUT_FILENO ? "standard output" : "descriptor \(descriptor)"
    output = FileWriter(borrowing: descriptor, name: name)
  }

  public func configure(_ setup: inout SinkSetup) throws(RunError) {
    let new = setup.format
    if let format {
      guard isSame(format, new) else {
        throw RunError(
          .failed,
          "the source changed from \(text(format)) to \(text(new)), which a pipe cannot carry; "
            + "start again")
      }
    } else if isatty(descriptor) != 0 {
      throw RunError(
        .usage,
        "the pipe writes pixels and standard output is a terminal; add a reader, for example "
          + "| ffplay -")
    }
    try setup.reads(layout == .y4m ? .image : .luma(.full))
    if layout == .y4m, format == nil { try output.append(header(of: new).utf8Span.span) }
    if format == nil, new.presentation.orientation != .upright {
      notes.append(
        "pipe: pictures are turned, which \(layout) has no word for; they lie as they are")
    }
    format = new
  }

  public func write(_ frame: borrowing PackedFrame) throws(RunError) {
    switch layout {
    case .gray: try output.append(frame.view.luma())
    case .y4m:
      try output.append("FRAME\n")
      let image = frame.view.image
      for index in 0..<image.planeCount { try output.append(image[plane: index]) }
    }
    try output.flush()
  }

  public func finish() throws(RunError) { try output.complete() }

  private func isSame(_ old: FrameFormat, _ new: FrameFormat) -> Bool {
    guard old.width == new.width, old.height == new.height else { return false }
    if layout == .gray { return true }
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
    guard let tag = image.y4mTag(format.color.range) else {
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
  func y4mTag(_ range: Color.Range) -> String? {
    switch layout {
    // JPEG, and cameras as V4L2 has them, put chroma between luma samples in both directions. Video
    // puts it on the left one of two columns unless it says otherwise (ITU-T H.264, figure E-1).
    case .planar(.yuv420, .eight, .blueFirst): range == .full ? "420jpeg" : "420mpeg2"
    case .planar(.yuv420, let depth, .blueFirst): "420p\(depth.rawValue)"
    case .planar(.yuv422, let depth, .blueFirst): depth == .eight ? "422" : "422p\(depth.rawValue)"
    case .planar(.yuv444, let depth, .blueFirst): depth == .eight ? "444" : "444p\(depth.rawValue)"
    case .planar(.yuv411, .eight, .blueFirst): "411"
    case .planar(.gray, let depth, _): depth == .eight ? "mono" : "mono\(depth.rawValue)"
    case .planar(.yuv411, .ten, _), .planar(.yuv411, .twelve, _), .planar(.yuv411, .sixteen, _),
      .planar(.yuv440, _, _), .planar(_, _, .redFirst):
      nil
    case .jpeg, .semiPlanar420, .packed422, .rgb, .bayer: nil
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

extension PipeSink {
  public static let kind = SinkKind(
    "pipe", "frames on standard output",
    argument: Layout.allCases.map(\.rawValue).joined(separator: "|")
  ) { (text, _) throws(RunError) in
    guard let layout = Layout(rawValue: text) else {
      let known = Layout.allCases.map(\.rawValue)
      throw RunError(
        .usage, "the sink pipe knows no `\(text)`; " + knownNames(known, near: text), change: .sink)
    }
    return PipeSink(layout)
  }
}
