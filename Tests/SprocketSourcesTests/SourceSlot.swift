import SprocketCore

@testable import SprocketScene

/// The memory of one slot, for a source to fill.
@safe
final class SourceSlot {
  private let storage: UnsafeMutablePointer<FrameStorage>
  private let records = UnsafeMutablePointer<FrameRecord>.allocate(capacity: 1)
  private let versions = UnsafeMutablePointer<VersionStorage>.allocate(capacity: 1)
  private let reports = UnsafeMutableRawPointer.allocate(byteCount: 16, alignment: 16)
  private let packed = UnsafeMutableRawPointer.allocate(byteCount: 16, alignment: 16)
  private let counts = UnsafeMutablePointer<Int>.allocate(capacity: 1)
  private let entered = UnsafeMutablePointer<Int64>.allocate(capacity: 1)
  private let memory: UnsafeMutableRawPointer
  /// What happened up to the frame that was taken.
  private(set) var queue = EventQueue()

  init(capacity: Int) {
    unsafe records.initialize(to: FrameRecord())
    unsafe versions.initialize(to: VersionStorage())
    unsafe memory = .allocate(byteCount: max(capacity, 1), alignment: 64)
    unsafe storage = .allocate(capacity: 1)
    unsafe storage.initialize(
      to: FrameStorage(
        records: records, versions: versions, reports: reports, packed: packed,
        packedCounts: counts, entered: entered))
    unsafe storage.pointee.sourceMemory = unsafe memory
    unsafe storage.pointee.sourceCapacity = capacity
  }

  deinit {
    unsafe records.deallocate()
    unsafe versions.deallocate()
    unsafe reports.deallocate()
    unsafe packed.deallocate()
    unsafe counts.deallocate()
    unsafe entered.deallocate()
    unsafe memory.deallocate()
    unsafe storage.deallocate()
  }

  /// Lets the source fill it.
  func take(from source: any Source, _ format: FrameFormat) {
    queue.removeAll()
    source.takeEvents(into: &queue)
    fill(format) { source.take(into: &$0) }
  }

  /// Empties it and lets `body` fill it.
  func fill(
    _ format: FrameFormat = FrameFormat(
      pixelFormat: .grey, width: 1, height: 1, color: .video, rate: .unknown),
    _ body: (inout CaptureSlot) -> Void
  ) {
    var slot = unsafe CaptureSlot(unsafeStorage: storage, format: format)
    body(&slot)
  }

  var byteCount: Int { unsafe records.pointee.byteCount }

  var bytes: [UInt8] {
    let start = unsafe memory.assumingMemoryBound(to: UInt8.self)
    return unsafe Array(UnsafeBufferPointer(start: start, count: byteCount))
  }

  var events: [Event] { queue.events }
}

/// A frame as it came out of a source.
struct TakenFrame: Equatable {
  var sequence: UInt64
  var captured: Timestamp
  var isCorrupt: Bool
  var isStartup: Bool
  var inForce: ControlState
  var bytes: [UInt8]
  var events: [Event]
  var epoch: Int
}

/// Takes `count` frames from a scene.
func frames(
  _ settings: SceneSettings, count: Int,
  before: (SceneSource, Int) -> Void = { _, _ in }
) throws -> (taken: [TakenFrame], record: SceneRecord) {
  let source = try SceneSource(settings)
  var description = try source.open()
  defer { try? source.close() }
  var slot = SourceSlot(capacity: description.capacity)
  var taken: [TakenFrame] = []
  var epoch = 0
  while taken.count < count {
    before(source, taken.count)
    switch try source.next(timeout: 20_000_000) {
    case .nothing: continue
    case .end: return (taken, source.record)
    case .epoch(let new, _):
      epoch += 1
      description = new
      slot = SourceSlot(capacity: new.capacity)
    case .frame(let frame):
      slot.take(from: source, description.format)
      taken.append(
        TakenFrame(
          sequence: frame.sequence, captured: frame.captured, isCorrupt: frame.isCorrupt,
          isStartup: frame.isStartup, inForce: frame.inForce, bytes: slot.bytes,
          events: slot.events, epoch: epoch))
    }
  }
  return (taken, source.record)
}

/// A small scene at fast pace, changed by `change`.
func scene(_ change: (inout SceneSettings) -> Void = { _ in }) -> SceneSettings {
  var settings = SceneSettings()
  settings.width = 64
  settings.height = 48
  settings.pace = .fast
  change(&settings)
  return settings
}
