internal import Glibc
internal import SprocketCore

/// The memory of all slots of an epoch: one mapping, laid out before the first frame, all of it
/// named. Address space is reserved for worst cases; only pages that are written become resident.
@safe
final class FrameMemory: @unchecked Sendable {
  // Unchecked: who may touch which part of a slot, and when, is the ring's contract.

  /// A line of the sum: what a slot holds, and its bytes.
  struct Line {
    let what: String
    let bytes: Int
    /// Address space for the worst case, rather than memory in use.
    let isReserve: Bool
  }

  let slots: UnsafeMutablePointer<FrameStorage>
  let slotCount: Int
  let lines: [Line]
  private let mapping: UnsafeMutableRawPointer
  private let mappedBytes: Int
  private let perSlot: UnsafeMutableRawPointer

  /// Alignment of all parts of a slot, in bytes: a cache line of x86-64 and most ARM processors.
  static let alignment = 64
  /// Page size in bytes on x86-64: memory is mapped in pages.
  static let page = 4096

  init(_ layout: SlotLayout, slotCount: Int) throws(RunError) {
    self.slotCount = slotCount
    lines = layout.lines
    mappedBytes = layout.size * slotCount
    guard let mapped = unsafe SystemMemory.map(mappedBytes) else {
      throw RunError(
        .failed,
        "cannot reserve \(mappedBytes >> 20) MB of address space for frames: use smaller "
          + "frames, or raise the limit (ulimit -v)")
    }
    unsafe mapping = unsafe mapped
    let table = layout.table
    unsafe perSlot = UnsafeMutableRawPointer.allocate(
      byteCount: table.size * slotCount, alignment: Self.alignment)
    unsafe slots = UnsafeMutablePointer<FrameStorage>.allocate(capacity: slotCount)
    for index in 0..<slotCount {
      unsafe (slots + index).initialize(
        to: layout.storage(at: mapping + index * layout.size, table: perSlot + index * table.size))
    }
  }

  /// Returns the memory's pages to the system before the next epoch allocates. The frames are lost.
  func discard() { unsafe madvise(mapping, mappedBytes, MADV_DONTNEED) }

  deinit {
    unsafe slots.deallocate()
    unsafe perSlot.deallocate()
    unsafe munmap(mapping, mappedBytes)
  }
}

/// Where the small things of a slot lie in a table of its own.
struct SlotTable {
  let records: Int
  let versions: Int
  let sinks: Int
  let stages: Int

  private func offsets() -> (versions: Int, entered: Int, counts: Int, end: Int) {
    func up(_ bytes: Int) -> Int { (bytes + 15) & ~15 }
    let versionsAt = up(records * MemoryLayout<FrameRecord>.stride)
    let enteredAt = unsafe versionsAt + up(versions * MemoryLayout<VersionStorage>.stride)
    let countsAt = enteredAt + up(stages * 8)
    return (versionsAt, enteredAt, countsAt, countsAt + up(sinks * 8))
  }

  /// Whole cache lines, so that slots do not share any.
  var size: Int { (offsets().end + 63) & ~63 }

  func storage(
    at base: UnsafeMutableRawPointer, reports: UnsafeMutableRawPointer,
    packed: UnsafeMutableRawPointer
  ) -> FrameStorage {
    let offset = offsets()
    let recordsAt = unsafe base.bindMemory(to: FrameRecord.self, capacity: records)
    unsafe recordsAt.initialize(repeating: FrameRecord(), count: records)
    let versionsAt = unsafe (base + offset.versions).bindMemory(
      to: VersionStorage.self, capacity: versions)
    unsafe versionsAt.initialize(repeating: VersionStorage(), count: versions)
    let enteredAt = unsafe (base + offset.entered).bindMemory(to: Int64.self, capacity: stages)
    unsafe enteredAt.initialize(repeating: 0, count: stages)
    let countsAt = unsafe (base + offset.counts).bindMemory(to: Int.self, capacity: sinks)
    unsafe countsAt.initialize(repeating: 0, count: sinks)
    return unsafe FrameStorage(
      records: recordsAt, versions: versionsAt, reports: reports, packed: packed,
      packedCounts: countsAt, entered: enteredAt)
  }
}

/// Where the large things of a slot lie, relative to its start.
struct SlotLayout {
  let table: SlotTable
  private(set) var size = 0
  private(set) var lines: [FrameMemory.Line] = []
  private var sourceCapacity = 0
  private let needsPicture: Bool
  private var planes: [PlanePlace] = []
  private var reportsAt = 0
  private var packedAt = 0

  private struct PlanePlace {
    let version: VersionIndex
    /// 0 to 2 for the image, 3 to 6 for luma by scale.
    let index: Int
    let offset: Int
    let stride: Int
    let bytesPerRow: Int
    let rows: Int
  }

