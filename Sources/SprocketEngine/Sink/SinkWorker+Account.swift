internal import SprocketCore
internal import SprocketRing
internal import Synchronization

// Fates of frames that the sink does not get, and the stamps between them.
extension SinkWorker {
  /// Gives a fate to all numbers before `number` that did not reach this sink, and applies the stamps up to
  /// `number`.
  func account(upTo number: UInt64, epoch last: UInt32? = nil) {
    while let stamp = state.recordings?.pending, stamp.number <= number,
      stamp.epoch <= last ?? epoch.generation
    {
      apply(stamp)
    }
    accountAll(upTo: number)
  }

  private func apply(_ stamp: Stamp) {
    accountAll(upTo: stamp.number)
    let wasRecording = state.recordings?.isRecording ?? false
    state.recordings?.apply(stamp)
    // Events before its first frame do not belong to a recording.
    if !wasRecording { state.events.skip(epoch.shared.events, below: stamp.number) }
  }

  /// Applies stamps that need to wait for no frame, and parks the sink's thread if no frame is wanted.
  /// Called when there is no frame to take. Returns whether the tap is parked.
  func isParked(_ reader: inout Reader) -> Bool {
    guard !reader.isParked else { return true }
    guard let recordings = state.recordings else { return false }
    // Read before the stamps: a stamp that comes later prevents the parking.
    let asked = reader.askCount
    while let stamp = recordings.pending {
      // All frames below the position have their fate, and this sink has taken those it gets.
      let isReached = stamp.position <= min(reader.nextPosition, reader.upstreamLimit)
      guard stamp.epoch < epoch.generation || stamp.epoch == epoch.generation && isReached else {
        if stamp.epoch == epoch.generation { recordings.endEarly(limit: drainLimit) }
        return false
      }
      apply(stamp)
    }
    return recordings.isIdle && reader.park(since: asked)
  }

  private func accountAll(upTo number: UInt64) {
    while state.nextNumber < number {
      let next = state.nextNumber
      if let value = epoch.shared.tape.value(of: next) {
        state.nextNumber = next + 1
        let entry = TapeEntry(value: value)
        lose(
          next, entry?.fate(atSource: place.tapsSource) ?? absentFate(next),
          sourceFate: place.tapsSource ? entry?.sourceFate : nil)
      } else {
        accountFallen(upTo: number)
      }
    }
  }

  /// The fate of a frame that this sink did not see in time.
  private func absentFate(_ number: UInt64) -> Fate {
    if let fate = state.lossAfterFailure { return fate }
    if state.hasRested { return .unselected }
    if let recordings = state.recordings {
      if number < recordings.flushedEnd { return .flushed }
      if !recordings.isAdmitting { return .unselected }
    }
    if epoch.isFlushing { return .flushed }
    return place.setup?.takesLatest == true ? .skipped : .behind
  }

  /// Accounts for numbers that the tape no longer holds. The tape's totals tell how many of them
  /// had each fate, but not which ones.
  private func accountFallen(upTo number: UInt64) {
    guard let fallen = epoch.shared.tape.snapshotFallen() else { return }
    let end = min(fallen.end, number)
    guard end > state.nextNumber else { return }
    var unknown = end - state.nextNumber
    var totals = FateCounts()
    for value in fallen.totals.indices {
      let fate = TapeEntry(value: UInt8(value))?.fate(atSource: place.tapsSource)
      if let fate { totals[fate] += state.decided(value, of: fallen.totals[value]) }
    }
    for fate in Fate.allCases where totals[fate] > 0 {
      let total = totals[fate]
      let known = state.counts[fate]
      let mine = min(total > known ? total - known : 0, unknown)
      unknown -= mine
      loseNext(mine, fate)
    }
    loseNext(unknown, absentFate(state.nextNumber))
  }

  private func loseNext(_ count: UInt64, _ fate: Fate) {
    if state.hasRested || state.isOnDemand && state.recordings?.keepsNothing ?? false {
      // An idle sink may have missed a great many: they are counted in one step.
      state.counts[fate] += count
      state.nextNumber += count
      return
    }
    for _ in 0..<count { loseNext(fate) }
  }

  private func loseNext(_ fate: Fate) {
    let number = state.nextNumber
    state.nextNumber = number + 1
    lose(number, fate)
  }

  /// Accounts for a frame that never was in a slot that this sink could read.
  func lose(_ number: UInt64, _ fate: Fate, sourceFate: Fate? = nil) {
    state.counts[fate] += 1
    var lost = LostFrame(
      number: number, sequence: epoch.sequence(of: number), epoch: epoch.index, fate: fate,
      sourceFate: sourceFate)
    guard isTold(lost) else { return }
    receiveEvents(upTo: number)
    // Not if it is empty: the assignment would share the memory of `received`, and the next frame
    // would copy it.
    if !state.events.received.isEmpty { lost.events = state.events.received }
    do throws(RunError) {
      try state.sink.account(lost)
    } catch {
      fail(error)
    }
  }

  /// Accounts for a frame that is in a slot and can be read, but is not to be delivered.
  func lose(
    _ slot: UnsafeMutablePointer<FrameStorage>, _ record: FrameRecord, _ fate: Fate
  ) {
    state.counts[fate] += 1
    var lost = LostFrame(
      number: record.number, sequence: record.sequence, epoch: epoch.index, fate: fate)
    guard isTold(lost) else { return }
    receiveEvents(upTo: record.number)
    if !state.events.received.isEmpty { lost.events = state.events.received }
    do throws(RunError) {
      try unsafe state.sink.account(lost, frame: view(of: slot, now: monotonicNow()))
    } catch {
      fail(error)
    }
  }

  /// Whether the sink is told of a frame that it does not get; counts the frame for the recording under
  /// way.
  private func isTold(_ lost: LostFrame) -> Bool {
    guard let recordings = state.recordings else { return !state.hasFailed && !state.hasRested }
    return recordings.noteLost(lost)
  }
}
