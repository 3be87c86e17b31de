internal import SprocketCore
internal import SprocketRing

/// What the source has lent.
///
/// Keeps of the ring's contract:
/// - R4: it goes back when all who read it have passed; at the latest when the position is reused, or the
///   epoch is over.
extension SourcePump {
  func noteLoan(_ epoch: Epoch, slot: Int, sequence: UInt64) {
    guard unsafe epoch.memory.slots[slot].lent != nil else { return }
    lentSequences[slot] = sequence
    lentCount += 1
  }

  func reclaim(_ slot: UnsafeMutablePointer<FrameStorage>, _ index: Int) -> Bool {
    guard let lent = unsafe slot.pointee.lent else { return true }
    guard unsafe source.reclaim(lent) else { return false }
    unsafe slot.pointee.lent = nil
    lentSequences[index] = nil
    lentCount -= 1
    return true
  }

  /// Gives back what all its readers have passed: drivers have few buffers.
  func reclaimPassed(_ epoch: Epoch) -> Bool {
    guard lentCount > 0 else { return true }
    let limit = epoch.loanReaders.passed(epoch.ring)
    for index in lentSequences.indices {
      guard let sequence = lentSequences[index], sequence < limit else { continue }
      guard unsafe reclaim(epoch.memory.slots + index, index) else { return false }
    }
    return true
  }

  /// The source's job when all other threads of an epoch are at their end: what is still lent goes back.
  func reclaimAll(_ epoch: Epoch) {
    code.during {
      for index in lentSequences.indices {
        guard unsafe reclaim(epoch.memory.slots + index, index) else { return }
      }
    }
  }
}
