internal import Glibc
internal import SprocketCodecs
public import SprocketCore
internal import SprocketLibAV
internal import SprocketV4L2

// Frames on their way from the driver's buffers into slots, and back.

extension CameraSource {
  public func takeEvents(into events: inout EventQueue) { events.take(from: &controls.ready) }

  public func take(into slot: inout CaptureSlot) {
    guard let (frame, isCorrupt) = held.map({ ($0.frame, $0.arrived.isCorrupt) }) else {
      contractBroken("takes a frame that was not announced; call `next` until it says .frame")
    }
    held = nil
    if packets != nil {
      takePacket(frame, into: &slot)
    } else if let layout, !isCorrupt, loans.canLend {
      lend(frame, layout, to: &slot)
    } else {
      copy(frame, into: &slot)
      giveBack(frame.index)
    }
  }

  public func discard() {
    guard let index = held?.frame.index else { return }
    held = nil
    packets?.dropPicture()
    giveBack(index)
  }

  /// Copies the packet beside its picture, which is lent.
  private func takePacket(_ frame: V4L2Frame, into slot: inout CaptureSlot) {
    packets!.lend(to: &slot, needs: slot.needsPicture)
    let source = unsafe bytes(of: frame)
    var memory = slot.bytes
    let count = min(source.count, memory.count)
    unsafe memory.withUnsafeMutableBytes { target in
      guard count > 0, let to = target.baseAddress, let from = source.baseAddress else { return }
      unsafe memcpy(to, from, count)
    }
    if count > 0 { slot.addPacket(count) }
    giveBack(frame.index)
    copied += 1
  }

  private func lend(_ frame: V4L2Frame, _ layout: CameraLayout, to slot: inout CaptureSlot) {
    guard let handle = unsafe UnsafeMutableRawPointer(bitPattern: opening << 8 | frame.index)
    else { preconditionFailure("openings are counted from 1") }
    var image = unsafe ImageStorage()
    var exported = ExportedPlanes()
    for (index, place) in layout.planes.enumerated() {
      guard let start = unsafe bytes(of: frame, piece: place.piece).baseAddress else {
        preconditionFailure("a buffer that holds a frame has an address")
      }
      unsafe image.planes[index] = unsafe PlaneStorage(
        base: start + place.offset, stride: place.stride, bytesPerRow: place.bytesPerRow,
        rows: place.rows)
      guard settings.export else { continue }
      exported.append(
        ExportedPlanes.Plane(
          descriptor: device!.descriptor(frame.index, piece: place.piece),
          offset: frame.range(place.piece).lowerBound + place.offset, bytesPerRow: place.stride))
    }
    unsafe slot.lend(
      image, byteCount: packedCount(slot.format), handle: handle, exported: exported)
    loans.didLend(frame.index)
    borrowed += 1
  }

  private func packedCount(_ format: FrameFormat) -> Int {
    format.pixelFormat.byteCount(width: format.width, height: format.height)
  }

  /// Copies the frame, of a raw one the rows without what lies between them; of one that is too short,
  /// what there is.
  private func copy(_ frame: V4L2Frame, into slot: inout CaptureSlot) {
    var count = 0
    let places = layout?.planes ?? []
    var memory = slot.bytes
    unsafe memory.withUnsafeMutableBytes { target in
      func add(_ source: UnsafeMutableBufferPointer<UInt8>, _ offset: Int, _ length: Int) {
        let room = min(length, source.count - offset, target.count - count)
        guard room > 0, let to = target.baseAddress, let from = source.baseAddress
        else { return }
        unsafe memcpy(to + count, from + offset, room)
        count += room
      }
      guard !places.isEmpty else {
        let source = unsafe bytes(of: frame)
        return unsafe add(source, 0, source.count)
      }
      for place in places {
        let source = unsafe bytes(of: frame, piece: place.piece)
        if place.stride == place.bytesPerRow {
          unsafe add(source, place.offset, place.bytesPerRow * place.rows)
        } else {
          for row in 0..<place.rows {
            unsafe add(source, place.offset + row * place.stride, place.bytesPerRow)
          }
        }
      }
    }
    slot.filled(count)
    copied += 1
  }

  /// The frame's bytes in a piece of the driver's memory.
  func bytes(of frame: V4L2Frame, piece: Int = 0) -> UnsafeMutableBufferPointer<UInt8> {
    let buffer = unsafe device!.memory(frame.index, piece: piece)
    let part = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[frame.range(piece)])
    return unsafe part.assumingMemoryBound(to: UInt8.self)
  }

  public func reclaim(_ lent: UnsafeMutableRawPointer) {
    if packets != nil { return unsafe releaseLent(lent) }
    let index = Int(bitPattern: lent) & 0xFF
    guard Int(bitPattern: lent) >> 8 == opening else {
      retiredLoans.didReturn(index)
      if !retiredLoans.hasLent { retired = nil }
      return
    }
    loans.didReturn(index)
    giveBack(index)
  }

  /// Lets the driver fill a buffer. One that it refuses is tried again before the next frame; that the
  /// device is gone, taking a frame tells.
  func giveBack(_ index: Int) {
    do throws(V4L2Error) {
      try device?.queue(index)
      loans.didQueue(index)
    } catch {}
  }

  /// What the driver refused before.
  func giveBackIdle() {
    var idle = loans.idle
    while idle != 0 {
      giveBack(idle.trailingZeroBitCount)
      idle &= idle - 1
    }
  }

  /// Marks a frame that is broken. Returns the format that it has itself, if it says so.
  func check(_ frame: V4L2Frame, _ arrived: inout ArrivedFrame) -> FrameFormat? {
    if let layout {
      let isShort = layout.byteCounts.indices.contains {
        frame.range($0).count < layout.byteCounts[$0]
      }
      arrived.isCorrupt = arrived.isCorrupt || isShort
      return nil
    }
    let bytes = unsafe Span(_unsafeElements: bytes(of: frame))
    guard let header = damage.check(bytes, fullHeight: format?.height) else {
      arrived.isCorrupt = true
      return nil
    }
    // If frames of this kind cannot be unpacked, each is accepted as it is.
    guard let format, format.image != nil else { return nil }
    // A single field, where frames have two, is an incomplete frame.
    if format.hasFieldImages, !header.isFieldPair, header.height < format.height {
      arrived.isCorrupt = true
      return nil
    }
    return header.described(format)
  }
}
