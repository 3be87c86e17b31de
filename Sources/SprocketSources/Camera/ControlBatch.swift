internal import SprocketCore
internal import SprocketV4L2

/// What writes controls: a device, or a test's.
protocol ControlDriver: ~Copyable {
  mutating func set(_ writes: inout [V4L2ControlWrite], _ range: Range<Int>) throws(V4L2BatchError)
  mutating func set(_ control: V4L2Control, to value: Int64) throws(V4L2Error) -> Int64
  func refusal(
    of writes: [V4L2ControlWrite], _ range: Range<Int>
  ) -> (index: Int, error: V4L2Error)?
  func flags(of id: UInt32) -> UInt32?
}

extension V4L2Device: ControlDriver {}

/// Controls that are written as one, all or none.
///
/// They are one call of the driver (`VIDIOC_S_EXT_CTRLS`), which checks all before it writes any. If the
/// batch has an automatic control and others that it decides over, they are up to three calls: automatics
/// that are switched off, then all others, then automatics that are switched on. uvcvideo sends the
/// controls of one call to the camera in the order of their numbers in the unit, where white balance comes
/// before its automatic, and a camera refuses what its automatic decides over. The driver is then first
/// asked whether it would take all (`VIDIOC_TRY_EXT_CTRLS`).
///
/// When a driver refuses after it wrote some, these are written back, the last call first.
///
/// Allocates nothing after `init` if all goes well.
struct ControlBatch {
  /// Why a batch was refused.
  struct Refusal: Error {
    /// Place of the refused control in the batch, as it was added; `nil` if the driver does not say which.
    let place: Int?
    let error: V4L2Error
    /// The control's flags, or 0.
    let flags: UInt32
    /// Places of controls that may have been written, and could not be written back.
    let left: [Int]
  }

  private struct Detail {
    var place: Int
    /// The value from before; `nil` if it is not known, or was not the user's.
    var before: Int64?
    var step = 1
    var isRefused = false
  }

  private var writes: [V4L2ControlWrite] = []
  /// As `writes`.
  private var details: [Detail] = []
  /// Controls that were left out because another decides over them.
  private(set) var inactive: [V4L2Control] = []

  init() {
    writes.reserveCapacity(ControlPort.capacity)
    details.reserveCapacity(ControlPort.capacity)
  }

  var count: Int { writes.count }
  var isEmpty: Bool { writes.isEmpty }

  mutating func removeAll() {
    writes.removeAll(keepingCapacity: true)
    details.removeAll(keepingCapacity: true)
    inactive.removeAll(keepingCapacity: true)
  }

  mutating func add(_ control: V4L2Control, _ value: Int64, before: Int64?) {
    details.append(Detail(place: writes.count, before: before))
    writes.append(V4L2ControlWrite(control, value))
  }

  /// What the driver made of the control that was added at that place; `nil` if it was left out, or was
  /// refused by `performEach`.
  func result(at place: Int) -> Int64? {
    details.firstIndex { $0.place == place && !$0.isRefused }.map { writes[$0].value }
  }

  /// Writes them. With `leavingInactive`, controls that another one decides over, after automatics were
  /// switched off, are left out.
  mutating func perform<Driver: ControlDriver & ~Copyable>(
    on driver: inout Driver, leavingInactive: Bool = false
  ) throws(Refusal) {
    sort(mustSplit: leavingInactive)
    if steps(0) != 0..<writes.count, steps(1) != 0..<writes.count, steps(2) != 0..<writes.count,
      let found = driver.refusal(of: writes, 0..<writes.count)
    {
      throw refusal(V4L2BatchError(found.error, index: found.index), 0..<writes.count, &driver, [])
    }
    for step in 0..<3 {
      if step == 1, leavingInactive { leaveOut(&driver) }
      let range = steps(step)
      guard !range.isEmpty else { continue }
      do throws(V4L2BatchError) {
        try driver.set(&writes, range)
      } catch {
        // Asked before anything is undone, while the driver is as it was when it refused.
        let found = refusal(error, range, &driver, [])
        let written = error.mayHaveWritten ? range.upperBound : range.lowerBound
        let left = undo(written, failed: error.index, &driver)
        throw Refusal(place: found.place, error: found.error, flags: found.flags, left: left)
      }
    }
  }

