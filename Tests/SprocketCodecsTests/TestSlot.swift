import SprocketCore
import TestSupport

/// A slot as the engine lays it out: strides of whole cache lines, two spare rows, and no memory for
/// what the plan says is borrowed, so that a wrong plan is a crash.
@safe
final class TestSlot {
  let storage: UnsafeMutablePointer<FrameStorage>
  private let records: UnsafeMutablePointer<FrameRecord>
  private let versions: UnsafeMutablePointer<VersionStorage>
  private let small: UnsafeMutableRawPointer
  private var planes: [TestBuffer] = []
  private var source: [TestBuffer] = []

  init(versions count: Int = 1) {
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
        entered: small.assumingMemoryBound(to: Int64.self),
        events: small.assumingMemoryBound(to: Event.self)))
  }

  deinit {
    unsafe storage.deallocate()
    unsafe versions.deallocate()
    unsafe records.deallocate()
    unsafe small.deallocate()
  }

  /// Memory for what is not borrowed, filled with 0xEE.
  func addMemory(_ format: FrameFormat, parts: FrameParts, _ plan: UnpackPlan, version: Int = 0) {
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
  func deliver(_ contents: [[[UInt8]]], padding: Int) {
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
  func deliver(_ bytes: [UInt8]) {
    deliver([[bytes]], padding: 0)
    unsafe records[0].byteCount = bytes.count
  }

  /// Makes a version's image what the source delivered, as a writing stage may have left it.
  func takeImage(version: Int) {
    unsafe versions[version].image = unsafe storage.pointee.source
  }

  func imageRows(_ plane: Int, version: Int = 0) -> [[UInt8]] {
    unsafe rows(versions[version].image.planes[plane])
  }

  func lumaRows(_ scale: LumaScale, version: Int = 0) -> [[UInt8]] {
    unsafe rows(versions[version].luma[Int(scale.rawValue)])
  }

  /// Whether a plane is the very memory that the source delivered.
  func isSourceMemory(imagePlane plane: Int, of sourcePlane: Int) -> Bool {
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

/// The box mean as DESIGN.md has it, for boxes that the edge may cut.
func boxMean(_ rows: [[UInt8]], by factor: Int) -> [[UInt8]] {
  let (width, height) = (rows[0].count, rows.count)
  return stride(from: 0, to: height, by: factor).map { top in
    stride(from: 0, to: width, by: factor).map { left in
      var (sum, count) = (0, 0)
      for y in top..<min(top + factor, height) {
        for x in left..<min(left + factor, width) {
          sum += Int(rows[y][x])
          count += 1
        }
      }
      return UInt8((sum + count / 2) / count)
    }
  }
}

/// The largest difference between two pictures of one size.
func largestDifference(_ a: [[UInt8]], _ b: [[UInt8]]) -> Int {
  guard a.count == b.count, a[0].count == b[0].count else { return .max }
  return zip(a, b).reduce(0) { worst, rows in
    zip(rows.0, rows.1).reduce(worst) { max($0, abs(Int($1.0) - Int($1.1))) }
  }
}
