internal import SprocketCore
internal import Synchronization

/// The source's jobs between two epochs and at the end of the run.
///
/// Keeps of the ring's contract:
/// - R9: what a live source delivers while an epoch drains is `overrun`, of the epoch to come.
extension SourcePump {
  /// What a live device delivers while an epoch drains is `overrun`, of the epoch to come. Anything else
  /// that happens is `held`; a failure shows again when the epoch runs.
  private func discardWhileDraining() {
    while isDraining.load(ordering: .acquiring), held == nil, !isLimitReached {
      let arrival: Arrival?
      do throws(RunError) {
        arrival = try source.next(timeout: 2_000_000)
      } catch {
        return
      }
      guard let arrival else { return }
      switch arrival {
      case .nothing: break
      case .frame(let frame):
        guard let isCounted = overrun(frame) else { return }
        if !isCounted { held = arrival }
      case .end, .epoch: held = arrival
      }
    }
  }

  /// The source's job at an epoch's end. Holds or gives back the frame whose number jumped. If
  /// another epoch follows, discards what a live source delivers while this one drains.
  func leave(_ epoch: Epoch, goesOn: Bool) {
    code.during {
      let isLive = epoch.source.isLive
      if case .jump(let frame) = outcome {
        if goesOn, !isLive {
          held = .frame(frame)
        } else {
          guard goesOn ? overrun(frame) != nil : source.discard() else { return }
        }
      }
      if goesOn, isLive { discardWhileDraining() }
    }
  }

  /// The source's job while an epoch ends for a change of the run's shape. Takes no frame: the driver's
  /// queue keeps them. Returns what was lent, so that the driver does not run out of buffers.
  ///
  /// Keeps A19 of the contract of requests.
  func hold(_ epoch: Epoch) {
    code.during {
      while isDraining.load(ordering: .acquiring) {
        guard reclaimPassed(epoch) else { return }
        sleep(until: monotonicNow() + Self.holdInterval)
      }
    }
  }

  /// Nanoseconds between two checks for loans that can be returned. Larger: fewer wake-ups; drivers get
  /// their buffers back later.
  private static let holdInterval: Int64 = 1_000_000

  /// Gives an announced frame back: there is no room for it. False when it begins an epoch, `nil` when
  /// the source did not come back.
  private func overrun(_ frame: ArrivedFrame) -> Bool? {
    let first = nextNumber
    guard let number = admit(frame) else { return false }
    let isWithinLimit = number < options.frameLimit ?? .max
    if isWithinLimit {
      stampHeld(at: number, from: first, frame)
      taking = number
      guard takeEvents(of: number) else { return nil }
      shared.mark(number, TapeEntry(frame.fate ?? .overrun, foundRoom: false))
      taking = nil
    }
    return source.discard() ? true : nil
  }

  /// Gives back a frame that is held, and closes the source: the last job.
  func close(isReplaced: Bool = false) {
    code.during {
      if case .frame = held { guard source.discard() else { return } }
      held = nil
      do throws(RunError) {
        try source.close()
      } catch {
        if isReplaced { shared.note(error.description) } else { shared.fail(error) }
      }
    }
  }
}
