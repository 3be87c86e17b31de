import SprocketCore

/// A frame in memory of its own, for handing to a sink.
@safe
final class SinkFrame {
  let format: FrameFormat
  let storage: UnsafeMutablePointer<FrameStorage>
  /// Once: an array literal allocates.
  private static let parts: FrameParts = [.encoded, .image, .luma(.full)]
  private var events: [Event] = []
  private var blocks: [UnsafeMutableRawPointer] = unsafe []
  private let packed: UnsafeMutableRawPointer
  private let packedCapacity: Int

  /// The format's planes filled from `bytes` in order, each row followed by `padding` bytes of 0xEE.
  /// They are the source's planes, too.
  init(
    _ format: FrameFormat, _ bytes: [UInt8] = [], padding: Int = 0, packedCapacity: Int = 64
  ) {
    self.format = format
    self.packedCapacity = packedCapacity
    let records = UnsafeMutablePointer<FrameRecord>.allocate(capacity: 1)
    unsafe records.initialize(to: FrameRecord())
    let versions = UnsafeMutablePointer<VersionStorage>.allocate(capacity: 1)
    unsafe versions.initialize(to: VersionStorage())
    let reports = UnsafeMutableRawPointer.allocate(byteCount: 4096, alignment: 64)
    unsafe packed = .allocate(byteCount: packedCapacity, alignment: 16)
    let counts = UnsafeMutablePointer<Int>.allocate(capacity: 1)
    let entered = UnsafeMutablePointer<Int64>.allocate(capacity: 1)
    unsafe storage = .allocate(capacity: 1)
    unsafe storage.initialize(
      to: FrameStorage(
        records: records, versions: versions, reports: reports, packed: packed,
        packedCounts: counts, entered: entered))
    unsafe blocks = unsafe [
      UnsafeMutableRawPointer(records), UnsafeMutableRawPointer(versions), reports, packed,
      UnsafeMutableRawPointer(counts),
      UnsafeMutableRawPointer(entered), UnsafeMutableRawPointer(storage),
    ]
    if !bytes.isEmpty { fill(bytes, padding) }
  }

  deinit {
    for index in unsafe blocks.indices { unsafe blocks[index].deallocate() }
  }

  private func fill(_ bytes: [UInt8], _ padding: Int) {
    guard let image = format.image, !format.pixelFormat.isEncoded else {
      let plane = unsafe copy(bytes[...], bytesPerRow: bytes.count, rows: 1, padding: 0)
      unsafe storage.pointee.source.planes[0] = unsafe plane
      unsafe storage.pointee.records[.source].byteCount = bytes.count
      return
    }
    var start = 0
    for index in 0..<image.planeCount {
      let size = image.plane(index, width: format.width, height: format.height)
      let count = size.bytesPerRow * size.rows
      let plane = unsafe copy(
        bytes[start..<start + count], bytesPerRow: size.bytesPerRow, rows: size.rows,
        padding: padding)
      unsafe storage.pointee.versions[0].image.planes[index] = unsafe plane
      unsafe storage.pointee.source.planes[index] = unsafe plane
      if index == 0 { unsafe storage.pointee.versions[0].luma[0] = unsafe plane }
      start += count
    }
    precondition(start == bytes.count, "give exactly the planes' bytes")
    unsafe storage.pointee.records[.source].byteCount = start
  }

  private func copy(
    _ bytes: ArraySlice<UInt8>, bytesPerRow: Int, rows: Int, padding: Int
  ) -> PlaneStorage {
    let stride = bytesPerRow + padding
    let memory = UnsafeMutablePointer<UInt8>.allocate(capacity: stride * rows)
    unsafe memory.initialize(repeating: 0xEE, count: stride * rows)
    for (index, byte) in bytes.enumerated() {
      unsafe memory[index / bytesPerRow * stride + index % bytesPerRow] = byte
    }
    unsafe blocks.append(UnsafeMutableRawPointer(memory))
    return unsafe PlaneStorage(base: memory, stride: stride, bytesPerRow: bytesPerRow, rows: rows)
  }

  var record: FrameRecord {
    get { unsafe storage.pointee.records[.source] }
    set { unsafe storage.pointee.records[.source] = newValue }
  }

  /// Stores `report` where `layout` says.
  func store<Report: FrameReport>(_ report: Report, at layout: ReportLayout) {
    unsafe storage.pointee.reports.storeBytes(
      of: report, toByteOffset: layout.slot.offset, as: Report.self)
    record.reported |= layout.slot.bit
  }

  func add(_ event: Event) { events.append(event) }

  /// Delivers the frame as the engine does, packed by `packer`.
  func write(to sink: any Sink, packer: (any Packer)? = nil) throws(RunError) {
    try sink.write(packed(by: packer))
    // Views do not keep the memory that they look at.
    withExtendedLifetime(self) {}
  }

  /// Tells `sink` that the frame was lost but can be read.
  func account(_ lost: LostFrame, to sink: any Sink) throws(RunError) {
    try sink.account(lost, frame: view)
    withExtendedLifetime(self) {}
  }

  /// The frame as a sink's packers see it, all parts readable.
  private var view: FrameView {
    let access = FrameAccess(lane: .source, version: 0, format: format, parts: Self.parts)
    return unsafe FrameView(
      unsafeStorage: storage, access: access, now: 0, neighbours: .none, events: events)
  }

  /// The frame as a sink's `write` sees it, packed by `packer`.
  private func packed(by packer: (any Packer)?) -> PackedFrame {
    let view = view
    var count = 0
    if let packer {
      let start = unsafe packed.assumingMemoryBound(to: UInt8.self)
      var bytes = unsafe MutableSpan(_unsafeStart: start, count: packedCapacity)
      count = packer.pack(view, into: &bytes) ?? 0
    }
    return unsafe PackedFrame(view: view, bytes: packed, count: count)
  }
}

extension SinkSetup {
  /// What a sink is told about frames of `format`.
  static func test(
    _ format: FrameFormat, isLive: Bool = false, isUntouched: Bool = true,
    clock: Timestamp.Clock = .monotonic, reports: [ReportLayout] = [], stages: [String] = []
  ) -> SinkSetup {
    let source = SourceDescription(
      name: "test", format: format, isLive: isLive, clock: clock, capacity: 0)
    return SinkSetup(
      format: format, epoch: 0, source: source, isUntouched: isUntouched, reports: reports,
      stageNames: stages)
  }
}
