internal import SprocketCore
internal import SprocketLibAV
internal import SprocketV4L2

/// Which packets of a camera can be decoded, one after the other. Pure.
struct PacketCourse {
  struct Found: Equatable {
    var isKey = false
    /// It is damaged, or refers to a packet that is damaged or did not come.
    var isCorrupt = false
    /// No key frame has come so far.
    var isEarly = false
    /// It begins with other parameter sets than those before.
    var hasNewSets = false
    var isUsable: Bool { !isCorrupt && !isEarly }
  }

  /// `.h264` or `.hevc`.
  let format: PixelFormat
  /// The latest parameter sets, with start codes.
  private(set) var parameterSets: [UInt8] = []
  private var read: [UInt8] = []
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
    var found = Found(isKey: units.isKey)
    if !isDamaged, !read.isEmpty, units.isKey || !units.hasPicture {
      found.hasNewSets = read != parameterSets
      if found.hasNewSets { parameterSets = read }
    }
    let isDecodable =
      !isDamaged && units.hasPicture && !parameterSets.isEmpty && (units.isKey || number == next)
    if isDecodable {
      hasKey = true
      next = number + 1
    } else {
      next = nil
      (found.isCorrupt, found.isEarly) = (hasKey || isDamaged, !hasKey)
    }
    return found
  }
}

/// The H.264 or HEVC of a camera, and the pictures that are decoded of it.
///
/// Every packet is decoded, also one for which the run has no room: the next one refers to it. Nothing is
/// decoded from a key frame on at which nobody reads pictures. Then the packets since the last key frame are
/// kept, and decoded at once for a stage or sink that comes later, so that it costs no frame.
final class CameraPackets {
  private(set) var course: PacketCourse
  private var decoder: PacketDecoder
  /// The decoder has not had all packets since a key frame.
  private var awaitsKey = true
  /// Whether somebody reads pictures.
  private var isRead = true
  /// Packets since the last key frame that were not decoded, one behind the other, and where each ends.
  private var kept: [UInt8] = []
  private var keptEnds: [Int] = []
  /// That of the packet that was looked at last.
  private(set) var picture: DecodedFrame?
  private(set) var undecodable: UInt64 = 0

  init(_ format: PixelFormat, name: String) throws(MediaError) {
    course = PacketCourse(format)
    decoder = try PacketDecoder(format, name: name)
  }

  /// Whether the camera's encoder makes pictures that refer to later ones.
  var reorders: Bool { decoder.reorders }

  func restart() {
    course.restart()
    awaitsKey = true
    forget()
  }

  /// Most bytes of packets that are kept, 64 MB: two seconds of 250 Mbit/s. Larger: more memory, and more to
  /// decode at once. A stage that comes when there are more waits for a key frame.
  private static let mostKept = 64 << 20

  private func forget() {
    kept.removeAll(keepingCapacity: true)
    keptEnds.removeAll(keepingCapacity: true)
  }

  /// Looks at a packet, and decodes it if somebody reads its picture.
  func take(_ bytes: Span<UInt8>, number: UInt64, isDamaged: Bool) -> PacketCourse.Found {
    picture = nil
    var found = course.check(bytes, number: number, isDamaged: isDamaged)
    if found.isKey || !found.isUsable { forget() }
    guard found.isUsable else {
      awaitsKey = true
      return found
    }
    if isRead || found.hasNewSets || !found.isKey && !awaitsKey {
      decode(bytes, isKey: found.isKey)
      guard picture == nil else { return found }
      found.isCorrupt = true
      undecodable += 1
      course.lose()
    } else if kept.count + bytes.count <= Self.mostKept, found.isKey || !keptEnds.isEmpty {
      for index in bytes.indices { kept.append(bytes[index]) }
      keptEnds.append(kept.count)
    } else {
      forget()
    }
    awaitsKey = true
    return found
  }

  private func decode(_ bytes: Span<UInt8>, isKey: Bool) {
    if awaitsKey, isKey {
      decoder.flush()
      awaitsKey = false
    }
    picture = nil
    guard !awaitsKey else { return }
    do throws(MediaError) { picture = try decoder.decode(bytes) } catch {}
  }

  /// Lends the picture, if there is one. `needs`: whether pictures are read, from this one on.
  func lend(to slot: inout CaptureSlot, needs: Bool) {
    if needs, picture == nil, !keptEnds.isEmpty {
      var start = 0
      for end in keptEnds {
        decode(kept.span.extracting(start..<end), isKey: start == 0)
        start = end
      }
      awaitsKey = picture == nil
      forget()
    }
    isRead = needs
    var packet: EncodedPacket?
    if needs { slot.lend(&packet, &picture) }
    picture = nil
  }

  func dropPicture() { picture = nil }

  /// `format` as the picture that was decoded last has it; `nil` where there is none.
  func pictureFormat(_ format: FrameFormat) -> FrameFormat? {
    guard let pixels = picture?.format, let color = picture?.color, let width = picture?.width,
      let height = picture?.height
    else { return nil }
    var found = FrameFormat(
      pixelFormat: pixels, width: width, height: height, color: Color(color, pixels),
      rate: format.rate, presentation: format.presentation)
    found.packets = PacketStream(course.format, parameterSets: course.parameterSets)
    return found
  }
}

extension CameraSource {
  /// V4L2_CID_MPEG_VIDEO_FORCE_KEY_FRAME of `linux/v4l2-controls.h`.
  private static let forceKeyFrame: UInt32 = 0x0099_09E5

  /// Looks at a packet of H.264 or HEVC, and asks the camera for a key frame where one is needed.
  func take(packet frame: V4L2Frame, _ arrived: inout ArrivedFrame) -> FrameFormat? {
    let bytes = unsafe Span(_unsafeElements: bytes(of: frame))
    let found = packets!.take(bytes, number: arrived.sequence, isDamaged: arrived.isCorrupt)
    arrived.isKey = found.isKey
    arrived.isCorrupt = arrived.isCorrupt || found.isCorrupt
    arrived.isStartup = arrived.isStartup || found.isEarly
    if found.isKey { hasAskedForKey = false }
    if !found.isUsable { keyFrames.ask() }
    guard found.hasNewSets, found.isUsable, let format else { return nil }
    return packets!.pictureFormat(format)
  }

  /// Asks the camera for a key frame if somebody wants one, once until it comes.
  func forceKeyFrames() {
    guard packets != nil, keyFrames.take(), !hasAskedForKey else { return }
    hasAskedForKey = true
    guard let control = controls.all.first(where: { $0.id == Self.forceKeyFrame }) else { return }
    do throws(V4L2Error) { _ = try device?.set(control, to: 1) } catch {}
  }

  /// Looks at the first packets until one was decoded. `nil` where this one was not.
  func lookAtPacket(_ frame: V4L2Frame, _ format: FrameFormat) throws(RunError) -> FrameFormat? {
    let bytes = unsafe Span(_unsafeElements: bytes(of: frame))
    _ = packets!.take(bytes, number: UInt64(frame.sequence), isDamaged: frame.isDamaged)
    defer { packets!.dropPicture() }
    guard let found = packets!.pictureFormat(format) else { return nil }
    guard !packets!.reorders else {
      throw RunError(
        .usage,
        "\(title) makes pictures that refer to later ones (B frames), whose order is not that of their "
          + "times: set its control video_b_frames to 0", change: .format)
    }
    return found
  }
}
