/// The memory of one slot. Laid out before the first frame, never moved, never freed while lanes
/// run. Only the engine, codecs, sources and sinks touch it; stages see `FrameView`.
///
/// Ownership: the source until it publishes; then whichever lane holds the sequence. A lane writes
/// the image version that is its own and nothing that an earlier lane sealed.

/// A plane in memory.
@unsafe
public struct PlaneStorage: BitwiseCopyable {
  public var base: UnsafeMutablePointer<UInt8>
  public var stride: Int
  public var bytesPerRow: Int
  public var rows: Int

  public init(base: UnsafeMutablePointer<UInt8>, stride: Int, bytesPerRow: Int, rows: Int) {
    unsafe self.base = unsafe base
    unsafe self.stride = stride
    unsafe self.bytesPerRow = bytesPerRow
    unsafe self.rows = rows
  }

  /// No plane: zero rows at an address that is never read.
  public static var none: PlaneStorage {
    unsafe PlaneStorage(
      base: UnsafeMutablePointer(bitPattern: 64).unsafelyUnwrapped, stride: 0, bytesPerRow: 0,
      rows: 0)
  }
}

/// Up to three planes.
@unsafe
public struct ImageStorage: BitwiseCopyable {
  public var planes: InlineArray<3, PlaneStorage>

  public init() { unsafe planes = unsafe InlineArray(repeating: .none) }
}

/// One version of a frame's pixels: the unpacked one, and one more per stage that writes.
///
/// A plane that is the slot's own memory begins each row on a cache line, so its stride is a multiple
/// of 64 bytes, and has two rows to spare: codecs write whole blocks of chroma.
@unsafe
public struct VersionStorage: BitwiseCopyable {
  public var image = unsafe ImageStorage()
  /// By `LumaScale`.
  public var luma: InlineArray<4, PlaneStorage> = unsafe InlineArray(repeating: .none)
  /// Where its points lie in the sensor's picture.
  public var sensorMap = SensorMap()

  public init() {}
}

/// Identifies one of a slot's records: the source's, or a lane's copy.
public struct RecordIndex: Sendable, Hashable, BitwiseCopyable {
  @usableFromInline let place: Int

  /// The record after `count` lanes.
  init(behindLanes count: Int) { place = count }

  public static let source = RecordIndex(behindLanes: 0)
  public static func lane(_ index: Int) -> RecordIndex { RecordIndex(behindLanes: index + 1) }

  /// The lane that owns this copy; `nil` for the source's record.
  public var lane: Int? { place == 0 ? nil : place - 1 }
  /// The record before this one, which the previous lane or the source sealed. Not valid for the source's
  /// record.
  var previous: RecordIndex { RecordIndex(behindLanes: place - 1) }
}

/// Identifies one version of a frame's pixels.
public struct VersionIndex: Sendable, Hashable, BitwiseCopyable, ExpressibleByIntegerLiteral {
  public let place: Int

  public init(_ place: Int) { self.place = place }
  public init(integerLiteral place: Int) { self.place = place }

  /// The pixels as unpacked.
  public static let unpacked = VersionIndex(0)
  /// The version that a stage reading this one writes.
  public var next: VersionIndex { VersionIndex(place + 1) }
  /// The version that the stage writing this one reads.
  public var previous: VersionIndex { VersionIndex(place - 1) }
}

// Address accessors, as `pointee` has: a coroutine accessor would allocate in a debug build.
extension UnsafeMutablePointer where Pointee == FrameRecord {
  public subscript(index: RecordIndex) -> FrameRecord {
    @inlinable unsafeAddress { unsafe UnsafePointer(self + index.place) }
    @inlinable nonmutating unsafeMutableAddress { unsafe self + index.place }
  }
}

extension UnsafeMutablePointer where Pointee == VersionStorage {
  public subscript(index: VersionIndex) -> VersionStorage {
    @inlinable unsafeAddress { unsafe UnsafePointer(self + index.place) }
    @inlinable nonmutating unsafeMutableAddress { unsafe self + index.place }
  }
}

/// All that belongs to one slot.
@unsafe
public struct FrameStorage {
  /// The record as the source sealed it, then as each lane did: a lane works on a copy of its own,
  /// so that a lane behind it may read earlier frames' records while this one goes on.
  public var records: UnsafeMutablePointer<FrameRecord>
  /// What the source delivered, in its own format; an encoded frame is one plane with one row.
  public var source = unsafe ImageStorage()
  /// The slot's own memory for the source's bytes; `nil` where the source lends all it has.
  public var sourceMemory: UnsafeMutableRawPointer?
  public var sourceCapacity = 0
  /// Bytes of the frame's packet, the first ones of `sourceMemory`; 0 if it has none.
  public var packetCount = 0
  /// Whether a stage or sink reads more of the frame than its packet.
  package var needsPicture = true
  /// What the source lent and wants back, in its own words.
  public var lent: UnsafeMutableRawPointer?
  /// Where that lies for other devices.
  public var exported = ExportedPlanes()
  public var versions: UnsafeMutablePointer<VersionStorage>
  public var reports: UnsafeMutableRawPointer
  /// One area per packing sink, at the offsets that the engine gave them.
  public var packed: UnsafeMutableRawPointer
  /// Bytes in use of each area; -1 where the sink did not select the frame or packing failed.
  public var packedCounts: UnsafeMutablePointer<Int>
  /// The live settings that hold for the frame; `nil` for those of the run's start. The source's thread keeps
  /// the object alive until the slot has another one.
  package var settings: Unmanaged<LiveSettings>?
  /// When each stage was entered, nanoseconds; what `setup.remaining` is computed from.
  public var entered: UnsafeMutablePointer<Int64>

  public init(
    records: UnsafeMutablePointer<FrameRecord>, versions: UnsafeMutablePointer<VersionStorage>,
    reports: UnsafeMutableRawPointer, packed: UnsafeMutableRawPointer,
    packedCounts: UnsafeMutablePointer<Int>, entered: UnsafeMutablePointer<Int64>
  ) {
    unsafe self.records = unsafe records
    unsafe self.versions = versions
    unsafe self.reports = reports
    unsafe self.packed = packed
    unsafe self.packedCounts = packedCounts
    unsafe self.entered = entered
  }
}
