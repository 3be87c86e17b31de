internal import SprocketCodecs
public import SprocketCore
internal import SprocketLibAV
internal import SprocketV4L2

// Opening a camera: finding it, agreeing on a format, looking at the first JPEG.

extension CameraSource {
  public func open() throws(RunError) -> SourceDescription {
    try settings.check(of: "the source camera")
    let profile = settings.controls.path
    if !profile.isEmpty { writing.profile = try ControlProfile(path: profile) }
    wanted = try CameraWish(name)?.completing(settings.wanted) ?? settings.wanted
    let node = try CameraNode.named(name)
    (title, card) = (node.title, node.card)
    (identity, path) = (node.identity, node.path)
    try asking { () throws(V4L2Error) in
      if let problem = node.problem { throw problem }
      device = try V4L2Device(path: node.path, converts: settings.conversion)
    }
    do throws(RunError) {
      return try prepare()
    } catch {
      device = nil
      throw error
    }
  }

  /// Runs what asks the device; its errors become sentences. Between two such questions a camera that is
  /// slow to answer can be left.
  func asking<Value>(_ body: () throws(V4L2Error) -> Value) throws(RunError) -> Value {
    if interruption.isSet {
      throw RunError(.interrupted, "opening \(title) was ended before its time")
    }
    do throws(V4L2Error) {
      return try body()
    } catch {
      isGone = error.code == .gone
      throw told(error)
    }
  }

  /// Agrees on a format with the device that was opened, and makes its buffers. `before`: of a camera that
  /// was plugged in again, which is to have the same mode and the same controls.
  func prepare(before: CameraControls? = nil) throws(RunError) -> SourceDescription {
    try takePriority()
    device!.adoptTimings()
    let all = CameraFormat.all(of: device!)
    let formats = settings.fourcc.isEmpty ? all : all.filter { $0.fourCC == settings.fourcc }
    guard !formats.isEmpty || all.isEmpty else {
      throw RunError(
        .usage,
        "\(title) does not offer \(settings.fourcc); it offers "
          + all.map(\.fourCC).joined(separator: ", "), change: .source("fourcc"))
    }
    let negotiation = CameraNegotiation(name: title, formats: formats) { fourCC, size in
      CameraRates(self.device!.intervals(of: V4L2FourCC(fourCC), V4L2Size(size)))
    }
    let mode = try before == nil ? negotiation.choose(wanted) : chooseAgain(negotiation)
    self.mode = mode
    try setCrop()
    let found = try set(mode)
    try keepCrop(found)
    let rate = try setRate(mode)
    try makeBuffers(found, mode.pixelFormat)
    if let before { writeAgain(before) } else { controls = CameraControls(device!.controls()) }
    knowDelays(before: before?.port)
    for control in controls.followed where control.kind != .button {
      _ = device!.subscribe(to: control.id)
    }
    _ = device!.subscribeToSource()
    if mode.pixelFormat.isPackets, packets?.course.format != mode.pixelFormat {
      do throws(MediaError) {
        packets = try CameraPackets(mode.pixelFormat, name: title)
      } catch {
        throw RunError(opening: error)
      }
    }
    let format = FrameFormat(
      pixelFormat: mode.pixelFormat, width: found.size.width, height: found.size.height,
      color: Color(found, mode.pixelFormat), rate: rate,
      presentation: Presentation(
        found.field, height: found.size.height,
        aspect: device!.pixelAspect(at: found.size)))
    let seen = mode.pixelFormat.isEncoded ? try look(format) : format
    self.format = seen
    var description = description(seen)
    if device!.hasSignal() == false {
      description.note =
        "no signal comes in at \(title): its pictures are corrupt until one does; check what is connected"
    } else if found.field.isInterlaced {
      description.note =
        "\(title) gives interlaced frames: what moves has combs, for their lines are of two moments"
    }
    return description
  }

  /// The mode from before, or if there is none like it now, any that was asked for.
  private func chooseAgain(_ negotiation: CameraNegotiation) throws(RunError) -> CameraMode {
    if let mode {
      let same = FormatRequest(
        format: mode.pixelFormat, size: FrameSize(mode.size.width, mode.size.height),
        rate: mode.rate)
      do throws(RunError) {
        return try negotiation.choose(same)
      } catch {
        // What is lent of packets is libavcodec's, and all else the driver's.
        if mode.pixelFormat.isPackets { throw error }
      }
    }
    return try negotiation.choose(wanted)
  }

  /// Writes what was written before. What the camera does not take any more is left as it is.
  private func writeAgain(_ before: CameraControls) {
    var before = before
    let again = before.again(device!.controls())
    controls = again.controls
    writing.batch.removeAll()
    for (control, value) in again.writes { writing.batch.add(control, value, before: nil) }
    writing.batch.performEach(on: &device!)
    controls.answer(again.late, by: title) { control in
      again.writes.firstIndex { $0.0.id == control.id }.flatMap { writing.batch.result(at: $0) }
    }
  }

  func description(_ format: FrameFormat) -> SourceDescription {
    let packed = format.pixelFormat.byteCount(width: format.width, height: format.height)
    let largest = (0..<loans.count).reduce(0) { most, index in
      max(most, unsafe device!.memory(index).count)
    }
    var found = SourceDescription(
      name: title, format: format, isLive: true, clock: .monotonic,
      capacity: format.pixelFormat.isEncoded || format.packets != nil ? largest : packed,
      controls: controls.port)
    if format.packets != nil { found.keyFrames = keyFrames }
    described = found
    return found
  }

