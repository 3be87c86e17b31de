/// A slot that a source fills: with `filled`, after writing into `bytes`, or with `lend`. One that is neither
/// filled nor lent to is a `corrupt` frame.
@safe
public struct CaptureSlot: ~Copyable {
  @usableFromInline let storage: UnsafeMutablePointer<FrameStorage>
  /// The format of the epoch, which the source described.
  public let format: FrameFormat

  /// For the engine. `storage` outlives the slot.
  public init(unsafeStorage storage: UnsafeMutablePointer<FrameStorage>, format: FrameFormat) {
    unsafe self.storage = unsafe storage
    self.format = format
  }

  /// The slot's own memory, `SourceDescription.capacity` bytes; they hold anything. Valid for the call of
  /// `take`.
  public var bytes: MutableSpan<UInt8> {
    @_lifetime(&self)
    mutating get {
      let count = unsafe storage.pointee.sourceCapacity
      guard let memory = unsafe storage.pointee.sourceMemory else { return MutableSpan() }
      let start = unsafe memory.assumingMemoryBound(to: UInt8.self)
      let span = unsafe MutableSpan(_unsafeStart: start, count: count)
      return unsafe _overrideLifetime(span, mutating: &self)
    }
  }

  /// Declares that the first `count` of `bytes` are the frame: its planes, one behind the other, without
  /// padding. `count` is 0 if nothing arrived. A frame is `corrupt` if it has no bytes, or if it is raw and
  /// has fewer bytes than its format needs; the missing bytes are then 0. An encoded one may have any length.
  public mutating func filled(_ count: Int) {
    let room = unsafe storage.pointee.sourceCapacity
    contract(
      count <= room,
      "fills \(count) bytes of a slot that has \(room); say more in SourceDescription.capacity")
    unsafe storage.pointee.clearSource()
    let whole = packedCount
    guard count > 0, whole <= room, let memory = unsafe storage.pointee.sourceMemory else { return }
    if count < whole {
      // What an earlier frame left there.
      unsafe (memory + count).initializeMemory(as: UInt8.self, repeating: 0, count: whole - count)
    }
    unsafe storage.pointee.source = unsafe ImageStorage(
      packedAt: memory.assumingMemoryBound(to: UInt8.self), byteCount: count, format)
    unsafe storage.pointee.records[.source].byteCount = whole > 0 ? min(count, whole) : count
  }

  /// Whether anything but the packet is read of this frame. If not, a source need not decode it: the packet
  /// is the whole frame.
  public var needsPicture: Bool { unsafe storage.pointee.needsPicture }

  /// Declares that the first `count` of `bytes`, 1 or more, are the frame's packet, beside the picture that
  /// `lend` gives. For a source whose format has `packets`. Called after `lend`.
  public mutating func addPacket(_ count: Int) {
    let room = unsafe storage.pointee.sourceCapacity
    contract(
      1...max(1, room) ~= count,
      "adds a packet of \(count) bytes to a slot that has \(room); say more in SourceDescription.capacity"
    )
    unsafe storage.pointee.packetCount = count
    if unsafe storage.pointee.lent == nil {
      unsafe storage.pointee.records[.source].byteCount = count
    }
  }

  /// Bytes of a raw frame without padding; 0 if frames are encoded, which have any length.
  private var packedCount: Int {
    format.pixelFormat.isEncoded
      ? 0 : format.pixelFormat.byteCount(width: format.width, height: format.height)
  }

  /// Lends the source's own memory: one plane of encoded bytes, or the planes of a picture, which have
  /// `byteCount` bytes without padding. A picture whose planes are smaller than those of its format is
  /// `corrupt`. The engine passes `handle` to `Source.reclaim` after the last reader. `exported` gives other
  /// devices access to the memory (DMABUF).
  public mutating func lend(
    _ image: ImageStorage, byteCount: Int, handle: UnsafeMutableRawPointer,
    exported: ExportedPlanes = ExportedPlanes()
  ) {
    unsafe storage.pointee.exported = exported
    unsafe storage.pointee.source = unsafe image
    unsafe storage.pointee.records[.source].byteCount =
      format.pixelFormat.isEncoded ? byteCount : min(byteCount, packedCount)
    unsafe storage.pointee.lent = unsafe handle
  }
}

extension FrameStorage {
  /// Lets the source's part be empty, as where nothing arrived.
  package mutating func clearSource() {
    unsafe exported = ExportedPlanes()
    unsafe source = unsafe ImageStorage()
    unsafe packetCount = 0
    unsafe records[.source].byteCount = 0
  }

  /// Whether the source delivered a whole frame of `format`: any bytes of an encoded one, all planes of a
  /// raw one. Whether what is encoded is whole, unpacking finds out.
  package func holdsFrame(of format: FrameFormat) -> Bool {
    let pixels = format.pixelFormat
    let count = unsafe records[.source].byteCount
    let hasPackets = format.packets != nil
    if hasPackets, unsafe packetCount == 0 { return false }
    if unsafe !needsPicture && hasPackets { return true }
    guard !pixels.isEncoded else { return count > 0 }
    var whole = 0
    for index in 0..<pixels.planeCount {
      let size = pixels.plane(index, width: format.width, height: format.height)
      let plane = unsafe source.planes[index]
      guard unsafe plane.rows >= size.rows, unsafe plane.bytesPerRow >= size.bytesPerRow else {
        return false
      }
      whole += size.bytesPerRow * size.rows
    }
    return count >= whole
  }
}

extension ImageStorage {
  /// The planes of an unpadded frame that starts at `base`; for an encoded one, a plane of one row of
  /// `byteCount` bytes.
  public init(packedAt base: UnsafeMutablePointer<UInt8>, byteCount: Int, _ format: FrameFormat) {
    unsafe self.init()
    if format.pixelFormat.isEncoded {
      unsafe planes[0] = PlaneStorage(
        base: base, stride: byteCount, bytesPerRow: byteCount, rows: 1)
      return
    }
    var start = unsafe base
    for index in 0..<format.pixelFormat.planeCount {
      let size = format.pixelFormat.plane(index, width: format.width, height: format.height)
      unsafe planes[index] = PlaneStorage(
        base: start, stride: size.bytesPerRow, bytesPerRow: size.bytesPerRow, rows: size.rows)
      unsafe start += size.bytesPerRow * size.rows
    }
  }
}
