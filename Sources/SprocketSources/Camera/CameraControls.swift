internal import SprocketCore
internal import SprocketV4L2

/// The controls of a camera: what was written and what came of it, and what is in force for each frame.
/// Does no I/O.
///
/// A write or a change of its own that the driver tells of holds for the frames that were captured after
/// it: the first frame that *can* show it. How many frames the camera itself takes until it does show is
/// not told by any driver.
///
/// What is in force is known without asking at each frame: it is read at the start and after each write,
/// and the driver tells of changes (`V4L2_EVENT_CTRL`). A value that the hardware changes by itself, or
/// that another control has taken over (automatic exposure), is not known: NaN.
struct CameraControls {
  /// A change that has been made and that no frame has shown so far.
  private struct Change {
    /// CLOCK_MONOTONIC, in nanoseconds.
    let time: Int64
    let control: UInt32
    /// `nil` where it was refused.
    let value: Int64?
    let flags: UInt32?
    /// `nil` for changes of flags alone.
    let event: Event?
  }

  /// A control that each frame tells of.
  private struct Watched {
    let control: V4L2Control
    let unit: ControlUnit?
    var value: Int64?
    var flags: UInt32

    /// Value in the control's unit; NaN if it is unknown.
    var known: Float {
      guard let unit, let value, V4L2Control.staysAsWritten(flags) else { return .nan }
      return Float(unit.value(of: Double(value)))
    }
  }

  /// Changes that no frame has shown so far; of more, the oldest show at once.
  static let capacity = EventQueue.capacity

  /// What the driver last said of a control.
  private struct State {
    var value: Int64?
    var flags: UInt32
    /// When it was so, on CLOCK_MONOTONIC in nanoseconds.
    var time: Int64 = 0

    /// The value, if neither the hardware nor another control changes it.
    var known: Int64? { V4L2Control.staysAsWritten(flags) ? value : nil }
  }

  /// All that the camera has.
  let all: [V4L2Control]
  /// What may be written; the index is the port's.
  let writable: [V4L2Control]
  /// As `writable`.
  private var states: [State]
  let port: ControlPort
  private var exposure: Watched?
  private var gain: Watched?
  private var lens: Watched?
  private var changes: [Change] = []
  /// What belongs to the frame that comes next.
  var ready = EventQueue()
  private(set) var inForce = ControlState()
  /// Writes that the driver did not take.
  private(set) var refusedWrites: UInt64 = 0
  /// What was written and taken, in the order of the last writes: by the control's name, for a camera that
  /// was unplugged may come back with others.
  private(set) var written: [(name: String, value: Int64)] = []

  init(_ controls: [V4L2Control]) {
    all = controls
    writable = controls.filter(\.isSettable)
    states = writable.map { State(value: nil, flags: $0.flags) }
    port = ControlPort(controls: writable.map { ControlDescription($0) })
    func watched(_ role: ControlUnit.Role, _ ids: UInt32...) -> Watched? {
      ids.lazy.compactMap { id in controls.first { $0.id == id } }.first.map { control in
        let unit = ControlUnit(role, of: ControlDescription(control))
        return Watched(control: control, unit: unit, value: nil, flags: control.flags)
      }
    }
    exposure = watched(.exposure, V4L2Control.exposureAbsolute)
    gain = watched(.gain, V4L2Control.gain, V4L2Control.analogueGain)
    lens = watched(.lens, V4L2Control.focusAbsolute)
    changes.reserveCapacity(Self.capacity)
  }

  /// A write that was asked for while the camera was unplugged.
  struct LateWrite {
    let ticket: UInt64
    let name: String
    let value: Double
  }

  /// The same camera's after it was plugged in again, and what has to be written again: what was written
  /// before, and what was asked for meanwhile (`late`), which `answer` has to complete.
  mutating func again(
    _ controls: [V4L2Control]
  ) -> (controls: CameraControls, writes: [(V4L2Control, Int64)], late: [LateWrite]) {
    var late: [LateWrite] = []
    var batch: [ControlPort.Write] = []
    while port.take(batch: &batch) {
      for write in batch {
        let name = port.controls[Int(write.control)].name
        late.append(LateWrite(ticket: write.ticket, name: name, value: write.value))
        written.removeAll { $0.name == name }
        written.append((name, Int64(nearest: write.value)))
      }
    }
    for change in changes { if let event = change.event { ready.add(event) } }
    var again = CameraControls(controls)
    again.port.goOn(after: port)
    again.refusedWrites = refusedWrites
    again.written = written
    again.ready = ready
    let writes = written.compactMap { name, value in
      again.writable.first { $0.name == name && $0.kind != .button }.map { ($0, value) }
    }
    return (again, writes, late)
  }

  /// Completes writes that were asked for while the camera was unplugged. `made` is what the driver made of
  /// a control, `nil` if it refused it, or was not asked.
  mutating func answer(_ late: [LateWrite], by title: String, made: (V4L2Control) -> Int64?) {
    for write in late {
      let index = writable.firstIndex { $0.name == write.name }
      let value = index.flatMap { made(writable[$0]) }
      if value == nil {
        refusedWrites += 1
        port.explain(
          write.ticket,
          refusedBecause: index == nil
            ? "\(title) has come back without \(write.name)"
            : "\(title) did not take \(write.name) when it came back; write it again")
      }
      ready.add(
        Event(
          kind: value == nil ? .controlRefused : .controlApplied,
          control: UInt16(index ?? 0), ticket: write.ticket,
          value: value.map { Double($0) } ?? write.value))
    }
  }

