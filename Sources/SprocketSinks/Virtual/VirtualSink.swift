internal import SprocketCodecs
public import SprocketCore
internal import SprocketPixels
internal import SprocketV4L2
internal import Synchronization

/// `--virtual`: a camera for other programs, on a v4l2loopback device (`docs/virtual.md`).
///
/// Each frame is made straight into a buffer of the driver, in the format that the device was set to, and
/// handed over with its time. Programs that read it come and go; nobody is waited for.
public final class VirtualSink: Sink, RenamedSink {
  public internal(set) var name = "virtual"
  private let path: String
  private let settings: VirtualSettings
  private var device: V4L2Device?
  /// What the device is set to.
  private var pixels = PixelFormat.mjpeg
  private var format: FrameFormat?
  /// `nil` where frames are passed on as they are.
  private var packer: FramePacker?
  /// Pictures of the epoch that begins, and what may be made of them.
  private var next: (format: FrameFormat, candidates: [PixelFormat])?
  private var messages: [String] = []

  private let isInterrupted = Atomic<Bool>(false)
  private let copies = Atomic<UInt64>(0)
  /// The device's node while it is open, and programs that had it open when it was closed.
  private let consumers = Locked<(node: String?, last: Int)>((nil, 0))

  /// Frames go to the device at `path`. It is opened by `configure`.
  public init(path: String, _ settings: VirtualSettings = VirtualSettings()) {
    self.path = path
    self.settings = settings
  }

  /// Buffers that are asked for. Larger: a reader may work longer on a frame before it is overwritten, and
  /// the driver keeps as many. v4l2loopback has 2 by default (`max_buffers`).
  private static let bufferCount = 8
  /// Longest time that the driver may keep all buffers, in nanoseconds. Larger: a stuck driver is told of
  /// later. v4l2loopback keeps none.
  private static let patience: Int64 = 2_000_000_000
  /// Milliseconds between two looks at whether the run ends. Larger: fewer wake-ups, a later end.
  private static let tick: Int32 = 50

  public var notes: [String] { messages }

  /// `consumers`: other programs that have the device open, as far as this user may see.
  ///
  /// Cost: looks at each process, some milliseconds.
  public var counts: [(name: String, value: UInt64)] {
    let (node, last) = consumers.withLock { $0 }
    let count = node.map { V4L2Holder.all(of: $0).count } ?? last
    return [("copies", copies.load(ordering: .relaxed)), ("consumers", UInt64(count))]
  }

  public func configure(_ setup: inout SinkSetup) throws(RunError) {
    let source = setup.source.format
    let passesJPEG =
      setup.isUntouched && source.pixelFormat == .mjpeg && !source.hasFieldImages
    var candidates = try VirtualFormats.candidates(
      setup.format, passesJPEG: passesJPEG, settings.format?.pixels)
    if device == nil {
      try open(setup.format, candidates, isFirst: true)
    } else {
      // The device is set at the first frame: the engine may still go on with the old plan.
      if candidates != [.mjpeg] { candidates.removeAll { $0 == .mjpeg } }
      next = (setup.format, candidates)
    }
    let isPassedOn = next.map { $0.candidates == [.mjpeg] } ?? (pixels == .mjpeg)
    try setup.reads(isPassedOn ? .encoded : .image)
    let (width, height) = (setup.format.width, setup.format.height)
    setup.ownBytes =
      FramePacker.workingBytes(setup.format)
      + Self.bufferCount
      * ([.yuyv] + candidates).reduce(0) { max($0, $1.byteCount(width: width, height: height)) }
  }

  public func write(_ frame: borrowing PackedFrame) throws(RunError) {
    if let (format, candidates) = next.take() { try adopt(format, candidates) }
    let index = try freeBuffer()
    let packer = packer
    let count = device?.withOutput(index) { bytes -> Int? in
      guard let packer else { return Self.pass(frame.view.encoded, into: &bytes) }
      return packer.pack(frame.view, into: &bytes)
    }
    guard let count = count.flatMap(\.self) else {
      throw RunError(
        .failed, "virtual: a frame does not fit a buffer of \(path); use another format")
    }
    copies.add(1, ordering: .relaxed)
    // Other clocks mean nothing to those who read.
    let captured = frame.record.captured
    let time = captured.clock == .monotonic ? captured.nanoseconds : monotonicNow()
    let sequence = UInt32(truncatingIfNeeded: frame.record.number)
    try asking { () throws(V4L2Error) in
      try device?.queueOutput(index, byteCount: count, nanoseconds: time, sequence: sequence)
    }
  }

  private static func pass(_ frame: Span<UInt8>, into bytes: inout MutableSpan<UInt8>) -> Int? {
    guard frame.count <= bytes.count else { return nil }
    var part = bytes._mutatingExtracting(..<frame.count)
    copyRow(frame, into: &part)
    return frame.count
  }

