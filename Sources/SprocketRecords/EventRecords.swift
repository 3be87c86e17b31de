package import SprocketCore
package import SprocketFiles
internal import SprocketMCAP

// What records of frames have in common: settings in force, and events.

/// Finds the settings that an event `.settingsChanged` is about, by its ticket.
package typealias SettingsLookup = @Sendable (_ ticket: UInt64) -> ChangedSettings?

enum EventKey {
  static let exposure: StaticString = "exposure_us"
  static let gain: StaticString = "gain"
  static let lens: StaticString = "lens"
  static let events: StaticString = "events"
  static let kind: StaticString = "kind"
  static let control: StaticString = "control"
  static let ticket: StaticString = "ticket"
  static let value: StaticString = "value"
  static let wait: StaticString = "wait_us"
  static let stage: StaticString = "stage"
  static let settings: StaticString = "settings"
}

extension Event.Kind: RecordWord {
  package var word: StaticString {
    switch self {
    case .controlApplied: "control_applied"
    case .controlRefused: "control_refused"
    case .controlChanged: "control_changed"
    case .replugged: "replugged"
    case .stalled: "stalled"
    case .settingsChanged: "settings_changed"
    }
  }
}

// MARK: Schema

extension JSONProperties {
  /// Adds the keys of settings in force and of events.
  mutating func addControls() {
    add(EventKey.exposure, "number", "us, in force where known", isRequired: false)
    add(EventKey.gain, "number", "a factor, in force where known", isRequired: false)
    add(EventKey.lens, "number", "0 nearest to 1 furthest, in force where known", isRequired: false)
    addEvents()
  }

  mutating func addEvents() {
    var event = JSONProperties()
    event.add(EventKey.kind, of: Event.Kind.words, "what happened")
    event.add(EventKey.control, "integer", "index among the session's controls", isRequired: false)
    event.add(EventKey.ticket, "integer", "of the control write", isRequired: false)
    event.add(EventKey.value, "number|null", "what the device made of it", isRequired: false)
    event.add(EventKey.wait, "number|null", "us in which nothing arrived", isRequired: false)
    event.add(EventKey.stage, "string", "whose settings changed", isRequired: false)
    event.add(EventKey.settings, "object", "the new values as texts, by name", isRequired: false)
    add(
      EventKey.events, schema: JSONProperties.array(of: event.schema(), "just before the frame"),
      isRequired: false)
  }
}

// MARK: Writing

extension TextTarget where Self: ~Copyable {
  /// Appends the settings that are known, with so many significant digits.
  package mutating func append(_ state: ControlState, digits: Int) throws(RunError) {
    try append(EventKey.exposure, state.exposureMicroseconds, digits)
    try append(EventKey.gain, state.gain, digits)
    try append(EventKey.lens, state.lensPosition, digits)
  }

  private mutating func append(
    _ key: StaticString, _ control: Float, _ digits: Int
  ) throws(RunError) {
    guard !control.isNaN else { return }
    try append(key: key)
    try append(Double(control), digits: digits)
  }

  /// Appends what happened just before the frame, numbers with so many significant digits.
  package mutating func appendEvents(
    of frame: borrowing FrameView, _ lookup: SettingsLookup, digits: Int
  ) throws(RunError) {
    let count = frame.eventCount
    for index in 0..<count {
      try append(frame.event(index), index, of: count, lookup, digits: digits)
    }
  }

  /// Appends the events of a lost frame.
  package mutating func appendEvents(
    of lost: LostFrame, _ lookup: SettingsLookup, digits: Int
  ) throws(RunError) {
    let count = lost.events.count
    for index in 0..<count {
      try append(lost.events[index], index, of: count, lookup, digits: digits)
    }
  }

  private mutating func append(
    _ event: Event, _ index: Int, of count: Int, _ lookup: SettingsLookup, digits: Int
  ) throws(RunError) {
    if index == 0 {
      try append(key: EventKey.events)
      try append(UInt8(ascii: "["))
    } else {
      try append(UInt8(ascii: ","))
    }
    try append(key: EventKey.kind, isFirst: true)
    try append(event.kind)
    switch event.kind {
    case .settingsChanged: try append(lookup(event.ticket))
    case .replugged where event.value == 0: break
    case .replugged, .stalled:
      // The record has microseconds, an event milliseconds.
      try append(key: EventKey.wait)
      try append(event.value * 1000, digits: digits)
    case .controlApplied, .controlRefused, .controlChanged:
      try append(key: EventKey.control)
      try append(decimal: event.control)
      if event.kind != .controlChanged {
        try append(key: EventKey.ticket)
        try append(decimal: event.ticket)
      }
      try append(key: EventKey.value)
      try append(event.value, digits: digits)
    }
    try append(UInt8(ascii: "}"))
    if index == count - 1 { try append(UInt8(ascii: "]")) }
  }

