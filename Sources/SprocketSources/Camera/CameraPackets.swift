internal import SprocketCore
internal import SprocketLibAV
internal import SprocketV4L2

/// Which packets of a camera can be decoded, one after the other. Pure.
struct PacketCourse {
  struct Found: Equatable {
    var isKey = false
    /// It is damaged, has no picture, or refers to a packet that is damaged or did not come.
    var isCorrupt = false
    /// No key frame has come so far.
    var isEarly = false
    /// It has no parameter sets of its own.
    var lacksSets = true
    /// Its picture may refer to a later one.
    var isBidirectional = false
    var isUsable: Bool { !isCorrupt && !isEarly }
  }

  /// `.h264` or `.hevc`.
  let format: PixelFormat
  /// The latest parameter sets, with start codes.
  private(set) var parameterSets: [UInt8] = []
  /// Those of the packet that is looked at, and of the last one that had some.
  private var read: [UInt8] = []
  private var lastRead: [UInt8] = []
  /// Number of the packet that can be decoded although it is no key frame.
  private var next: UInt64?
  private var hasKey = false

  init(_ format: PixelFormat) { self.format = format }

  /// The stream begins anew.
  mutating func restart() { (next, hasKey) = (nil, false) }

  /// The last packet could not be decoded: those up to the next key frame cannot either.
  mutating func lose() { next = nil }

  /// Looks at the packet with that number. `isDamaged`: the driver says so.
  mutating func check(_ bytes: Span<UInt8>, number: UInt64, isDamaged: Bool) -> Found {
    let units = PacketUnits(bytes, format, parameterSets: &read)
    if !isDamaged, !read.isEmpty, read != lastRead {
      lastRead = read
      parameterSets = PacketUnits.merge(parameterSets, with: read, format)
    }
    var found = Found(
      isKey: units.isKey && !isDamaged, lacksSets: read.isEmpty,
      isBidirectional: units.isBidirectional)
    if !isDamaged, units.hasPicture, !parameterSets.isEmpty, units.isKey || number == next {
      hasKey = true
      next = number + 1
    } else {
      // Some cameras give parameter sets in a packet of their own, to which no picture refers.
      let isHeader = !isDamaged && !units.hasPicture && !read.isEmpty
      next = isHeader && number == next ? number + 1 : nil
      (found.isCorrupt, found.isEarly) = (hasKey || isDamaged, !hasKey)
    }
    return found
  }
}

/// The H.264 or HEVC of a camera, and the pictures that are decoded of it.
///
/// While a stage or sink reads pictures, every packet is decoded, even if the run has no room for its frame:
/// the next packet refers to it. When nobody reads pictures any more, decoding stops at the next key frame.
/// From there on the packets since the last key frame are kept, and are decoded at once when a stage or sink
/// is added that reads pictures.
final class CameraPackets {
  private(set) var course: PacketCourse
  private var decoder: PacketDecoder
  /// The decoder has not had all packets since a key frame.
  private var awaitsKey = true
  /// Whether somebody reads pictures.
  private var isRead = true
  /// The run knows pictures of these parameter sets.
  private var knownSets: [UInt8] = []
  /// Packets since the last key frame that were not decoded, one behind the other, and where each ends.
  private var kept: [UInt8] = []
  private var keptEnds: [Int] = []
  /// That of the packet that was looked at last.
  private(set) var picture: DecodedFrame?
  private(set) var undecodable: UInt64 = 0
  /// Pictures refer to later ones.
  private(set) var isReordered = false

  init(_ format: PixelFormat, name: String) throws(MediaError) {
    course = PacketCourse(format)
    decoder = try PacketDecoder(format, name: name)
  }

  func restart() {
    course.restart()
    awaitsKey = true
    forget()
  }

  /// Most packets and bytes that are kept: decoding these takes some 250 ms at 1080p, and as long eight
  /// buffers of a driver last at 30 frames/s. Larger: streams with fewer key frames, and packets that are
  /// lost meanwhile. Where there are more, a stage that comes later waits for a key frame.
  private static let mostKept = (packets: 45, bytes: 8 << 20)

  private func forget() {
    kept.removeAll(keepingCapacity: true)
    keptEnds.removeAll(keepingCapacity: true)
  }

  /// Looks at a packet, and decodes it if somebody reads its picture, or the run does not know what pictures
  /// of its parameter sets are.
  func take(_ bytes: Span<UInt8>, number: UInt64, isDamaged: Bool) -> PacketCourse.Found {
    picture = nil
    var found = course.check(bytes, number: number, isDamaged: isDamaged)
    isReordered = isReordered || found.isBidirectional && found.isUsable
    if found.isKey || !found.isUsable { forget() }
    guard found.isUsable else {
      awaitsKey = true
      return found
    }
    let isNew = found.isKey && course.parameterSets != knownSets
    if isRead || isNew || !found.isKey && !awaitsKey {
      decode(bytes, isKey: found.isKey, lacksSets: found.lacksSets)
      guard picture == nil else { return found }
      found.isCorrupt = true
      undecodable += 1
      course.lose()
    } else {
      keep(bytes, isKey: found.isKey)
    }
    awaitsKey = true
    return found
  }