  /// The driver's next buffer; waits where it has all of them.
  private func freeBuffer() throws(RunError) -> Int {
    let end = monotonicNow() + Self.patience
    while true {
      let found = try asking { () throws(V4L2Error) in try device?.nextOutput() }
      if let index = found.flatMap(\.self) { return index }
      guard !isInterrupted.load(ordering: .relaxed), monotonicNow() < end else {
        throw RunError(
          .failed,
          "virtual: \(path) has taken no frame for 2 s; load its driver anew, or use another device"
        )
      }
      // A device that reports a failure is ready at once, again and again.
      if device?.wait(milliseconds: Self.tick).contains(.failure) == true {
        sleep(until: monotonicNow() + Int64(Self.tick) * 1_000_000)
      }
    }
  }

  public func interrupt() { isInterrupted.store(true, ordering: .relaxed) }

  public func finish() throws(RunError) {
    let names = (device?.node).map { V4L2Holder.all(of: $0).map(\.name) } ?? []
    if let format {
      messages.append(
        "virtual: \(path) was given \(pixels.settingText) \(format.width)x\(format.height)"
          + (names.isEmpty ? "" : "; it is still open in \(names.joined(separator: ", "))"))
    }
    consumers.withLock { $0 = (nil, names.count) }
    release()
  }

  // MARK: Setting the device

  /// Sets the device for the pictures of another epoch, if it has to be set anew.
  private func adopt(_ new: FrameFormat, _ candidates: [PixelFormat]) throws(RunError) {
    if let format, candidates.contains(pixels), format.width == new.width,
      format.height == new.height, format.color == new.color, format.rate == new.rate
    {
      packer = pixels.isEncoded ? nil : try FramePacker(pixels, of: new)
      self.format = new
      return
    }
    // v4l2loopback takes another format only when it was closed.
    release()
    try open(new, candidates, isFirst: false)
  }

  private func release() {
    device?.stop()
    device = nil
  }

  /// Opens the device and sets it to the first of the candidates that it takes.
  private func open(
    _ format: FrameFormat, _ candidates: [PixelFormat], isFirst: Bool
  ) throws(RunError) {
    let code: RunError.Code = isFirst ? .usage : .failed
    var device = try asking { () throws(V4L2Error) in try V4L2Device(output: path) }
    guard !isFirst || !device.isOpenTwice else {
      throw RunError(
        .usage, "virtual: \(path) is the camera of this run; write to another device",
        change: .virtual, .source)
    }
    let (made, found) = try asking { () throws(V4L2Error) in
      try Self.set(&device, format, candidates)
    }
    guard let made, let found else {
      let error = VirtualFormats.refusal(path, made, format)
      throw RunError(code, error.description, error.settings)
    }
    packer = found.isEncoded ? nil : try FramePacker(found, of: format)
    pixels = found
    self.format = format
    note(made)
    let node = device.node
    consumers.withLock { $0.node = node }
    self.device = consume device
  }

  /// Sets format and rate, and begins to stream. `found` is `nil` where no candidate was accepted, and `made`
  /// is what the device is set to then, if that is known.
  private static func set(
    _ device: inout V4L2Device, _ format: FrameFormat, _ candidates: [PixelFormat]
  ) throws(V4L2Error) -> (made: V4L2Format?, found: PixelFormat?) {
    let offers = device.formats().map(\.fourCC)
    var made: V4L2Format?
    for candidate in candidates where offers.contains(V4L2FourCC(candidate.fourcc)) {
      let answer = try device.setFormat(V4L2Format(candidate, of: format))
      made = answer
      guard let found = VirtualFormats.accepted(answer, candidates, of: format) else { continue }
      if format.rate.frames > 0, format.rate.seconds > 0 {
        _ = try device.setInterval(
          V4L2Interval(UInt32(format.rate.seconds), UInt32(format.rate.frames)))
      }
      try device.makeOutputBuffers(bufferCount)
      try device.start()
      return (answer, found)
    }
    // A device that is held offers what it is set to.
    if made == nil, offers.count == 1 { made = try device.format() }
    return (made, nil)
  }

  private func note(_ made: V4L2Format) {
    guard let format else { return }
    let wanted = V4L2Format(pixels, of: format)
    if !pixels.isEncoded, made.quantization != 0, made.quantization != wanted.quantization {
      say(
        "virtual: \(path) is set to \(made.quantization == 1 ? "full" : "limited") range, and pictures have "
          + "\(wanted.quantization == 1 ? "full" : "limited"): programs may show another contrast")
    }
    if format.presentation.orientation != .upright {
      say(
        "virtual: pictures are turned, which a camera has no word for; add the stage rotate")
    }
  }

  /// Once for all epochs.
  private func say(_ message: String) {
    if !messages.contains(message) { messages.append(message) }
  }

  /// Makes of a device's error one of the run.
  private func asking<Result: ~Copyable>(
    _ body: () throws(V4L2Error) -> Result
  ) throws(RunError) -> Result {
    do throws(V4L2Error) {
      return try body()
    } catch {
      let sentence = "virtual: \(error.description)"
      switch error.code {
      case .notFound: throw RunError(.notFound, sentence, [.virtual])
      case .notPermitted: throw RunError(.notPermitted, sentence, [.virtual])
      case .busy: throw RunError(.inUse, sentence, [.virtual])
      case .notACamera, .needsPipeline: throw RunError(.usage, sentence, change: .virtual)
      default: throw RunError(.failed, sentence, change: .virtual)
      }
    }
  }
}
