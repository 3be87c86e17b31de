internal import SprocketCore
internal import Synchronization

/// State of the run's thread while it waits for a job of the source's thread.
struct SourceWatch {
  /// When it is abandoned; `nil` while the run goes on.
  var deadline: Int64?
  /// How often it has been asked to return.
  var interrupts = 0

  /// Nanoseconds without a frame after which a live source is reported to send none. Cameras take
  /// up to two seconds from their start to the first frame; a larger value delays the report.
  static let patience: Int64 = 5_000_000_000
}

// How the run's thread waits for the source's thread.
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

  /// Interrupts the source when the run is to end, and again when it is flushed. Each time it sets
  /// the deadline for the source's return: after the drain limit and a grace time, or after the
  /// grace time alone.
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
    if let end = openingEnd, watch.interrupts < 1, monotonicNow() >= end {
      watch.interrupts = 1
      watch.deadline = monotonicNow() + EpochThreads.graceNanoseconds
      gate.interrupt()
    }
    if collectLeft() { publishEpoch() }
    if waitsInVain {
      let start = startTime.load(ordering: .relaxed)
      guard monotonicNow() - start > SourceWatch.patience else { return }
      shared.notice.withLock {
        $0 = $0 ?? "\(epoch.source.name) has sent no frame yet; \(Self.advice)"
      }
    }
  }

  /// Fails a live run that got no frame, unless the source returned `.end`, or the user stopped the
  /// run within `SourceWatch.patience`.
  func tellIfNothingCame(_ pump: SourcePump) {
    let waited = monotonicNow() - startTime.load(ordering: .relaxed)
    let isShort = waited < SourceWatch.patience
    let isTold = shared.isStopping && isShort
    guard waitsInVain, !pump.hasEnded, !isTold, !shared.hasFailed else {
      return
    }
    // Cameras take up to two seconds to their first frame.
    let mayBeSlow = pump.isTimeOver && isShort
    let advice = mayBeSlow ? "it may need longer to begin: give a longer duration" : Self.advice
    shared.fail(
      RunError(
        .failed, "\(epoch.source.name) sent no frame; \(advice)",
        mayBeSlow ? [.duration] : [.format, .size, .rate]))
  }

  private static let advice = "check its cable, or choose another format, size or rate"

  private var waitsInVain: Bool {
    epoch.source.isLive && epoch.source.frameCount != 0 && shared.counters.produced.now == 0
  }
}
