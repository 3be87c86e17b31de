internal import SprocketCore
internal import Synchronization

/// What the run's thread knows of a job of the source that it waits for.
struct SourceWatch {
  /// When it is abandoned; `nil` while the run goes on.
  var deadline: Int64?
  /// How often it has been asked to return.
  var interrupts = 0

  /// Without a frame for so long, a live source is said to send none. Cameras take up to two seconds
  /// from their start to the first frame; a larger value says it later.
  static let patience: Int64 = 5_000_000_000
}

// How the run's thread waits for the source's.
extension Engine {
  /// Lets the source's thread do `job`. False when the source is abandoned.
  @discardableResult
  func onSource(_ pump: SourcePump, _ job: @escaping @Sendable () -> Void) -> Bool {
    guard !gate.isAbandoned else { return false }
    watch = SourceWatch()
    sourceThread.perform(job)
    return awaitSource(pump)
  }

  /// Waits for the job of the source's thread. False when the source is abandoned.
  func awaitSource(_ pump: SourcePump) -> Bool {
    while !gate.isAbandoned {
      if sourceThread.wait(until: monotonicNow() + Waiter.boundNanoseconds) { return true }
      watchSource(pump)
      guard let deadline = watch.deadline, monotonicNow() >= deadline, gate.abandon() else {
        continue
      }
      shared.fail(
        RunError(
          .failed,
          "the source `\(epoch.source.name)` did not return from a call; look at what it waits for")
      )
    }
    return false
  }

  /// Asks the source to return once the run is to end, and again once it is to end at once. From then
  /// on it has the time that draining may take, or that threads have after a flush.
  func watchSource(_ pump: SourcePump) {
    if shared.isFlushing, watch.interrupts < 2 {
      watch.interrupts = 2
      watch.deadline = monotonicNow() + EpochThreads.graceNanoseconds
      gate.interrupt()
    } else if shared.isStopping || isClosing || pump.isTimeOver, watch.interrupts < 1 {
      watch.interrupts = 1
      watch.deadline = deadline(
        EpochThreads.graceNanoseconds, after: deadline(in: options.drainLimit.nanosecondCount))
      gate.interrupt()
    }
    if waitsInVain {
      let start = startTime.load(ordering: .relaxed)
      guard monotonicNow() - start > SourceWatch.patience else { return }
      shared.notice.withLock {
        $0 = $0 ?? "\(epoch.source.name) has sent no frame yet; \(Self.advice)"
      }
    }
  }

  /// Fails a live run without a frame, unless the source said `.end`, or the user stopped it within
  /// `SourceWatch.patience`.
  func tellIfNothingCame(_ pump: SourcePump) {
    let waited = monotonicNow() - startTime.load(ordering: .relaxed)
    let isShort = waited < SourceWatch.patience
    let isTold = shared.isStopping && isShort
    guard waitsInVain, !pump.hasEnded, !isTold, shared.errors.withLock({ $0.isEmpty }) else {
      return
    }
    // Cameras take up to two seconds to their first frame.
    let mayBeSlow = pump.isTimeOver && isShort
    let advice = mayBeSlow ? "it may need longer to begin: give a longer --duration" : Self.advice
    shared.fail(RunError(.failed, "\(epoch.source.name) sent no frame; \(advice)"))
  }

  private static let advice = "check its cable, or choose another --format, --size or --rate"

  private var waitsInVain: Bool { epoch.source.isLive && shared.counters.produced.now == 0 }
}
