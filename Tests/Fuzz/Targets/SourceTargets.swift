internal import SprocketCore
internal import SprocketSources

func feedFileSource(_ input: [UInt8]) {
  InputFile.shared.hold(input)
  feed(FileSource(path: InputFile.shared.path))
}

/// Plays a file's sound, from a time that its last byte says.
func feedFileAudioSource(_ input: [UInt8]) {
  InputFile.shared.hold(input)
  var settings = FileSettings()
  settings.from = .milliseconds(Int(input.last ?? 0) % 4 * 40)
  feed(FileAudioSource(path: InputFile.shared.path, settings))
}

/// Plays a source of sound.
func feed(_ source: any AudioSource) {
  defer { try? source.close() }
  guard let description = try? source.open() else { return }
  let size = description.blockSamples * description.format.sampleBytes
  var bytes = [UInt8](repeating: 0, count: size)
  for _ in 0..<mostArrivals {
    var span = bytes.mutableSpan
    switch try? source.read(into: &span, timeout: 0) {
    case .block(let block):
      expect(1...description.blockSamples ~= block.count, "a block has \(block.count) samples")
    case .nothing: continue
    case .end, nil: return
    }
  }
  _ = source.notes
}

/// Frames and epochs that are taken of one source.
private let mostArrivals = 64
/// The largest slot that is made, in bytes: the engine's plan of memory refuses what is too large.
private let mostMemory = 1 << 24

/// Plays a source: takes most frames and reads what it gets, and leaves some.
func feed(_ source: any Source) {
  defer { try? source.close() }
  guard var description = try? source.open() else { return }
  var slot = FuzzSlot(capacity: min(description.capacity, mostMemory))
  for turn in 0..<mostArrivals {
    guard let arrival = try? source.next(timeout: 1_000_000_000) else { break }
    switch arrival {
    case .end: return
    case .nothing: continue
    case .epoch(let next, _):
      description = next
      slot = FuzzSlot(capacity: min(next.capacity, mostMemory))
    case .frame:
      if turn % 8 == 7 || description.capacity > mostMemory {
        source.discard()
      } else {
        slot.take(source, description.format)
      }
    }
  }
  _ = source.notes
}

/// The memory of one slot, as the engine would lay it out, no larger than it needs to be.
@safe
private final class FuzzSlot {
  private let storage: UnsafeMutablePointer<FrameStorage>
  private let records: UnsafeMutablePointer<FrameRecord>
  private let versions: UnsafeMutablePointer<VersionStorage>
  private let small: UnsafeMutableRawPointer
  private var queue = EventQueue()
  private let memory: UnsafeMutableRawPointer

  init(capacity: Int) {
    unsafe records = .allocate(capacity: 1)
    unsafe records.initialize(to: FrameRecord())
    unsafe versions = .allocate(capacity: 1)
    unsafe versions.initialize(to: VersionStorage())
    unsafe small = .allocate(byteCount: 64, alignment: 64)
    unsafe memory = .allocate(byteCount: max(capacity, 1), alignment: 64)
    unsafe storage = .allocate(capacity: 1)
    unsafe storage.initialize(
      to: FrameStorage(
        records: records, versions: versions, reports: small, packed: small,
        packedCounts: small.assumingMemoryBound(to: Int.self),
        entered: small.assumingMemoryBound(to: Int64.self)))
    unsafe storage.pointee.sourceMemory = unsafe memory
    unsafe storage.pointee.sourceCapacity = capacity
  }

  deinit {
    unsafe storage.deallocate()
    unsafe records.deallocate()
    unsafe versions.deallocate()
    unsafe small.deallocate()
    unsafe memory.deallocate()
  }

  /// Takes the frame that was announced, reads all of it, and gives back what was lent.
  func take(_ source: any Source, _ format: FrameFormat) {
    queue.removeAll()
    source.takeEvents(into: &queue)
    var slot = unsafe CaptureSlot(unsafeStorage: storage, format: format)
    source.take(into: &slot)
    _ = unsafe sum(storage.pointee.source)
    guard let lent = unsafe storage.pointee.lent else { return }
    unsafe source.reclaim(lent)
    unsafe storage.pointee.lent = nil
  }

  private func sum(_ image: ImageStorage) -> Int {
    var sum = 0
    for index in 0..<3 {
      let plane = unsafe image.planes[index]
      for row in unsafe 0..<plane.rows {
        for column in unsafe 0..<plane.bytesPerRow {
          unsafe sum &+= Int(plane.base[row * plane.stride + column])
        }
      }
    }
    return sum
  }
}