  init(
    plan: ChainPlan, source: SourceDescription, stages: Int, reportBytes: Int,
    packedCapacities: [Int]
  ) {
    table = SlotTable(
      records: plan.lanes.count + 1, versions: plan.versions.count, sinks: packedCapacities.count,
      stages: stages)
    needsPicture = plan.needsPicture
    addSource(
      source.capacity,
      isEncoded: source.format.pixelFormat.isEncoded || source.format.packets != nil)
    for (index, version) in plan.versions.enumerated() {
      add(version, VersionIndex(index))
    }
    addReports(reportBytes)
    for capacity in packedCapacities { addPacked(capacity) }
    close()
  }

  /// Bytes of a slot that are written: worst cases are less.
  var usedBytes: Int {
    lines.reduce(table.size) { $0 + ($1.isReserve ? 0 : $1.bytes) }
  }

  private mutating func reserve(_ bytes: Int, alignment: Int = FrameMemory.alignment) -> Int {
    let offset = (size + alignment - 1) / alignment * alignment
    size = offset + bytes
    return offset
  }

  private mutating func addSource(_ capacity: Int, isEncoded: Bool) {
    guard capacity > 0 else { return }
    sourceCapacity = capacity
    // First in the slot, so its offset is 0 and the next areas begin on a page of their own.
    _ = reserve(capacity)
    lines.append(.init(what: "source bytes", bytes: capacity, isReserve: isEncoded))
    _ = reserve(0, alignment: isEncoded ? FrameMemory.page : FrameMemory.alignment)
  }

  private mutating func add(_ version: ChainPlan.Version, _ index: VersionIndex) {
    let format = version.format
    guard let image = format.image else { return }
    let name = index == .unpacked ? "" : " after write \(index.place)"
    let before = size
    let hasImage = !version.parts.isDisjoint(with: .anyReducedImage.union(.image))
    if !version.borrowsImage, hasImage || index != .unpacked {
      let (width, height) = format.lumaSize(version.parts.imageScale)
      for plane in 0..<image.planeCount {
        let extent = image.plane(plane, width: width, height: height)
        place(extent.bytesPerRow, extent.rows, version: index, index: plane)
      }
      lines.append(.init(what: "image\(name)", bytes: size - before, isReserve: false))
    }
    for scale in LumaScale.allCases where version.parts.contains(.luma(scale)) {
      if scale == .full, version.borrowsLuma { continue }
      let start = size
      let extent = format.lumaSize(scale)
      place(extent.width, extent.height, version: index, index: 3 + Int(scale.rawValue))
      lines.append(
        .init(what: "luma 1/\(scale.divisor)\(name)", bytes: size - start, isReserve: false))
    }
  }

  /// Rows start on a cache line; two spare rows, since turbojpeg writes whole chroma blocks.
  private mutating func place(_ bytesPerRow: Int, _ rows: Int, version: VersionIndex, index: Int) {
    let stride = (bytesPerRow + 63) & ~63
    let offset = reserve(stride * (rows + 2))
    planes.append(
      PlanePlace(
        version: version, index: index, offset: offset, stride: stride, bytesPerRow: bytesPerRow,
        rows: rows))
  }

  private mutating func addReports(_ bytes: Int) {
    reportsAt = reserve(max(bytes, 1))
    lines.append(.init(what: "reports", bytes: bytes, isReserve: false))
  }

  private mutating func addPacked(_ capacity: Int) {
    let offset = reserve(capacity, alignment: FrameMemory.page)
    if packedAt == 0 { packedAt = offset }
    if capacity > 0 {
      lines.append(.init(what: "packed bytes", bytes: capacity, isReserve: true))
    }
  }

  /// Slots begin on a page, so that what is aligned in one is aligned in all.
  private mutating func close() { _ = reserve(0, alignment: FrameMemory.page) }

  /// Offset of each packing area from the first.
  static func packedOffsets(_ capacities: [Int]) -> [Int] {
    var offsets: [Int] = []
    var next = 0
    for capacity in capacities {
      offsets.append(next)
      next += (capacity + FrameMemory.page - 1) / FrameMemory.page * FrameMemory.page
    }
    return offsets
  }

  func storage(
    at base: UnsafeMutableRawPointer, table memory: UnsafeMutableRawPointer
  ) -> FrameStorage {
    var storage = unsafe table.storage(
      at: memory, reports: base + reportsAt, packed: base + packedAt)
    unsafe storage.needsPicture = needsPicture
    if sourceCapacity > 0 {
      unsafe storage.sourceMemory = unsafe base
      unsafe storage.sourceCapacity = sourceCapacity
    }
    for place in planes {
      let plane = unsafe PlaneStorage(
        base: (base + place.offset).assumingMemoryBound(to: UInt8.self), stride: place.stride,
        bytesPerRow: place.bytesPerRow, rows: place.rows)
      if place.index < 3 {
        unsafe storage.versions[place.version].image.planes[place.index] = unsafe plane
      } else {
        unsafe storage.versions[place.version].luma[place.index - 3] = unsafe plane
      }
    }
    return unsafe storage
  }
}

extension PlaneStorage {
  /// Copies the rows of a plane of the same size.
  func copy(from source: PlaneStorage) {
    for row in unsafe 0..<rows {
      unsafe (base + row * stride).update(
        from: source.base + row * source.stride, count: bytesPerRow)
    }
  }
}
