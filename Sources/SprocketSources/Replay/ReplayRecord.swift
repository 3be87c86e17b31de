internal import SprocketCore
internal import SprocketMCAP
internal import SprocketTimes

/// A frame of a dump, as its record has it, and where its bytes are.
struct ReplayFrame: Sendable {
  var number: UInt64 = 0
  var sequence: UInt64 = 0
  var epoch: UInt32 = 0
  /// Nanoseconds, on the clock that the session names.
  var captured: Int64 = 0
  /// Nanoseconds, on the monotonic clock of then.
  var dequeued: Int64 = 0
  var bytes = 0
  var driverFlags: UInt32 = 0
  var capturePoint = CapturePoint.unknown
  var isCorrupt = false
  var isStartup = false
  var wasLate = false
  /// Number of consecutive frames without bytes in the dump, this one first; 0 outside such a range.
  var skipped: UInt64 = 0
  var inForce = ControlState()
  /// A range that was shortened to nothing and is removed.
  var isEmptyRange = false
  /// The range of its events in `ReplayIndex.events`.
  var events: Range<Int32> = 0..<0
  /// `nil` where there are no bytes.
  var place: MCAPMessagePlace?

  /// The log time of its messages, as the dump writes it: a negative time becomes 0.
  var logTime: UInt64 { UInt64(max(captured, 0)) }
}

/// The events of a dump.
struct ReplayEvents {
  private(set) var events: [Event] = []
  /// The changes that events `.settingsChanged` are about: the ticket of an event is an index here.
  private(set) var settings: [ChangedSettings] = []

  mutating func add(_ event: Event) { events.append(event) }

  mutating func add(_ changed: ChangedSettings) {
    add(Event(kind: .settingsChanged, ticket: UInt64(settings.count)))
    settings.append(changed)
  }

  /// Forgets the events from `count` on.
  mutating func cut(to count: Int) { events.removeLast(events.count - count) }
}

/// What a dump says of an epoch.
struct ReplaySession: Sendable {
  var epoch: UInt32 = 0
  var format: FrameFormat
  /// `captured` is on the monotonic clock of the machine that recorded the dump.
  var isMonotonic = false
  /// Frames waited, and their times are those of a film.
  var isMedia = false
}

/// Reads the records of a dump; `docs/dump.md` lists their keys. An invalid record is `nil`.
/// Unknown keys are skipped.
enum ReplayRecord {
  /// Reads the source's record of a frame. Appends the frame's events to `events`.
  static func frame(_ bytes: Span<UInt8>, events: inout ReplayEvents) -> ReplayFrame? {
    var frame = ReplayFrame()
    var known = 0
    let first = events.events.count
    do throws(JSONScanner.Failure) {
      var json = JSONScanner()
      try json.begin("{", bytes)
      while let key = try json.nextKey(bytes) {
        switch true {
        case bytes.equals("number", key):
          frame.number = try json.integer(UInt64.self, bytes) ?? 0
          known += 1
        case bytes.equals("sequence", key):
          frame.sequence = try json.integer(UInt64.self, bytes) ?? 0
          known += 1
        case bytes.equals("epoch", key): frame.epoch = try json.integer(UInt32.self, bytes) ?? 0
        case bytes.equals("captured_ns", key):
          frame.captured = try time(&json, bytes)
          known += 1
        case bytes.equals("dequeued_ns", key):
          frame.dequeued = try time(&json, bytes)
        case bytes.equals("bytes", key): frame.bytes = try json.integer(Int.self, bytes) ?? 0
        case bytes.equals("driver_flags", key):
          frame.driverFlags = try json.integer(UInt32.self, bytes) ?? 0
        case bytes.equals("point", key):
          switch try json.string(bytes) {
          case "start_of_exposure": frame.capturePoint = .startOfExposure
          case "end_of_frame": frame.capturePoint = .endOfFrame
          case "estimated": frame.capturePoint = .estimated
          default: break
          }
        case bytes.equals("fate", key):
          let fate = try json.string(bytes)
          frame.isCorrupt = fate == "corrupt"
          frame.isStartup = fate == "startup"
        case bytes.equals("events", key): try read(&json, bytes, to: &events, from: first)
        default: try read(&json, bytes, key, to: &frame.inForce)
        }
      }
      guard known == 3, frame.bytes >= 0 else { throw JSONScanner.Failure() }
    } catch {
      events.cut(to: first)
      return nil
    }
    frame.events = Int32(first)..<Int32(events.events.count)
    return frame
  }

  /// A time in a range in which sums do not overflow.
  private static func time(
    _ json: inout JSONScanner, _ bytes: Span<UInt8>
  ) throws(JSONScanner.Failure) -> Int64 {
    min(max(try json.integer(Int64.self, bytes) ?? 0, -TimeGate.limit), TimeGate.limit)
  }

  private static func read(
    _ json: inout JSONScanner, _ bytes: Span<UInt8>, _ key: Range<Int>,
    to state: inout ControlState
  ) throws(JSONScanner.Failure) {
    if bytes.equals("exposure_us", key) {
      state.exposureMicroseconds = Float(try json.number(bytes) ?? .nan)
    } else if bytes.equals("gain", key) {
      state.gain = Float(try json.number(bytes) ?? .nan)
    } else if bytes.equals("lens", key) {
      state.lensPosition = Float(try json.number(bytes) ?? .nan)
    } else {
      try json.skip(bytes)
    }
  }

