internal import Glibc
package import SprocketCore
internal import SprocketPixels

/// One frame of a program's own, outside a run: its bytes are unpacked as an engine unpacks those of a
/// source, and passed to a sink on the caller's thread.
///
/// Cost: memory for the planes that the sink reads and for what it packs, allocated for each frame.
@safe
package final class LoneFrame {
  private let format: FrameFormat
  private let origin: FrameOrigin
  private let parts: FrameParts
  private let unpacker = FrameUnpacker()
  private let storage: UnsafeMutablePointer<FrameStorage>
  private let records: UnsafeMutablePointer<FrameRecord>
  private let version: UnsafeMutablePointer<VersionStorage>
  /// Stands for reports, of which there are none, and for counts.
  private let small: UnsafeMutableRawPointer
  private let packed: UnsafeMutablePointer<UInt8>
  private let packedCapacity: Int
  private let planes: UnsafeMutablePointer<UInt8>

  /// Passes a frame to a sink: `configure`, a packer where it has one, and `write`. `bytes` are the planes of
  /// `format.pixelFormat` one behind the other, rows without padding.
  ///
  /// Throws what the sink throws, and where an encoded frame cannot be decoded.
  package static func pass(
    _ bytes: Span<UInt8>, _ format: FrameFormat, _ record: FrameRecord, _ map: SensorMap,
    _ origin: FrameOrigin, to sink: any Sink
  ) throws(RunError) {
    var source = SourceDescription(
      name: "program", format: format, isLive: false, clock: record.captured.clock, capacity: 0)
    source.ownOrigin = origin
    var setup = SinkSetup(
      format: format, epoch: record.epoch, source: source, isUntouched: true, reports: [],
      stageNames: [])
    try sink.configure(&setup)
    let frame = try LoneFrame(format, origin, setup)
    try frame.pass(bytes, record, map, to: sink)
  }

  private init(
    _ format: FrameFormat, _ origin: FrameOrigin, _ setup: SinkSetup
  ) throws(RunError) {
    (self.format, self.origin, parts) = (format, origin, setup.parts.unpacked(format))
    let plan = try unpacker.configure(format: format, parts: parts)
    packedCapacity = setup.packedCapacity
    let places = Self.places(format, parts, plan)
    let packed = unsafe pictureMemory(packedCapacity)
    let planes = unsafe pictureMemory(places.byteCount)
    guard let packed = unsafe packed, let planes = unsafe planes else {
      // One of the two may be there.
      unsafe free(packed)
      unsafe free(planes)
      throw RunError(
        .failed, "no memory for a frame of \(format.width)x\(format.height); use a smaller size",
        change: .size)
    }
    unsafe (self.packed, self.planes) = (packed, planes)
    unsafe records = .allocate(capacity: 2)
    unsafe records.initialize(repeating: FrameRecord(), count: 2)
    unsafe version = .allocate(capacity: 1)
    unsafe version.initialize(to: VersionStorage())
    unsafe small = .allocate(byteCount: 64, alignment: 64)
    unsafe storage = .allocate(capacity: 1)
    unsafe storage.initialize(
      to: FrameStorage(
        records: records, versions: version, reports: small,
        packed: UnsafeMutableRawPointer(packed),
        packedCounts: small.assumingMemoryBound(to: Int.self),
        entered: small.assumingMemoryBound(to: Int64.self)))
    for place in places.planes {
      let plane = unsafe PlaneStorage(
        base: planes + place.offset, stride: place.stride, bytesPerRow: place.bytesPerRow,
        rows: place.rows)
      if place.index < 3 {
        unsafe version.pointee.image.planes[place.index] = unsafe plane
      } else {
        unsafe version.pointee.luma[place.index - 3] = unsafe plane
      }
    }
  }

  deinit {
    unsafe storage.deallocate()
    unsafe small.deallocate()
    unsafe version.deallocate()
    unsafe records.deallocate()
    unsafe free(planes)
    unsafe free(packed)
  }

  private struct Place {
    /// 0 to 2 for the image, 3 to 6 for luma by scale.
    let index: Int
    let offset: Int
    let stride: Int
    let bytesPerRow: Int
    let rows: Int
  }

  /// Where the planes lie that are not borrowed: whole cache lines, and two spare rows (`VersionStorage`).
  private static func places(
    _ format: FrameFormat, _ parts: FrameParts, _ plan: UnpackPlan
  ) -> (planes: [Place], byteCount: Int) {
    var places: [Place] = []
    var end = 0
    func add(_ index: Int, _ bytesPerRow: Int, _ rows: Int) {
      let stride = (bytesPerRow + 63) & ~63
      places.append(
        Place(index: index, offset: end, stride: stride, bytesPerRow: bytesPerRow, rows: rows))
      end += stride * (rows + 2)
    }
    guard let image = format.image else { return ([], 0) }
    if parts.contains(.image), !plan.borrowsImage {
      for plane in 0..<image.planeCount {
        let size = image.plane(plane, width: format.width, height: format.height)
        add(plane, size.bytesPerRow, size.rows)
      }
    }
    for scale in LumaScale.allCases where parts.contains(.luma(scale)) {
      if scale == .full, plan.borrowsLuma { continue }
      let size = format.lumaSize(scale)
      add(3 + Int(scale.rawValue), size.width, size.height)
    }
    return (places, end)
  }

  private func pass(
    _ bytes: Span<UInt8>, _ record: FrameRecord, _ map: SensorMap, to sink: any Sink
  ) throws(RunError) {
    // `bytes` are read until this returns, and not written: the engine has no other type for planes.
    unsafe try bytes.withUnsafeBufferPointer { (memory) throws(RunError) in
      guard let start = memory.baseAddress else { throw damaged }
      unsafe lend(UnsafeMutablePointer(mutating: start), count: memory.count)
      unsafe records[.source] = record
      unsafe records[.source].byteCount = memory.count
      unsafe version.pointee.sensorMap = map
      guard parts.isDisjoint(with: .pixels) || (unsafe unpacker.unpack(storage)) else {
        throw damaged
      }
      unsafe records[.lane(0)] = unsafe records[.source]
      var count = 0
      if let packer = try sink.makePacker() {
        var room = unsafe MutableSpan(_unsafeStart: packed, count: packedCapacity)
        guard let made = packer.pack(view, into: &room) else { throw damaged }
        count = made
      }
      try sink.write(
        unsafe PackedFrame(view: view, bytes: UnsafeMutableRawPointer(packed), count: count))
    }
  }

  private func lend(_ start: UnsafeMutablePointer<UInt8>, count: Int) {
    let pixels = format.pixelFormat
    var place = 0
    for plane in 0..<pixels.planeCount {
      let size = pixels.plane(plane, width: format.width, height: format.height)
      unsafe storage.pointee.source.planes[plane] =
        unsafe pixels.isEncoded
        ? PlaneStorage(base: start, stride: count, bytesPerRow: count, rows: 1)
        : PlaneStorage(
          base: start + place, stride: size.bytesPerRow, bytesPerRow: size.bytesPerRow,
          rows: size.rows)
      place += size.bytesPerRow * size.rows
    }
  }

  private var view: FrameView {
    var access = FrameAccess(lane: .lane(0), version: .unpacked, format: format, parts: parts)
    access.origin = origin
    return unsafe FrameView(
      unsafeStorage: storage, access: access, now: 0, neighbours: .none, events: [], reports: [])
  }

  private var damaged: RunError {
    RunError(
      .failed,
      "the \(format.pixelFormat.fourcc) frame of \(format.width)x\(format.height) cannot be decoded; give "
        + "bytes that are whole, of that size")
  }
}
