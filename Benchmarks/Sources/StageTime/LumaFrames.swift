import Glibc
import SprocketCore

/// Frames of luma in memory, each laid out as the engine lays out a slot: rows begin on a cache line.
@safe
final class LumaFrames {
  static let slot = ReportSlot(offset: 0, bit: 1)
  /// More than any report takes.
  private static let reportBytes = 1 << 16

  let format: FrameFormat
  let count: Int
  private let luma: UnsafeMutableRawPointer
  private let stride: Int
  private let records = UnsafeMutablePointer<FrameRecord>.allocate(capacity: 1)
  private let versions = UnsafeMutablePointer<VersionStorage>.allocate(capacity: 1)
  private let storage = UnsafeMutablePointer<FrameStorage>.allocate(capacity: 1)
  private let reports: UnsafeMutableRawPointer

  /// Reads a file of bare luma; throws where it cannot be read or holds no whole frame.
  init(path: String, width: Int, height: Int) throws {
    format = FrameFormat(
      pixelFormat: .grey, width: width, height: height, color: .jpeg, rate: .unknown)
    stride = (width + 63) & ~63
    guard let file = unsafe fopen(path, "rb") else {
      throw UsageError(text: "\(path) cannot be opened; give a file of luma")
    }
    defer { unsafe fclose(file) }
    unsafe fseek(file, 0, SEEK_END)
    count = unsafe ftell(file) / (width * height)
    unsafe rewind(file)
    guard count > 0 else {
      throw UsageError(text: "\(path) holds no frame of \(width)x\(height); give more luma")
    }
    unsafe luma = .allocate(byteCount: count * stride * height, alignment: 64)
    for row in 0..<count * height where unsafe fread(luma + row * stride, width, 1, file) != 1 {
      throw UsageError(text: "\(path) cannot be read to its end")
    }
    unsafe reports = .allocate(byteCount: Self.reportBytes, alignment: 64)
    unsafe records.initialize(to: FrameRecord())
    unsafe versions.initialize(to: VersionStorage())
    unsafe storage.initialize(
      to: FrameStorage(
        records: records, versions: versions, reports: reports, packed: reports,
        packedCounts: reports.assumingMemoryBound(to: Int.self),
        entered: reports.assumingMemoryBound(to: Int64.self)))
  }

  deinit {
    unsafe storage.deallocate()
    unsafe versions.deallocate()
    unsafe records.deallocate()
    unsafe reports.deallocate()
    unsafe luma.deallocate()
  }

  /// Shows frame `index` to a stage that declared `parts`.
  func show(_ index: Int, to stage: inout any Stage, parts: FrameParts) {
    let start = unsafe luma + index * stride * format.height
    unsafe versions.pointee.luma[0] = unsafe PlaneStorage(
      base: start.assumingMemoryBound(to: UInt8.self), stride: stride, bytesPerRow: format.width,
      rows: format.height)
    let access = FrameAccess(lane: .source, version: 0, format: format, parts: parts)
    var view = unsafe FrameView(
      unsafeStorage: storage, access: access, now: 0, neighbours: .none)
    precondition(stage.process(&view) == .keep, "the stage dropped a frame")
  }

  /// The monotonic clock, nanoseconds.
  static var now: Int64 {
    var time = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }
}
