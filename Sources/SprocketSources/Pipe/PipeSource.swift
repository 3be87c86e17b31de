internal import Glibc
internal import SprocketCodecs
public import SprocketCore
internal import SprocketFiles

/// Settings of frames from a pipe.
public struct PipeSettings: SourceSettings {
  /// `-` for standard input, or the number of a descriptor.
  public var descriptor = ""
  /// Frames per second on average, which is what encoders plan with; each frame has its own time.
  public var rate: FrameRate?

  public init() {}

  public static var settings: [Setting<Self>] {
    [
      Setting(
        "descriptor", \.descriptor, "- for standard input, or the number of a descriptor, as 3")
    ]
  }

  public mutating func request(_ request: FormatRequest) throws(RunError) {
    rate = try request.rateAlone()
  }
}

/// Reads frames from a pipe, each behind the header that `--pipe-header` writes: bytes or words of RGB, RGBA
/// or gray, or bytes of BGR. A frame has the time and the number of its header; numbers that are left out
/// are `missing`.
///
/// The last header says that nothing follows. A pipe that ends without it ends the run with an error: the
/// program that wrote has died. Each frame is copied twice: from the pipe, and into the run.
public final class PipeSource: Source {
  /// Most pixels of a frame. Larger: a header that lies can ask for more memory.
  private static let mostPixels = 1 << 28
  /// Most numbers that are left out between two frames: twelve days at 1,000 frames/s. Larger: a header that
  /// lies can claim more missing frames.
  private static let mostMissing: UInt64 = 1 << 30
  /// Milliseconds between two looks at whether the source is to stop. Larger: fewer wake-ups, a later end.
  private static let tick: Int32 = 20

  /// The frame that `next` announced.
  private struct Held {
    let number: UInt64
    let captured: Timestamp
  }

  private let descriptor: Int32
  private let name: String
  private let settings: PipeSettings
  private let interruption = SourceInterrupt()
  private var header = [UInt8](repeating: 0, count: FrameWire.byteCount)
  private var pixels: [UInt8] = []
  private var format: FrameFormat?
  private var clock = Timestamp.Clock.media
  private var held: Held?
  private var lastNumber: UInt64?

  public init(descriptor: Int32, _ settings: PipeSettings = PipeSettings()) {
    self.descriptor = descriptor
    self.settings = settings
    name = descriptor == STDIN_FILENO ? "standard input" : "descriptor \(descriptor)"
  }

  public func open() throws(RunError) -> SourceDescription {
    guard isatty(descriptor) == 0 else {
      throw RunError(
        .usage,
        "frames come from \(name), which is a terminal; send them with --pipe rgb --pipe-header |")
    }
    while held == nil {
      guard !interruption.isSet else { throw RunError(.interrupted, "stopped before a frame came") }
      guard try read() else { throw RunError(.failed, "no frame came from \(name)") }
    }
    return description
  }

  private var description: SourceDescription {
    let format =
      format
      ?? FrameFormat(
        pixelFormat: .grey, width: 1, height: 1, color: .jpeg, rate: .unknown)
    var description = SourceDescription(
      name: name, format: format, isLive: false, clock: clock, capacity: pixels.count)
    if format.pixelFormat.hasAlpha { description.note = FileSource.possibleTransparency(name) }
    return description
  }

  public func next(timeout: Int64) throws(RunError) -> Arrival {
    if held == nil {
      guard !interruption.isSet else { return .end }
      guard isReady(milliseconds: Int32(clamping: timeout / 1_000_000)) else { return .nothing }
      let old = format
      guard try read() else { return .end }
      guard held != nil else { return .end }
      if format != old { return .epoch(description, .formatChange) }
    }
    guard let held else { return .nothing }
    return .frame(ArrivedFrame(sequence: held.number, captured: held.captured))
  }

  public func take(into slot: inout CaptureSlot) {
    let count = pixels.count
    var target = slot.bytes
    for index in 0..<count { target[index] = pixels[index] }
    slot.filled(count)
    held = nil
  }

  public func discard() { held = nil }
  public func reclaim(_ lent: UnsafeMutableRawPointer) {}
  public func interrupt() { interruption.set() }
  public func close() {}

  // MARK: The pipe

