package import SprocketCore

/// A slot as the engine lays it out: strides of whole cache lines, two spare rows, and no memory for
/// what the plan says is borrowed, so that a wrong plan is a crash.
@safe
package final class TestSlot {
  package let storage: UnsafeMutablePointer<FrameStorage>
  private let records: UnsafeMutablePointer<FrameRecord>
  private let versions: UnsafeMutablePointer<VersionStorage>
  private let versionCount: Int
  private let small: UnsafeMutableRawPointer
  private let reports: UnsafeMutableRawPointer
  private var planes: [TestBuffer] = []
  private var source: [TestBuffer] = []
  /// Bytes after each row of a checked picture, and their value. They must not be written.
  private static let padding: (bytes: Int, value: UInt8) = (64, 0xA5)

  package init(versions count: Int = 1, reportBytes: Int = 0) {
    unsafe reports = .allocate(byteCount: max(reportBytes, 1), alignment: 64)
    unsafe records = .allocate(capacity: 2)
    unsafe records.initialize(repeating: FrameRecord(), count: 2)
    versionCount = count
    unsafe versions = .allocate(capacity: count)
    unsafe versions.initialize(repeating: VersionStorage(), count: count)
    unsafe small = .allocate(byteCount: 4096, alignment: 64)
    unsafe storage = .allocate(capacity: 1)
    unsafe storage.initialize(
      to: FrameStorage(
        records: records, versions: versions, reports: reports, packed: small,
        packedCounts: small.assumingMemoryBound(to: Int.self),
        entered: small.assumingMemoryBound(to: Int64.self)))
  }

  deinit {
    unsafe storage.deallocate()
    unsafe versions.deallocate()
    unsafe records.deallocate()
    unsafe reports.deallocate()
    unsafe small.deallocate()
  }

  /// The source's record of the frame.
  package var record: FrameRecord {
    get { unsafe records[.source] }
    set { unsafe records[.source] = newValue }
  }

  /// The map of the unpacked picture, which is also that of what is written until a stage sets another.
  package var sensorMap: SensorMap {
    get { unsafe versions[.unpacked].sensorMap }
    set {
      for place in 0..<versionCount { unsafe versions[VersionIndex(place)].sensorMap = newValue }
    }
  }

  package func sensorMap(version: VersionIndex) -> SensorMap { unsafe versions[version].sensorMap }

  /// The first lane's record, which starts as a copy of the source's.
  package var laneRecord: FrameRecord { unsafe records[.lane(0)] }
  package func enterLane() { unsafe records[.lane(0)] = unsafe records[.source] }

  /// Memory for what is not borrowed, filled with 0xEE.
  package func addMemory(
    _ format: FrameFormat, parts: FrameParts, _ plan: UnpackPlan, version: VersionIndex = .unpacked
  ) {
    guard let image = format.image else { return }
    if parts.contains(.image), !plan.borrowsImage {
      for plane in 0..<image.planeCount {
        let size = image.plane(plane, width: format.width, height: format.height)
        unsafe versions[version].image.planes[plane] = unsafe own(size.bytesPerRow, size.rows)
      }
    }
    for scale in LumaScale.allCases where parts.contains(.luma(scale)) {
      if scale == .full, plan.borrowsLuma { continue }
      let size = format.lumaSize(scale)
      unsafe versions[version].luma[Int(scale.rawValue)] = unsafe own(size.width, size.height)
    }
  }

  private func own(_ bytesPerRow: Int, _ rows: Int) -> PlaneStorage {
    let stride = (bytesPerRow + 63) & ~63
    let buffer = TestBuffer(count: stride * (rows + 2))
    planes.append(buffer)
    return unsafe PlaneStorage(
      base: buffer.memory.baseAddress.unsafelyUnwrapped, stride: stride, bytesPerRow: bytesPerRow,
      rows: rows)
  }

  /// Adds memory for a picture with checked bytes after each row.
  package func addPicture(_ format: FrameFormat, version: VersionIndex) {
    guard let image = format.image else { return }
    for plane in 0..<image.planeCount {
      let size = image.plane(plane, width: format.width, height: format.height)
      let stride = (size.bytesPerRow + Self.padding.bytes) & ~1
      let buffer = TestBuffer(repeating: Self.padding.value, count: stride * size.rows)
      planes.append(buffer)
      unsafe versions[version].image.planes[plane] = unsafe PlaneStorage(
        base: buffer.memory.baseAddress.unsafelyUnwrapped, stride: stride,
        bytesPerRow: size.bytesPerRow, rows: size.rows)
    }
  }

  /// Copies the picture of one version to another version.
  package func copyImage(_ format: FrameFormat, from: VersionIndex, to: VersionIndex) {
    for plane in 0..<(format.image?.planeCount ?? 0) {
      let old = unsafe versions[from].image.planes[plane]
      let new = unsafe versions[to].image.planes[plane]
      for y in unsafe 0..<new.rows {
        unsafe (new.base + y * new.stride).update(
          from: old.base + y * old.stride, count: new.bytesPerRow)
      }
    }
  }

  /// Whether the bytes after each row of a picture from `addPicture` are unchanged.
  package func paddingIsIntact(version: VersionIndex) -> Bool {
    (0..<3).allSatisfy { index in
      let plane = unsafe versions[version].image.planes[index]
      return unsafe (0..<plane.rows).allSatisfy { y in
        unsafe (plane.bytesPerRow..<plane.stride).allSatisfy { x in
          unsafe plane.base[y * plane.stride + x] == Self.padding.value
        }
      }
    }
  }

  /// Lets the source deliver planes with `padding` bytes behind each row but the last.
  package func deliver(_ contents: [[[UInt8]]], padding: Int) {
    source = contents.map { rows in
      TestBuffer(
        Array(rows.joined(separator: [UInt8](repeating: 0xDD, count: padding))))
    }
    for (index, rows) in contents.enumerated() {
      unsafe storage.pointee.source.planes[index] = unsafe PlaneStorage(
        base: source[index].memory.baseAddress.unsafelyUnwrapped,
        stride: rows[0].count + padding, bytesPerRow: rows[0].count, rows: rows.count)
    }
  }

  /// Lets the source deliver an encoded frame.
  package func deliver(_ bytes: [UInt8]) {
    deliver([[bytes]], padding: 0)
    unsafe records[.source].byteCount = bytes.count
  }

  /// Moves the frame that a source announced into this slot; returns its bytes.
  package func take(_ source: any Source, _ format: FrameFormat) -> Int {
    var capture = unsafe CaptureSlot(unsafeStorage: storage, format: format)
    source.take(into: &capture)
    return unsafe records[.source].byteCount
  }

  /// Gives back what the source lent.
  package func giveBack(to source: any Source) {
    guard let lent = unsafe storage.pointee.lent else { return }
    unsafe source.reclaim(lent)
    unsafe storage.pointee.lent = nil
  }

  /// Returns whether the frame is in order.
  package func unpack(with unpacker: any Unpacker) -> Bool { unsafe unpacker.unpack(storage) }

  /// Calls `body` with the frame as a sink sees it that declared `parts`.
  package func show<Result>(
    _ format: FrameFormat, _ parts: FrameParts, imageScale: LumaScale = .full,
    _ body: (borrowing FrameView) -> Result
  ) -> Result {
    var access = FrameAccess(lane: .lane(0), version: .unpacked, format: format, parts: parts)
    access.imageScale = imageScale
    return body(
      unsafe FrameView(unsafeStorage: storage, access: access, now: 0, neighbours: .none))
  }

  /// Makes a version's image what the source delivered, as a writing stage may have left it.
  package func takeImage(version: VersionIndex) {
    unsafe versions[version].image = unsafe storage.pointee.source
  }

  /// Fills the luma of a later version.
  package func deriveLuma(
    with unpacker: any Unpacker, version: VersionIndex, format: FrameFormat, parts: FrameParts
  ) {
    unsafe unpacker.deriveLuma(storage, version: version, format: format, parts: parts)
  }

  package func imageRows(_ plane: Int, version: VersionIndex = .unpacked) -> [[UInt8]] {
    unsafe rows(versions[version].image.planes[plane])
  }

  package func lumaRows(_ scale: LumaScale, version: VersionIndex = .unpacked) -> [[UInt8]] {
    unsafe rows(versions[version].luma[Int(scale.rawValue)])
  }

  /// The planes that the source delivered or lent.
  package func sourceRows(_ plane: Int) -> [[UInt8]] {
    unsafe rows(storage.pointee.source.planes[plane])
  }

  /// Whether a plane is the very memory that the source delivered.
  package func isSourceMemory(imagePlane plane: Int, of sourcePlane: Int) -> Bool {
    unsafe versions[0].image.planes[plane].base == source[sourcePlane].memory.baseAddress
  }

  private func rows(_ plane: PlaneStorage) -> [[UInt8]] {
    unsafe (0..<plane.rows).map { row in
      unsafe (0..<plane.bytesPerRow).map { column in
        unsafe plane.base[row * plane.stride + column]
      }
    }
  }
}

extension Unpacker {
  /// `configure`, where there is memory enough.
  package func prepare(format: FrameFormat, parts: FrameParts) -> UnpackPlan {
    guard let plan = try? configure(format: format, parts: parts) else {
      preconditionFailure("no memory for a small picture")
    }
    return plan
  }
}
