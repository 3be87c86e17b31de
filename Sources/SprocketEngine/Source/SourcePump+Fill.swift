internal import SprocketCore
internal import SprocketRing

// Fills slots, and gives frames back for which there is none.
extension SourcePump {
  /// Writes a frame's record into its slot and takes the frame from the source; one that is not whole becomes
  /// corrupt. Returns false if a call of the source did not end in time.
  func fill(
    _ epoch: Epoch, slot index: Int, _ frame: inout ArrivedFrame, number: UInt64, isFirst: Bool
  ) -> Bool {
    let slot = unsafe epoch.memory.slots + index
    guard unsafe reclaim(slot, index) else { return false }
    var record = FrameRecord()
    record.number = number
    record.sequence = frame.sequence
    record.epoch = epoch.index
    record.isDiscontinuity = isFirst
    record.captured = frame.captured
    // Anyone's source may give any time.
    lastGap =
      lastCaptured.map { frame.captured.nanoseconds.clampedSum(-max($0.nanoseconds, -.max)) } ?? 0
    lastCaptured = frame.captured
    for sound in sounds { sound.advance(to: frame.captured.nanoseconds) }
    record.capturePoint = frame.capturePoint
    record.isKey = frame.isKey
    record.inForce = frame.inForce
    record.driverFlags = frame.driverFlags
    record.wasLate = frame.wasLate
    record.dequeued = lastArrival ?? 0
    record.sealed = record.dequeued
    record.eventEnd = shared.events.end
    unsafe slot.pointee.records[.source] = record
    for sink in epoch.sinks { unsafe slot.pointee.packedCounts[sink.index] = 0 }
    for output in gates where !output.gate.isAdmitting {
      unsafe slot.pointee.packedCounts[output.place] = SinkWorker.unselected
    }
    if let settings = newSettings(slot: index) {
      unsafe slot.pointee.settings = .passUnretained(settings)
    }
    // A source may take a frame without saying that it filled anything.
    unsafe slot.pointee.clearSource()
    var capture = unsafe CaptureSlot(unsafeStorage: slot, format: epoch.source.format)
    guard source.take(into: &capture) else { return false }
    // A packet before the first key frame has no picture, and nobody is to use it.
    let isPacketAlone = unsafe frame.isStartup && slot.pointee.packetCount > 0
    if unsafe !isPacketAlone && !slot.pointee.holdsFrame(of: epoch.source.format) {
      frame.isCorrupt = true
    }
    if let fate = frame.fate {
      unsafe slot.pointee.records[.source].chainFate = fate
      shared.mark(number, TapeEntry(fate))
    } else if !epoch.plan.hasProcessing {
      unsafe slot.pointee.records[.source].processed = record.dequeued
    }
    return true
  }

  /// Returns a frame without room to the source. Returns false if the source's call did not end in time.
  func leaveOut(_ epoch: Epoch, _ frame: ArrivedFrame, _ number: UInt64) -> Bool {
    let fate = frame.fate ?? .overrun
    if frame.fate == nil { epoch.noteBusy() }
    shared.mark(number, TapeEntry(fate, foundRoom: false))
    taking = nil
    guard source.discard() else { return false }
    tracer.add(.discard, frame: number, fate: fate)
    return true
  }
}

extension Epoch {
  /// Counts a frame that found no room for the step that works on the oldest frame: all others wait for it.
  fileprivate func noteBusy() {
    var oldest: (frame: UInt64, code: RunningCode)?
    for code in codes {
      guard let frame = code.frame, frame < oldest?.frame ?? .max else { continue }
      oldest = (frame, code)
    }
    guard let name = oldest?.code.name else { return }
    shared.busy.withLock { $0[name, default: 0] += 1 }
  }
}
