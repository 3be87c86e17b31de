import Glibc
import Sprocket
import Synchronization

/// Grey pictures that a device sends over a descriptor: a head, then a byte for each pixel. The head is
/// six little-endian words of 32 bits: number, width, height, flags (1: damaged), and the date in
/// nanoseconds since 1970, low word first.
final class WireSource: Source {
  struct Settings: SourceSettings {
    /// Has to be given, as in `wire:3`.
    var descriptor = -1
    var startup = 0
    var patience = Duration.seconds(2)

    static let settings: [Setting<Settings>] = [
      Setting("descriptor", \.descriptor, range: 0...1023, "where frames come from"),
      Setting(
        "startup", \.startup, range: 0...1000, unit: "frames", "at the start, not to be used"),
      Setting(
        "patience", \.patience, range: .milliseconds(10) ... .seconds(60),
        "a longer silence is an event"),
    ]
  }

  static let kind = SourceKind(
    "wire", "grey pictures of a device", argument: "descriptor", Settings.self
  ) { (settings) throws(RunError) in WireSource(settings) }

  private static let headBytes = 24
  private let settings: Settings
  private let isInterrupted = Atomic(false)
  /// What has come of the frame under way. Allocated anew where the size changes, and for no other frame.
  private var bytes = [UInt8](repeating: 0, count: headBytes)
  private var received = 0
  private var size = (width: 0, height: 0)
  /// The size that the engine knows.
  private var described = (width: 0, height: 0)
  /// A frame that has come and was neither taken nor discarded.
  private var held: ArrivedFrame?
  private var frames = 0
  private var lastArrival: Int64?
  private var events = EventQueue()

  init(_ settings: Settings) { self.settings = settings }

  /// Waits for the first frame, which tells the size.
  func open() throws(RunError) -> SourceDescription {
    try settings.check(of: "the source wire")
    while held == nil {
      guard try receive(within: 20_000_000) else {
        throw RunError(.failed, "no frame came over the wire; look at its device")
      }
      if isInterrupted.load(ordering: .relaxed) {
        throw RunError(.interrupted, "stopped before a frame came")
      }
    }
    return describe()
  }

  private func describe() -> SourceDescription {
    described = size
    let format = FrameFormat(
      pixelFormat: .grey, width: size.width, height: size.height, color: .jpeg, rate: .unknown)
    return SourceDescription(
      name: "wire", format: format, isLive: true, clock: .monotonic,
      capacity: size.width * size.height)
  }

  func next(timeout: Int64) throws(RunError) -> Arrival {
    guard try receive(within: timeout), !isInterrupted.load(ordering: .relaxed) else { return .end }
    guard let held else { return .nothing }
    // The next call announces the frame, which stays held.
    if size != described { return .epoch(describe(), .formatChange) }
    return .frame(held)
  }

  func takeEvents(into queue: inout EventQueue) { queue.take(from: &events) }

  func take(into slot: inout CaptureSlot) {
    let count = size.width * size.height
    var target = slot.bytes
    for index in 0..<count { target[index] = bytes[Self.headBytes + index] }
    slot.filled(count)
    held = nil
  }

  func discard() { held = nil }
  /// Nothing is lent.
  func reclaim(_ lent: UnsafeMutableRawPointer) {}
  /// On any thread: `receive` looks at it within 20 ms.
  func interrupt() { isInterrupted.store(true, ordering: .relaxed) }
  /// The descriptor belongs to who gave it.
  func close() {}

  /// Reads until a frame is held, the time is over or the source is interrupted. False at the end of the
  /// stream.
  private func receive(within timeout: Int64) throws(RunError) -> Bool {
    let end = monotonicNow() + timeout
    while held == nil, !isInterrupted.load(ordering: .relaxed) {
      var request = pollfd(fd: Int32(settings.descriptor), events: Int16(POLLIN), revents: 0)
      let rest = min(max(0, end - monotonicNow()), 20_000_000)
      let isReady = unsafe poll(&request, 1, Int32((rest + 999_999) / 1_000_000)) > 0
      if isReady {
        guard try readOn() else { return false }
      } else if rest == 0 {
        return true
      }
    }
    return true
  }

  /// Reads what is there of the frame under way. False at the end of the stream.
  private func readOn() throws(RunError) -> Bool {
    let wanted = received < Self.headBytes ? Self.headBytes : bytes.count
    let (start, descriptor) = (received, Int32(settings.descriptor))
    let count = unsafe bytes.withUnsafeMutableBytes { memory in
      unsafe read(descriptor, memory.baseAddress! + start, wanted - start)
    }
    guard count >= 0 || errno == EINTR || errno == EAGAIN else {
      throw RunError(.failed, "the wire cannot be read (error \(errno)); look at its device")
    }
    guard count != 0 || received == 0 else {
      throw RunError(.failed, "the wire broke within a frame; look at its device")
    }
    guard count != 0 else { return false }
    received += max(0, count)
    if received == Self.headBytes { try readHead() }
    if received == bytes.count { announce() }
    return true
  }

  private func readHead() throws(RunError) {
    size = (Int(word(1)), Int(word(2)))
    guard 1...8192 ~= size.width, 1...8192 ~= size.height else {
      throw RunError(
        .failed, "the wire sends \(size.width)x\(size.height) pixels; look at its device")
    }
    let count = Self.headBytes + size.width * size.height
    guard count != bytes.count else { return }
    bytes = bytes.prefix(Self.headBytes) + [UInt8](repeating: 0, count: count - Self.headBytes)
  }

  private func announce() {
    let now = monotonicNow()
    let silence = Duration.nanoseconds(now - (lastArrival ?? now))
    if silence > settings.patience {
      events.add(Event(kind: .stalled, value: silence / .milliseconds(1)))
    }
    lastArrival = now
    held = ArrivedFrame(
      sequence: UInt64(word(0)),
      captured: Timestamp(nanosecondsSince1970: Int64(word(4)) | Int64(word(5)) << 32),
      isCorrupt: word(3) & 1 != 0, isStartup: frames < settings.startup)
    frames += 1
    received = 0
  }

  private func word(_ index: Int) -> UInt32 {
    (0..<4).reversed().reduce(0) { $0 << 8 | UInt32(bytes[4 * index + $1]) }
  }
}
