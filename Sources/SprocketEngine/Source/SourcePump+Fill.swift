internal import SprocketCore
internal import SprocketRing

// Fills slots.
extension SourcePump {
  /// Writes a frame's record into its slot and takes the frame from the source. Returns false if the
  /// source's call to take lent memory back did not end in time.
  func fill(
    _ epoch: Epoch, slot index: Int, _ frame: ArrivedFrame, number: UInt64, isFirst: Bool
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
    record.inForce = frame.inForce
    record.driverFlags = frame.driverFlags
    record.wasLate = frame.wasLate
    record.dequeued = lastArrival ?? 0
    record.sealed = record.dequeued
    if let fate = frame.fate {
      record.chainFate = fate
      shared.mark(number, TapeEntry(fate))
    } else if !epoch.plan.hasProcessing {
      record.processed = record.dequeued
    }
    record.eventEnd = shared.events.end
    unsafe slot.pointee.records[.source] = record
    for sink in epoch.sinks { unsafe slot.pointee.packedCounts[sink.index] = 0 }
    for output in gates where !output.gate.isAdmitting {
      unsafe slot.pointee.packedCounts[output.place] = SinkWorker.unselected
    }
    if let settings = newSettings(slot: index) {
      unsafe slot.pointee.settings = .passUnretained(settings)
    }
    var capture = unsafe CaptureSlot(unsafeStorage: slot, format: epoch.source.format)
    return source.take(into: &capture)
  }
}