  private mutating func append(_ changed: ChangedSettings?) throws(RunError) {
    guard let changed else { return }
    try append(key: EventKey.stage)
    try append(jsonString(changed.stage))
    try append(key: EventKey.settings)
    try append(UInt8(ascii: "{"))
    for (index, setting) in changed.values.sorted(by: { $0.key < $1.key }).enumerated() {
      if index > 0 { try append(UInt8(ascii: ",")) }
      try append(jsonString(setting.key))
      try append(UInt8(ascii: ":"))
      try append(jsonString(setting.value))
    }
    try append(UInt8(ascii: "}"))
  }
}

// MARK: Reading

/// The events of a dump.
package struct ReplayEvents {
  package private(set) var events: [Event] = []
  /// The changes that events `.settingsChanged` are about: the ticket of an event is an index here.
  package private(set) var settings: [ChangedSettings] = []

  package init() {}

  mutating func add(_ event: Event) { events.append(event) }

  mutating func add(_ changed: ChangedSettings) {
    add(Event(kind: .settingsChanged, ticket: UInt64(settings.count)))
    settings.append(changed)
  }

  /// Forgets the events from `count` on.
  mutating func cut(to count: Int) { events.removeLast(events.count - count) }
}

extension JSONScanner {
  /// Reads settings in force; skips any other key.
  mutating func readControls(
    _ bytes: Span<UInt8>, _ key: Range<Int>, to state: inout ControlState
  ) throws(JSONScanner.Failure) {
    if bytes.equals(EventKey.exposure, key) {
      state.exposureMicroseconds = Float(try number(bytes) ?? .nan)
    } else if bytes.equals(EventKey.gain, key) {
      state.gain = Float(try number(bytes) ?? .nan)
    } else if bytes.equals(EventKey.lens, key) {
      state.lensPosition = Float(try number(bytes) ?? .nan)
    } else {
      try skip(bytes)
    }
  }

  /// The record's first event is, or will be, number `first` of `events`.
  mutating func readEvents(
    _ bytes: Span<UInt8>, to events: inout ReplayEvents, from first: Int
  ) throws(JSONScanner.Failure) {
    try begin("[", bytes)
    while try nextElement(bytes) {
      var kind: Event.Kind?
      var event = Event(kind: .stalled)
      var (stage, settings): (String?, [String: String]?) = (nil, nil)
      try begin("{", bytes)
      while let key = try nextKey(bytes) {
        switch true {
        case bytes.equals(EventKey.kind, key): kind = try word(bytes)
        case bytes.equals(EventKey.control, key):
          event.control = try integer(UInt16.self, bytes) ?? 0
        case bytes.equals(EventKey.ticket, key): event.ticket = try integer(UInt64.self, bytes) ?? 0
        case bytes.equals(EventKey.value, key): event.value = try number(bytes) ?? .nan
        // The record has microseconds, an event milliseconds.
        case bytes.equals(EventKey.wait, key): event.value = (try number(bytes) ?? .nan) / 1000
        case bytes.equals(EventKey.stage, key): stage = try string(bytes)
        case bytes.equals(EventKey.settings, key): settings = try texts(bytes)
        default: try skip(bytes)
        }
      }
      // At most `EventQueue.capacity` events are kept per record. The count starts at `first`, the
      // record's first event, because a record may contain the key `events` more than once.
      guard events.events.count - first < EventQueue.capacity else { continue }
      if let stage, let settings {
        events.add(ChangedSettings(stage: stage, values: settings))
      } else if let kind, kind != .settingsChanged {
        event.kind = kind
        events.add(event)
      }
    }
  }

  /// Reads an object of texts. The limits are those of settings, so that a damaged file takes little memory.
  private mutating func texts(
    _ bytes: Span<UInt8>
  ) throws(JSONScanner.Failure) -> [String: String] {
    var texts: [String: String] = [:]
    try begin("{", bytes)
    while let key = try nextKey(bytes) {
      guard texts.count < 64, key.count <= 256, let text = try string(bytes), text.utf8.count <= 256
      else { throw JSONScanner.Failure() }
      texts[self.text(key, bytes)] = text
    }
    return texts
  }
}
