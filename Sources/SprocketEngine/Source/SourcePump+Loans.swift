internal import SprocketCore
internal import SprocketRing

/// What the source has lent to an epoch.
struct SlotLoans {
  /// The array has an element for each slot: the sequence number of the frame that uses the source's memory,
  /// or `nil`.
  var sequences: [UInt64?] = []
  var count = 0
}

/// What the source has lent.
///
/// Keeps of the ring's contract:
/// - R4: it goes back when all who read it have passed; at the latest when the position is reused, or the
///   epoch is over. If a sink blocks at the epoch's end, what it may read goes back when it has passed it.
extension SourcePump {
  func noteLoan(_ epoch: Epoch, slot: Int, sequence: UInt64) {
    guard unsafe epoch.memory.slots[slot].lent != nil else { return }
    loans.sequences[slot] = sequence
    loans.count += 1
  }

  func reclaim(_ slot: UnsafeMutablePointer<FrameStorage>, _ index: Int) -> Bool {
    unsafe reclaim(slot, index, of: &loans)
  }

  private func reclaim(
    _ slot: UnsafeMutablePointer<FrameStorage>, _ index: Int, of loans: inout SlotLoans
  ) -> Bool {
    guard let lent = unsafe slot.pointee.lent else { return true }
    guard unsafe source.reclaim(lent) else { return false }
    unsafe slot.pointee.lent = nil
    loans.sequences[index] = nil
    loans.count -= 1
    return true
  }

  /// Gives back what all its readers have passed: drivers have few buffers.
  func reclaimPassed(_ epoch: Epoch) -> Bool {
    guard reclaimPassed(epoch, &loans) else { return false }
    guard !lateLoans.isEmpty else { return true }
    for index in lateLoans.indices {
      guard reclaimPassed(lateLoans[index].epoch, &lateLoans[index].loans) else { return false }
    }
    lateLoans.removeAll { $0.loans.count == 0 }
    return true
  }

  private func reclaimPassed(_ epoch: Epoch, _ loans: inout SlotLoans) -> Bool {
    guard loans.count > 0 else { return true }
    let limit = epoch.loanReaders.passed(epoch.ring)
    for index in loans.sequences.indices {
      guard let sequence = loans.sequences[index], sequence < limit else { continue }
      guard unsafe reclaim(epoch.memory.slots + index, index, of: &loans) else { return false }
    }
    return true
  }

  /// The source's job when all other threads of an epoch are at their end: what is still lent goes back.
  /// `isRead`: sinks that block may read what they have not passed.
  func reclaimAll(_ epoch: Epoch, isRead: Bool) {
    code.during {
      guard !isRead else {
        if reclaimPassed(epoch), loans.count > 0 { lateLoans.append((epoch, loans)) }
        return
      }
      for index in loans.sequences.indices {
        guard unsafe reclaim(epoch.memory.slots + index, index) else { return }
      }
    }
  }
}
