import Glibc
import SprocketCore
import Synchronization
import TestExpectations

/// A source that stops in the middle of a call, until it is let go; or until it is asked to return.
///
/// Unchecked: the engine uses it on one thread at a time, and what tests look at is atomic.
final class FrailSource: Source, @unchecked Sendable {
  enum Call: Sendable {
    case next, take, discard, close
    /// Frames stop coming, each call of `next` returns in time.
    case silent
    case none
  }

  let call: Call
  /// The call that sleeps is the one for this frame.
  let frames: UInt64
  let isLive: Bool
  let heeds: Bool
  private var number: UInt64 = 0
  let isHeld = Atomic<Bool>(true)
  let isReached = Atomic<Bool>(false)
  let interrupts = Atomic<Int>(0)
  let closes = Atomic<Int>(0)
  /// Calls that came after the one that slept.
  let late = Atomic<Int>(0)

  init(_ call: Call, after frames: UInt64 = 10, isLive: Bool = false, heeds: Bool = false) {
    self.call = call
    self.frames = frames
    self.isLive = isLive
    self.heeds = heeds
  }

  func open() throws(RunError) -> SourceDescription {
    SourceDescription(
      name: "frail",
      format: FrameFormat(
        pixelFormat: .grey, width: 8, height: 4, color: .jpeg, rate: FrameRate(frames: 0)),
      isLive: isLive, clock: .monotonic, capacity: 32)
  }

  private func sleep(_ here: Call) {
    if isReached.load(ordering: .acquiring), !heeds { late.wrappingAdd(1, ordering: .relaxed) }
    guard call == here, number >= frames else { return }
    isReached.store(true, ordering: .releasing)
    while isHeld.load(ordering: .acquiring) {
      if heeds, interrupts.load(ordering: .acquiring) > 0 { return }
      usleep(1000)
    }
  }

  func next(timeout: Int64) throws(RunError) -> Arrival {
    sleep(.next)
    if heeds, interrupts.load(ordering: .acquiring) > 0 { return .end }
    if call == .silent, number >= frames {
      usleep(2000)
      return .nothing
    }
    if call == .close, number >= frames { return .end }
    return .frame(
      ArrivedFrame(
        sequence: number, captured: Timestamp(nanoseconds: Int64(number), clock: .monotonic)))
  }

  func take(into slot: inout CaptureSlot) {
    sleep(.take)
    number += 1
    var bytes = slot.bytes
    for index in 0..<32 { bytes[index] = UInt8(truncatingIfNeeded: number) }
    slot.filled(32)
  }

  func discard() {
    sleep(.discard)
    number += 1
  }

  func reclaim(_ lent: UnsafeMutableRawPointer) {}
  func interrupt() { interrupts.wrappingAdd(1, ordering: .releasing) }
  func close() {
    sleep(.close)
    closes.wrappingAdd(1, ordering: .relaxed)
  }

  /// Waits until the call sleeps.
  func waitUntilReached() { _ = waitUntil { isReached.load(ordering: .acquiring) } }
}