  /// Writes each in a call of its own, automatics that are switched off first. What is refused stays as it
  /// is, and has no result.
  mutating func performEach<Driver: ControlDriver & ~Copyable>(on driver: inout Driver) {
    sort(mustSplit: true)
    for index in writes.indices {
      guard let made = try? driver.set(writes[index].control, to: writes[index].value) else {
        details[index].isRefused = true
        continue
      }
      writes[index].value = made
    }
  }

  /// Entries of a step.
  private func steps(_ step: Int) -> Range<Int> {
    let start = details.firstIndex { $0.step >= step } ?? details.count
    let end = details.firstIndex { $0.step > step } ?? details.count
    return start..<end
  }

  /// Puts entries into the order of their steps; within a step they stay as they are.
  private mutating func sort(mustSplit: Bool) {
    for index in writes.indices {
      let write = writes[index]
      let subordinates = write.control.subordinates
      let decides =
        !subordinates.isEmpty
        && (mustSplit || writes.contains { subordinates.contains($0.control.id) })
      details[index].step = !decides ? 1 : write.control.leavesToUser(write.value) ? 0 : 2
    }
    for end in writes.indices {
      var index = end
      while index > 0, details[index - 1].step > details[index].step {
        details.swapAt(index - 1, index)
        writes.swapAt(index - 1, index)
        index -= 1
      }
    }
  }

  private mutating func leaveOut<Driver: ControlDriver & ~Copyable>(_ driver: inout Driver) {
    for index in steps(1).reversed() {
      let control = writes[index].control
      guard V4L2Control.isInactive(driver.flags(of: control.id) ?? control.flags) else { continue }
      inactive.append(control)
      writes.remove(at: index)
      details.remove(at: index)
    }
  }

  /// The control that a driver refused: the one that it names, else the one that it names when it is asked,
  /// else the first that cannot be written now.
  private func refusal<Driver: ControlDriver & ~Copyable>(
    _ failed: V4L2BatchError, _ range: Range<Int>, _ driver: inout Driver, _ left: [Int]
  ) -> Refusal {
    var index = failed.index ?? (range.count == 1 ? range.lowerBound : nil)
    var error = failed.error
    if index == nil, let found = driver.refusal(of: writes, range) {
      (index, error) = (found.index, found.error)
    }
    if index == nil {
      index = range.first { place in
        let flags = driver.flags(of: writes[place].control.id) ?? writes[place].control.flags
        return V4L2Control.isGrabbed(flags) || V4L2Control.isReadOnly(flags)
          || error.code == .notPermitted && V4L2Control.isInactive(flags)
      }
    }
    return Refusal(
      place: index.map { details[$0].place }, error: error,
      flags: index.flatMap { driver.flags(of: writes[$0].control.id) } ?? 0, left: left)
  }

  /// Writes the values from before for the first `count` entries, the last first, each in a call of its own
  /// so that one that fails bars no other. Returns the places of those that could not be written back.
  private func undo<Driver: ControlDriver & ~Copyable>(
    _ count: Int, failed: Int?, _ driver: inout Driver
  ) -> [Int] {
    var left: [Int] = []
    for index in (0..<count).reversed() where index != failed {
      guard writes[index].control.kind != .button, let before = details[index].before,
        (try? driver.set(writes[index].control, to: before)) != nil
      else {
        // An automatic that is switched on again decides over its subordinates as before.
        let id = writes[index].control.id
        let isDecided = steps(0).contains { writes[$0].control.subordinates.contains(id) }
        if details[index].before != nil || !isDecided { left.append(details[index].place) }
        continue
      }
    }
    return left
  }
}