  private static func read(
    _ json: inout JSONScanner, _ bytes: Span<UInt8>, to events: inout ReplayEvents, from first: Int
  ) throws(JSONScanner.Failure) {
    try json.begin("[", bytes)
    while try json.nextElement(bytes) {
      var event: Event?
      var control: UInt16 = 0
      var ticket: UInt64 = 0
      var value = 0.0
      var (stage, settings): (String?, [String: String]?) = (nil, nil)
      try json.begin("{", bytes)
      while let key = try json.nextKey(bytes) {
        switch true {
        case bytes.equals("kind", key):
          event = Event.Kind(recorded: try json.string(bytes)).map { Event(kind: $0) }
        case bytes.equals("control", key): control = try json.integer(UInt16.self, bytes) ?? 0
        case bytes.equals("ticket", key): ticket = try json.integer(UInt64.self, bytes) ?? 0
        case bytes.equals("value", key): value = try json.number(bytes) ?? .nan
        // In microseconds; an event has milliseconds.
        case bytes.equals("wait_us", key): value = (try json.number(bytes) ?? .nan) / 1000
        case bytes.equals("stage", key): stage = try json.string(bytes)
        case bytes.equals("settings", key): settings = try texts(&json, bytes)
        default: try json.skip(bytes)
        }
      }
      // At most `EventQueue.capacity` events are kept per record. The count starts at `first`, the
      // record's first event, because a record may contain the key `events` more than once.
      guard events.events.count - first < EventQueue.capacity else { continue }
      if let stage, let settings {
        events.add(ChangedSettings(stage: stage, values: settings))
        continue
      }
      guard var event else { continue }
      event.control = control
      event.ticket = ticket
      event.value = value
      events.add(event)
    }
  }

  /// Texts by their names: as many and as long as settings have, so that a damaged file takes no more memory.
  private static func texts(
    _ json: inout JSONScanner, _ bytes: Span<UInt8>
  ) throws(JSONScanner.Failure) -> [String: String] {
    var texts: [String: String] = [:]
    try json.begin("{", bytes)
    while let key = try json.nextKey(bytes) {
      guard texts.count < 64, key.count <= 256, let text = try json.string(bytes),
        text.utf8.count <= 256
      else { throw JSONScanner.Failure() }
      texts[json.text(key, bytes)] = text
    }
    return texts
  }

  /// Reads a range of frames without bytes, as the first of them. Appends their events to `events`.
  static func range(_ bytes: Span<UInt8>, events: inout ReplayEvents) -> ReplayFrame? {
    var frame = ReplayFrame()
    let first = events.events.count
    do throws(JSONScanner.Failure) {
      var json = JSONScanner()
      try json.begin("{", bytes)
      while let key = try json.nextKey(bytes) {
        if bytes.equals("first_number", key) {
          frame.number = try json.integer(UInt64.self, bytes) ?? 0
        } else if bytes.equals("first_sequence", key) {
          frame.sequence = try json.integer(UInt64.self, bytes) ?? 0
        } else if bytes.equals("frames", key) {
          frame.skipped = try json.integer(UInt64.self, bytes) ?? 0
        } else if bytes.equals("epoch", key) {
          frame.epoch = try json.integer(UInt32.self, bytes) ?? 0
        } else if bytes.equals("source_fate", key) {
          let fate = try json.string(bytes)
          frame.isCorrupt = fate == "corrupt"
          frame.isStartup = fate == "startup"
        } else if bytes.equals("events", key) {
          try read(&json, bytes, to: &events, from: first)
        } else {
          try json.skip(bytes)
        }
      }
      // No dump has a range with more frames than a camera delivers in a year.
      guard (1...UInt64(UInt32.max)).contains(frame.skipped) else { throw JSONScanner.Failure() }
    } catch {
      events.cut(to: first)
      return nil
    }
    frame.events = Int32(first)..<Int32(events.events.count)
    return frame
  }

  /// The number of a frame that a stage dropped because it came too late; `nil` for all others.
  static func lateNumber(_ bytes: Span<UInt8>) -> UInt64? {
    var number: UInt64?
    var isLate = false
    do throws(JSONScanner.Failure) {
      var json = JSONScanner()
      try json.begin("{", bytes)
      while let key = try json.nextKey(bytes) {
        if bytes.equals("number", key) {
          number = try json.integer(UInt64.self, bytes)
        } else if bytes.equals("fate", key) {
          isLate = try json.string(bytes) == "late"
        } else {
          try json.skip(bytes)
        }
      }
    } catch {
      return nil
    }
    return isLate ? number : nil
  }
}

extension Event.Kind {
  init?(recorded name: String?) {
    switch name {
    case "control_applied": self = .controlApplied
    case "control_refused": self = .controlRefused
    case "control_changed": self = .controlChanged
    case "replugged": self = .replugged
    case "stalled": self = .stalled
    default: return nil
    }
  }
}