  /// Sets format and size; a driver that makes another of them is refused.
  private func set(_ mode: CameraMode) throws(RunError) -> V4L2Format {
    let wanted = V4L2FourCC(mode.fourCC)
    let found = try asking { () throws(V4L2Error) in
      try device!.setFormat(wanted, V4L2Size(mode.size))
    }
    // A size that nobody asked for may become another: not every driver keeps to the range it tells.
    guard found.fourCC == wanted,
      self.wanted.size == nil || CameraSize(found.size) == mode.size
    else {
      throw RunError(
        .usage,
        "\(title) makes \(found.fourCC.text) \(CameraSize(found.size).text) of \(mode.fourCC) "
          + "\(mode.size.text); ask for that", change: .format, .size)
    }
    guard found.memoryPlanes == 1 || found.memoryPlanes == mode.pixelFormat.planeCount else {
      throw RunError(
        .usage,
        "\(title) gives \(mode.fourCC) in \(found.memoryPlanes) pieces of memory, which Sprocket does "
          + "not take; choose another format", change: .format)
    }
    if let refusal = found.field.refusal {
      throw RunError(
        .usage, "\(title) gives \(mode.fourCC) \(mode.size.text) \(refusal)", change: .size)
    }
    return found
  }

  /// Sets the rate; returns the one that the driver made of it. One that was asked for is held to, unless it
  /// is a wish.
  private func setRate(_ mode: CameraMode) throws(RunError) -> FrameRate {
    guard let rate = mode.rate else {
      return device!.interval().flatMap { FrameRate($0) } ?? .unknown
    }
    let made = try asking { () throws(V4L2Error) in
      try device!.setInterval(V4L2Interval(UInt32(rate.seconds), UInt32(rate.frames)))
    }
    let found = made.flatMap { FrameRate($0) }
    if settings.isRateWish { return found ?? .unknown }
    if let asked = wanted.rate,
      found.map({ !CameraNegotiation.isSame($0, asked.framesPerSecond) }) ?? true
    {
      throw RunError(
        .usage,
        "\(title) cannot be set to \(asked.text) frames/s"
          + (found.map { "; it makes \($0.text) of them" } ?? ": leave out the rate"), change: .rate
      )
    }
    return found ?? rate
  }

  /// Maps buffers, and notes how frames lie in them.
  private func makeBuffers(_ found: V4L2Format, _ pixels: PixelFormat) throws(RunError) {
    try asking { () throws(V4L2Error) in try device!.makeBuffers(settings.buffers) }
    if settings.export, !pixels.isEncoded {
      do throws(V4L2Error) {
        try device!.exportBuffers()
      } catch {
        throw RunError(
          .usage,
          "\(title) does not export its buffers (\(error.reason)); leave `export=true` out",
          change: .source("export"))
      }
    }
    let count = device?.bufferCount ?? 0
    let (width, height) = (found.size.width, found.size.height)
    let place =
      found.memoryPlanes > 1
      ? CameraLayout(
        pixels, width: width, height: height,
        bytesPerLine: [found.bytesPerLine] + found.otherBytesPerLine)
      : CameraLayout(pixels, width: width, height: height, bytesPerLine: found.bytesPerLine)
    let isRoomy = (0..<count).allSatisfy { index in
      place.byteCounts.indices.allSatisfy { piece in
        unsafe device!.memory(index, piece: piece).count >= place.byteCounts[piece]
      }
    }
    guard count >= 2, pixels.isEncoded || isRoomy else {
      throw RunError(
        .failed,
        "\(title) gives \(count) buffers that are too small for "
          + "\(CameraSize(found.size).text) \(found.fourCC.text); its driver is at fault: choose another "
          + "format or size", change: .format, .size)
    }
    layout = pixels.isEncoded ? nil : place
    loans = CameraLoans(
      count: count, mayLend: device?.capabilities.driver != CameraLoans.overwriting)
  }

  /// A camera gives its first picture within some two seconds.
  private static let longestLook = Duration.seconds(5)

  /// Lets the camera stream until a frame is in order, and returns the format as that has it.
  private func look(_ format: FrameFormat) throws(RunError) -> FrameFormat {
    try asking { () throws(V4L2Error) in try startStream() }
    defer {
      device!.stop()
      loans.didStop()
    }
    // A stream that was joined in its middle may have seconds to its next key frame.
    let patience = packets == nil ? min(settings.timeout, Self.longestLook) : settings.timeout
    var packetCount = 0
    let end = monotonicNow() + patience.nanosecondCount
    while monotonicNow() < end {
      giveBackIdle()
      let frame = try asking { () throws(V4L2Error) in try dequeue(within: 20_000_000) }
      guard let frame else { continue }
      loans.didDequeue(frame.index)
      if packets != nil {
        if let seen = try lookAtPacket(frame, format) { return seen }
        packetCount += 1
        keyFrames.ask()
        forceKeyFrames()
        giveBack(frame.index)
        continue
      }
      let bytes = unsafe Span(_unsafeElements: bytes(of: frame))
      if !frame.isDamaged, let header = EncodedFrame(checking: bytes, fullHeight: format.height) {
        guard header.width == format.width, header.height == format.height else {
          throw RunError(
            .failed,
            "\(title) sends \(header.width)x\(header.height) where its driver says "
              + "\(format.width)x\(format.height); choose another size", change: .size)
        }
        return EncodedFrame.isUnpackable(bytes) ? header.described(format) : format
      }
      giveBack(frame.index)
    }
    if packetCount > 0 {
      throw RunError(
        .failed,
        "\(title) gave \(packetCount) packets in \(patience.settingText), and no picture can be decoded of "
          + "them; let its encoder make a key frame each second, with its parameter sets")
    }
    throw RunError(
      .failed,
      "\(title) gave no picture in \(patience.settingText): check its cable, or the program "
        + "that feeds it")
  }
}

extension V4L2Size {
  init(_ size: CameraSize) { self.init(width: size.width, height: size.height) }
}
