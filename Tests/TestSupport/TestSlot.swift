public import SprocketCore

/// A slot as the engine lays it out: strides of whole cache lines, two spare rows, and no memory for
/// what the plan says is borrowed, so that a wrong plan is a crash.
@safe
public final class TestSlot {
  let storage: UnsafeMutablePointer<FrameStorage>
  private let records: UnsafeMutablePointer<FrameRecord>
  private let versions: UnsafeMutablePointer<VersionStorage>
  private let small: UnsafeMutableRawPointer
  private var planes: [TestBuffer] = []
  private var source: [TestBuffer] = []

  public init(versions count: Int = 1) {
    unsafe records = .allocate(capacity: 1)
    unsafe records.initialize(to: FrameRecord())
    unsafe versions = .allocate(capacity: count)
    unsafe versions.initialize(repeating: VersionStorage(), count: count)
    unsafe small = .allocate(byteCount: 4096, alignment: 64)
    unsafe storage = .allocate(capacity: 1)
    unsafe storage.initialize(
      to: FrameStorage(
        records: records, versions: versions, reports: small, packed: small,
        packedCounts: small.assumingMemoryBound(to: Int.self),
        entered: small.assumingMemoryBound(to: Int64.self)))
  }

  deinit {
    unsafe storage.deallocate()
    unsafe versions.deallocate()
    unsafe records.deallocate()
    unsafe small.deallocate()
  }

  /// Memory for what is not borrowed, filled with 0xEE.
  public func addMemory(
    _ format: FrameFormat, parts: FrameParts, _ plan: UnpackPlan, version: Int = 0
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

  /// Lets the source deliver planes with `padding` bytes behind each row but the last.
  public func deliver(_ contents: [[[UInt8]]], padding: Int) {
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
  public func deliver(_ bytes: [UInt8]) {
    deliver([[bytes]], padding: 0)
    unsafe records[0].byteCount = bytes.count
  }

  /// Moves the frame that a source announced into this slot; returns its bytes.
  public func take(_ source: any Source, _ format: FrameFormat) -> Int {
    var capture = unsafe CaptureSlot(unsafeStorage: storage, format: format)
    source.take(into: &capture)
    return unsafe records[0].byteCount
  }

  /// Gives back what the source lent.
  public func giveBack(to source: any Source) {
    guard let lent = unsafe storage.pointee.lent else { return }
    unsafe source.reclaim(lent)
    unsafe storage.pointee.lent = nil
  }

  /// Returns whether the frame is in order.
  public func unpack(with unpacker: any Unpacker) -> Bool { unsafe unpacker.unpack(storage) }

  /// Makes a version's image what the source delivered, as a writing stage may have left it.
  public func takeImage(version: Int) {
    unsafe versions[version].image = unsafe storage.pointee.source
  }

  /// Fills the luma of a later version.
  public func deriveLuma(
    with unpacker: any Unpacker, version: Int, format: FrameFormat, parts: FrameParts
  ) {
    unsafe unpacker.deriveLuma(storage, version: version, format: format, parts: parts)
  }

  public func imageRows(_ plane: Int, version: Int = 0) -> [[UInt8]] {
    unsafe rows(versions[version].image.planes[plane])
  }

  public func lumaRows(_ scale: LumaScale, version: Int = 0) -> [[UInt8]] {
    unsafe rows(versions[version].luma[Int(scale.rawValue)])
  }

  /// The planes that the source delivered or lent.
  public func sourceRows(_ plane: Int) -> [[UInt8]] {
    unsafe rows(storage.pointee.source.planes[plane])
  }

  /// Whether a plane is the very memory that the source delivered.
  public func isSourceMemory(imagePlane plane: Int, of sourcePlane: Int) -> Bool {
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
  public func prepare(format: FrameFormat, parts: FrameParts) -> UnpackPlan {
    guard let plan = try? configure(format: format, parts: parts) else {
      preconditionFailure("no memory for a small picture")
    }
    return plan
  }
}
