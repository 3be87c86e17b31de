public import SprocketCore

/// The memory of one slot, filled from a `TestFrame`: one lane, one version, whose luma is plane 0.
@safe
final class FrameMemory {
  static let slot = ReportSlot(offset: 0, bit: 1)

  let frame: TestFrame
  let buffers: [TestBuffer]
  let storage: UnsafeMutablePointer<FrameStorage>
  let records = UnsafeMutablePointer<FrameRecord>.allocate(capacity: 1)
  let versions = UnsafeMutablePointer<VersionStorage>.allocate(capacity: 1)
  let reports: UnsafeMutableRawPointer
  let packedCounts = UnsafeMutablePointer<Int>.allocate(capacity: 1)
  let entered = UnsafeMutablePointer<Int64>.allocate(capacity: 1)

  init(_ frame: TestFrame, reportSize: Int) {
    self.frame = frame
    buffers = frame.planes.indices.map { TestBuffer(Self.padded(frame, plane: $0)) }
    unsafe records.initialize(to: frame.record)
    unsafe versions.initialize(to: VersionStorage())
    unsafe reports = .allocate(byteCount: max(reportSize, 1), alignment: 16)
    unsafe storage = .allocate(capacity: 1)
    unsafe storage.initialize(
      to: FrameStorage(
        records: records, versions: versions, reports: reports, packed: reports,
        packedCounts: packedCounts, entered: entered))
    for index in frame.planes.indices {
      let size = Self.size(frame, plane: index)
      unsafe versions.pointee.image.planes[index] = PlaneStorage(
        base: buffers[index].memory.baseAddress.unsafelyUnwrapped,
        stride: size.bytesPerRow + frame.padding, bytesPerRow: size.bytesPerRow, rows: size.rows)
    }
    unsafe versions.pointee.luma[0] = unsafe versions.pointee.image.planes[0]
  }

  deinit {
    unsafe storage.deallocate()
    unsafe records.deallocate()
    unsafe versions.deallocate()
    unsafe reports.deallocate()
    unsafe packedCounts.deallocate()
    unsafe entered.deallocate()
  }

  /// What the stage stored, if it did.
  func report<Report: BitwiseCopyable>(as type: Report.Type) -> Report? {
    guard unsafe records.pointee.reported & Self.slot.bit != 0 else { return nil }
    return unsafe reports.load(as: Report.self)
  }

  /// The planes as they are now; traps where padding was written.
  var planes: [[UInt8]] {
    frame.planes.indices.map { index in
      let size = Self.size(frame, plane: index)
      let bytes = buffers[index].bytes
      let stride = size.bytesPerRow + frame.padding
      return (0..<size.rows).flatMap { y in
        let row = bytes[y * stride..<(y + 1) * stride]
        precondition(row.dropFirst(size.bytesPerRow).allSatisfy { $0 == 0xA5 }, "wrote padding")
        return row.prefix(size.bytesPerRow)
      }
    }
  }

  static func size(_ frame: TestFrame, plane: Int) -> (bytesPerRow: Int, rows: Int) {
    frame.format.pixelFormat.plane(plane, width: frame.format.width, height: frame.format.height)
  }

  static func padded(_ frame: TestFrame, plane: Int) -> [UInt8] {
    let size = size(frame, plane: plane)
    let padding = [UInt8](repeating: 0xA5, count: frame.padding)
    return (0..<size.rows).flatMap { y in
      frame.planes[plane][y * size.bytesPerRow..<(y + 1) * size.bytesPerRow] + padding
    }
  }
}

extension TestFrame {
  /// The planes that `edit` makes from this picture's, in memory of their own: `.nextImage`.
  public func edited(by edit: (inout ImageEditor) -> Void) -> [[UInt8]] {
    var blank = self
    blank.planes = planes.map { [UInt8](repeating: 0xEE, count: $0.count) }
    let (from, to) = (FrameMemory(self, reportSize: 0), FrameMemory(blank, reportSize: 0))
    let versions = UnsafeMutablePointer<VersionStorage>.allocate(capacity: 2)
    defer { unsafe versions.deallocate() }
    unsafe versions.initialize(to: from.versions.pointee)
    unsafe (versions + 1).initialize(to: to.versions.pointee)
    unsafe from.storage.pointee.versions = unsafe versions
    let access = FrameAccess(lane: 0, version: 0, written: 1, format: format, parts: .image)
    var view = unsafe FrameView(
      unsafeStorage: from.storage, access: access, now: now, neighbours: .none)
    var editor = view.edit()
    edit(&editor)
    return to.planes
  }
}