  private func keep(_ bytes: Span<UInt8>, isKey: Bool) {
    guard isKey || !keptEnds.isEmpty, keptEnds.count < Self.mostKept.packets,
      kept.count + bytes.count <= Self.mostKept.bytes
    else { return forget() }
    if kept.capacity == 0 { kept.reserveCapacity(Self.mostKept.bytes) }
    unsafe bytes.withUnsafeBufferPointer { unsafe kept.append(contentsOf: $0) }
    keptEnds.append(kept.count)
  }

  private func decode(_ bytes: Span<UInt8>, isKey: Bool, lacksSets: Bool) {
    if awaitsKey, isKey {
      decoder.flush()
      awaitsKey = false
    }
    picture = nil
    guard !awaitsKey else { return }
    let sets = isKey && lacksSets ? course.parameterSets : []
    do throws(MediaError) { picture = try decoder.decode(bytes, behind: sets.span) } catch {}
    isReordered = isReordered || decoder.reorders
  }

  /// Lends the picture, if there is one. `needs`: whether pictures are read, from this one on.
  func lend(to slot: inout CaptureSlot, needs: Bool) {
    if needs, picture == nil, !keptEnds.isEmpty {
      var start = 0
      for end in keptEnds {
        decode(kept.span.extracting(start..<end), isKey: start == 0, lacksSets: true)
        if picture == nil { break }
        start = end
      }
      awaitsKey = picture == nil
      forget()
    }
    isRead = needs
    var packet: EncodedPacket?
    let size = (picture?.width ?? slot.format.width, picture?.height ?? slot.format.height)
    if needs, size == (slot.format.width, slot.format.height) { slot.lend(&packet, &picture) }
    picture = nil
  }

  func dropPicture() { picture = nil }

  /// `format` as the picture that was decoded last has it, which the run then knows; `nil` where there is
  /// none.
  func pictureFormat(_ format: FrameFormat) -> FrameFormat? {
    guard let pixels = picture?.format, let color = picture?.color, let width = picture?.width,
      let height = picture?.height
    else { return nil }
    var found = FrameFormat(
      pixelFormat: pixels, width: width, height: height, color: Color(color, pixels),
      rate: format.rate, presentation: format.presentation)
    found.packets = PacketStream(course.format, parameterSets: course.parameterSets)
    knownSets = course.parameterSets
    return found
  }
}

extension CameraSource {
  /// V4L2_CID_MPEG_VIDEO_FORCE_KEY_FRAME of `linux/v4l2-controls.h`.
  private static let forceKeyFrame: UInt32 = 0x0099_09E5
  /// Nanoseconds after which a camera is asked again that gave no key frame, a second. Larger: more frames
  /// are lost where a request was; smaller: cameras that need so long are asked twice.
  private static let keyFramePatience: Int64 = 1_000_000_000

  /// Looks at a packet of H.264 or HEVC, and asks the camera for a key frame where one is needed. Returns the
  /// format of its picture, where that is known.
  func take(packet frame: V4L2Frame, _ arrived: inout ArrivedFrame) -> FrameFormat? {
    guard let packets else { return nil }
    let bytes = unsafe Span(_unsafeElements: bytes(of: frame))
    let found = packets.take(bytes, number: arrived.sequence, isDamaged: arrived.isCorrupt)
    arrived.isKey = found.isKey
    arrived.isCorrupt = arrived.isCorrupt || found.isCorrupt
    arrived.isStartup = arrived.isStartup || found.isEarly
    if found.isKey { askedForKey = nil }
    if !found.isUsable { keyFrames.ask() }
    if packets.isReordered { failure = reorderingError }
    guard found.isKey, found.isUsable, let format else { return nil }
    return packets.pictureFormat(format)
  }

  private var reorderingError: RunError {
    RunError(
      .usage,
      "\(title) makes pictures that refer to later ones (B frames), whose order is not that of their "
        + "times: set its control video_b_frames to 0", change: .format)
  }

  /// Asks the camera for a key frame if somebody wants one, and again if none comes.
  func forceKeyFrames() {
    guard packets != nil, keyFrames.take() else { return }
    let now = monotonicNow()
    guard askedForKey.map({ now - $0 > Self.keyFramePatience }) ?? true,
      let control = controls.all.first(where: { $0.id == Self.forceKeyFrame })
    else { return }
    do throws(V4L2Error) {
      _ = try device?.set(control, to: 1)
      askedForKey = now
    } catch {}
  }

  /// Looks at the first packets until one was decoded. `nil` where this one was not.
  func lookAtPacket(_ frame: V4L2Frame, _ format: FrameFormat) throws(RunError) -> FrameFormat? {
    guard let packets else { return nil }
    let bytes = unsafe Span(_unsafeElements: bytes(of: frame))
    _ = packets.take(bytes, number: UInt64(frame.sequence), isDamaged: frame.isDamaged)
    defer { packets.dropPicture() }
    if packets.isReordered { throw reorderingError }
    return packets.pictureFormat(format)
  }
}
