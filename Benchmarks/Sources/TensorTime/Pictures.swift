import Glibc
import Sprocket

/// Pictures in memory, each laid out as the engine lays out a slot, and room for a tensor.
@safe
final class Pictures {
  let count: Int
  private let format: FrameFormat
  private let plan: TensorPlan
  private let packer: TensorPacker
  private let memory: UnsafeMutablePointer<UInt8>
  private let pictureBytes: Int
  private let tensor: UnsafeMutablePointer<UInt8>
  private let records = UnsafeMutablePointer<FrameRecord>.allocate(capacity: 1)
  private let versions = UnsafeMutablePointer<VersionStorage>.allocate(capacity: 1)
  private let storage = UnsafeMutablePointer<FrameStorage>.allocate(capacity: 1)

  init(path: String, width: Int, height: Int, _ settings: TensorSettings) throws {
    format = FrameFormat(
      pixelFormat: .i420, width: width, height: height, color: .jpeg, rate: .unknown)
    plan = try TensorPlan(settings, for: format)
    packer = TensorPacker(plan)
    pictureBytes = PixelFormat.i420.byteCount(width: width, height: height)
    guard let file = unsafe fopen(path, "rb") else {
      throw UsageError(text: "\(path) cannot be opened; give a file of pictures")
    }
    defer { unsafe fclose(file) }
    unsafe fseek(file, 0, SEEK_END)
    count = unsafe ftell(file) / pictureBytes
    unsafe rewind(file)
    guard count > 0 else {
      throw UsageError(text: "\(path) holds no picture of \(width)x\(height); give a larger file")
    }
    unsafe memory = .allocate(capacity: count * pictureBytes)
    guard unsafe fread(memory, pictureBytes, count, file) == count else {
      throw UsageError(text: "\(path) cannot be read to its end")
    }
    let room = UnsafeMutableRawPointer.allocate(byteCount: plan.byteCount, alignment: 64)
    unsafe tensor = room.assumingMemoryBound(to: UInt8.self)
    unsafe tensor.initialize(repeating: 0, count: plan.byteCount)
    unsafe records.initialize(to: FrameRecord())
    unsafe versions.initialize(to: VersionStorage())
    unsafe storage.initialize(
      to: FrameStorage(
        records: records, versions: versions, reports: room, packed: room,
        packedCounts: UnsafeMutablePointer<Int>.allocate(capacity: 1),
        entered: UnsafeMutablePointer<Int64>.allocate(capacity: 1)))
  }

  deinit {
    unsafe memory.deallocate()
    unsafe tensor.deallocate()
    unsafe storage.deallocate()
    unsafe versions.deallocate()
    unsafe records.deallocate()
  }

  func pack(_ index: Int) {
    var start = unsafe memory + index * pictureBytes
    for plane in 0..<3 {
      let size = PixelFormat.i420.plane(plane, width: format.width, height: format.height)
      unsafe versions.pointee.image.planes[plane] = unsafe PlaneStorage(
        base: start, stride: size.bytesPerRow, bytesPerRow: size.bytesPerRow, rows: size.rows)
      unsafe start += size.bytesPerRow * size.rows
    }
    let access = FrameAccess(
      lane: .source, version: 0, format: format, parts: plan.parts)
    let view = unsafe FrameView(
      unsafeStorage: storage, access: access, now: 0, neighbours: .none)
    var bytes = unsafe MutableSpan(_unsafeStart: tensor, count: plan.byteCount)
    precondition(packer.pack(view, into: &bytes) == plan.byteCount, "a picture was not packed")
  }

  /// Reads the picture and writes the tensor once.
  func touch(_ index: Int) {
    let start = unsafe memory + index * pictureBytes
    var sum: UInt64 = 0
    unsafe start.withMemoryRebound(to: SIMD32<UInt8>.self, capacity: pictureBytes / 32) { lanes in
      var total = SIMD32<UInt8>(repeating: 0)
      for lane in 0..<pictureBytes / 32 { unsafe total &+= lanes[lane] }
      sum = UInt64(total.wrappedSum())
    }
    unsafe memset(tensor, Int32(truncatingIfNeeded: sum & 1), plan.byteCount)
  }

  /// The monotonic clock, nanoseconds.
  static var now: Int64 {
    var time = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }
}