  /// The controls whose values are followed: those that can be written, and those that frames tell of.
  var followed: [V4L2Control] { writable + watched.filter(\.isReadOnly) }

  /// The controls that frames tell of.
  var watched: [V4L2Control] { [exposure, gain, lens].compactMap { $0?.control } }

  /// A value as it was read at the start, at `time`: what the driver tells of earlier changes is no news.
  mutating func begin(_ control: V4L2Control, value: Int64?, flags: UInt32, at time: Int64 = 0) {
    note(control.id, value: value, flags: flags, at: time)
    set(control.id, value: value, flags: flags)
  }

  /// A value of a profile was written before the first frame.
  mutating func restored(
    _ control: V4L2Control, value: Int64, flags: UInt32, at time: Int64
  ) {
    begin(control, value: value, flags: flags, at: time)
    written.removeAll { $0.name == control.name }
    written.append((control.name, value))
  }

  /// The value that a control has now, if neither the hardware nor another control changes it.
  func known(_ index: Int) -> Int64? { states[index].known }
  func flags(_ index: Int) -> UInt32 { states[index].flags }

  /// Remembers what the driver said of a control; not if something later is known already.
  private mutating func note(_ id: UInt32, value: Int64?, flags: UInt32?, at time: Int64) {
    guard let index = writable.firstIndex(where: { $0.id == id }), time >= states[index].time
    else { return }
    if let value { states[index].value = value }
    if let flags { states[index].flags = flags }
    states[index].time = time
  }

  /// A write was made at `time`; `result` is what the driver made of it, `nil` if it refused.
  mutating func wrote(_ write: ControlPort.Write, result: Int64?, flags: UInt32?, at time: Int64) {
    if let result {
      let name = port.controls[Int(write.control)].name
      written.removeAll { $0.name == name }
      written.append((name, result))
    } else {
      refusedWrites += 1
    }
    let id = writable[Int(write.control)].id
    note(id, value: result, flags: flags, at: time)
    let event = Event(
      kind: result == nil ? .controlRefused : .controlApplied, control: write.control,
      ticket: write.ticket, value: result.map { Double($0) } ?? write.value)
    add(Change(time: time, control: id, value: result, flags: flags, event: event))
  }

  /// The driver tells of a change that another program made, or the device itself. The event of a changed
  /// value is told of unless it is the one that is known already.
  mutating func changed(_ change: V4L2ControlChange) {
    let index = writable.firstIndex { $0.id == change.id }
    let isNew =
      change.isValue
      && index.map {
        states[$0].value != change.value && states[$0].time <= change.nanoseconds
      } ?? false
    note(
      change.id, value: change.value, flags: change.flags, at: change.nanoseconds)
    let event = index.map {
      Event(kind: .controlChanged, control: UInt16($0), value: Double(change.value))
    }
    add(
      Change(
        time: change.nanoseconds, control: change.id, value: change.value, flags: change.flags,
        event: isNew ? event : nil))
  }

  /// In order of time: what the driver tells of may have happened before a write that is known already,
  /// as the gain that automatic gain had chosen when it was switched off.
  private mutating func add(_ change: Change) {
    if changes.count == Self.capacity { apply(changes.removeFirst()) }
    let place = changes.lastIndex { $0.time <= change.time }.map { $0 + 1 } ?? 0
    changes.insert(change, at: place)
  }

  /// Puts into force what was changed before a frame that was captured at `time`.
  mutating func advance(to time: Int64) {
    while let first = changes.first, first.time < time { apply(changes.removeFirst()) }
  }

  private mutating func apply(_ change: Change) {
    if let event = change.event { ready.add(event) }
    set(change.control, value: change.value, flags: change.flags)
  }

  private mutating func set(_ id: UInt32, value: Int64?, flags: UInt32?) {
    func update(_ watched: inout Watched?) {
      guard watched?.control.id == id else { return }
      if let value { watched?.value = value }
      if let flags { watched?.flags = flags }
    }
    update(&exposure)
    update(&gain)
    update(&lens)
    if let index = writable.firstIndex(where: { $0.id == id }) {
      port.report(states[index].known.map { Double($0) } ?? .nan, of: UInt16(index))
    }
    inForce.exposureMicroseconds = exposure?.known ?? .nan
    inForce.gain = gain?.known ?? .nan
    inForce.lensPosition = lens?.known ?? .nan
  }
}

extension ControlDescription {
  init(_ control: V4L2Control) {
    let kind: Kind =
      switch control.kind {
      case .integer, .bitmask: .number
      case .boolean: .boolean
      case .button: .button
      case .menu(let items):
        .menu(
          items.map { ControlChoice(value: Double($0.index), name: V4L2Control.name(of: $0.text)) })
      case .text: .text
      case .array: .array
      }
    let isStepped = control.kind == .integer
    self.init(
      name: control.name, unit: control.id == V4L2Control.exposureAbsolute ? "100 us" : "",
      minimum: Double(control.minimum), maximum: Double(control.maximum), kind: kind,
      step: isStepped ? Double(control.step) : 1,
      defaultValue: control.isNumber && control.kind != .button
        ? Double(control.defaultValue) : nil)
  }
}