  /// Reads a frame, which is then held; false at the stream's end. None is held where the run is to stop.
  private func read() throws(RunError) -> Bool {
    guard try fill(&header) else { return true }
    guard word(UInt64.self, at: 0) == FrameWire.magic,
      word(UInt32.self, at: 8) == UInt32(FrameWire.byteCount)
    else {
      throw RunError(
        .failed, "what comes from \(name) is no frame with a header; write it with --pipe-header")
    }
    let flags = word(UInt32.self, at: FrameWire.At.flags)
    if flags & FrameWire.Flag.end != 0 { return false }
    let number = word(UInt64.self, at: FrameWire.At.number)
    guard lastNumber.map({ number > $0 && number - $0 <= Self.mostMissing }) ?? true else {
      throw RunError(
        .failed,
        "frame \(number) comes behind frame \(lastNumber ?? 0) from \(name): numbers rise, by one "
          + "where no frame is missing")
    }
    let found = try frameFormat()
    let count = found.pixelFormat.byteCount(width: found.width, height: found.height)
    guard word(UInt64.self, at: FrameWire.At.payloadBytes) == UInt64(count) else {
      throw RunError(.failed, "frame \(number) from \(name) has not the bytes that its header says")
    }
    if pixels.count != count { pixels = [UInt8](repeating: 0, count: count) }
    guard try fill(&pixels) else { return true }
    if format == nil, header[FrameWire.At.clock] != Timestamp.Clock.media.rawValue {
      clock = .recorded
    }
    (format, lastNumber) = (found, number)
    held = Held(
      number: number,
      captured: Timestamp(
        nanoseconds: Int64(bitPattern: word(UInt64.self, at: FrameWire.At.captured)), clock: clock))
    return true
  }

  private func frameFormat() throws(RunError) -> FrameFormat {
    let axes = (0..<4).map { Int(word(UInt32.self, at: FrameWire.At.axes + 4 * $0)) }
    let channels = [3, 3, 1, 4][min(Int(header[FrameWire.At.channels]), 3)]
    let isPlanes = axes[3] != channels && channels == 1 && axes[1] == 1
    let (height, width) = isPlanes ? (axes[2], axes[3]) : (axes[1], axes[2])
    let pixels: PixelFormat? =
      switch (header[FrameWire.At.element], header[FrameWire.At.channels]) {
      case (0, 0): .rgb24
      case (0, 1): .bgr24
      case (0, 2): .grey
      case (0, 3): .rgba32
      case (4, 0): .rgb48
      case (4, 2): .y16
      case (4, 3): .rgba64
      default: nil
      }
    guard let pixels, axes[0] == 1, isPlanes || axes[3] == channels, width > 0, height > 0,
      width <= Self.mostPixels
    else {
      throw RunError(
        .failed,
        "frames from \(name) are tensors of \(axes.map { "\($0)" }.joined(separator: "x")); pictures are "
          + "taken: RGB, BGR, gray or RGBA, a pixel's samples beside each other, in bytes or (not BGR) words"
      )
    }
    guard width <= Self.mostPixels / height else {
      throw RunError(
        .failed,
        "frames of \(width)x\(height) from \(name) are too large; \(Self.mostPixels) pixels are taken"
      )
    }
    return FrameFormat(
      pixelFormat: pixels, width: width, height: height, color: .jpeg,
      rate: settings.rate ?? .unknown)
  }

  private func word<Word: FixedWidthInteger>(_ type: Word.Type, at place: Int) -> Word {
    (0..<MemoryLayout<Word>.size).reversed().reduce(0) { $0 << 8 | Word(header[place + $1]) }
  }

  /// Fills `bytes` from the pipe; false where the run is to stop. The corresponding C function is `read`.
  private func fill(_ bytes: inout [UInt8]) throws(RunError) -> Bool {
    var count = 0
    while count < bytes.count {
      guard !interruption.isSet else { return false }
      guard isReady(milliseconds: Self.tick) else { continue }
      let result = unsafe bytes.withUnsafeMutableBytes { memory in
        unsafe Glibc.read(
          descriptor, memory.baseAddress.unsafelyUnwrapped + count, memory.count - count)
      }
      if result > 0 {
        count += result
      } else if result == 0 {
        throw RunError(
          .failed,
          "the frames from \(name) end without a last header: the program that wrote them has died, or has "
            + "not ended them")
      } else if errno != EINTR, errno != EAGAIN {
        throw RunError(.failed, "frames cannot be read from \(name): \(RunError.text(errno))")
      }
    }
    return true
  }

  private func isReady(milliseconds: Int32) -> Bool {
    var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return unsafe poll(&request, 1, milliseconds) > 0
  }
}

extension PipeSource {
  public static let kind = SourceKind(
    "pipe", "frames of another program, as --pipe-header writes them", argument: "descriptor",
    shown: "FD", PipeSettings.self
  ) { (settings) throws(RunError) in
    let argument = settings.descriptor
    if argument == "-" { return PipeSource(descriptor: STDIN_FILENO, settings) }
    guard let descriptor = Int32(argument), descriptor > 2, fcntl(descriptor, F_GETFD) >= 0 else {
      throw RunError(
        .usage,
        "pipe:\(argument): give - for standard input, or the number of a pipe that this program was started "
          + "with, as pipe:3")
    }
    return PipeSource(descriptor: descriptor, settings)
  }
}
