public import SprocketCore
internal import SprocketV4L2

/// A camera or a microphone that came or went.
public struct DeviceChange: Sendable {
  public enum Event: String, Sendable {
    /// It was there before anybody watched.
    case present
    /// It was plugged in, or its driver made it, or this user may use it now.
    case added
    /// It was unplugged, or its driver took it away, or this user may not use it any more.
    case removed
  }

  public enum Device: Sendable {
    case camera(CameraInfo)
    case microphone(MicrophoneInfo)
  }

  public let event: Event
  /// Of one that was removed, what was known of it.
  public let device: Device
}

/// Tells of cameras and microphones that come and go. One thread uses it.
///
/// A device is told of some 0.2 s after its nodes have come, when the system has given their rights. One
/// that is removed and comes again in that time is told of as both.
public final class DeviceWatch {
  private var watch: NodeWatch
  private var known: [String: DeviceChange.Device] = [:]
  private var isFirst = true

  /// Throws where the system lets nobody watch more.
  public init() throws(RunError) { watch = try NodeWatch() }

  /// What changed since the last call; empty after `timeout` nanoseconds without a change. The first call
  /// returns at once with all that is there.
  ///
  /// Cost: each new device is opened and asked, some ten milliseconds; known ones are left alone.
  public func next(timeout: Int64) -> [DeviceChange] {
    if isFirst {
      isFirst = false
      return watch.nodes.keys.sorted(by: Self.precedes).compactMap { add($0, as: .present) }
    }
    guard watch.wait(timeout: timeout) else { return [] }
    let (gone, new) = watch.changes()
    let removed = gone.compactMap { name in
      known.removeValue(forKey: name).map { DeviceChange(event: .removed, device: $0) }
    }
    return removed + new.sorted(by: Self.precedes).compactMap { add($0, as: .added) }
  }

  /// `video2` before `video10`.
  private static func precedes(_ one: String, _ other: String) -> Bool {
    (one.utf8.count, one) < (other.utf8.count, other)
  }

  private func add(_ name: String, as event: DeviceChange.Event) -> DeviceChange? {
    let device: DeviceChange.Device?
    if NodeWatch.isCamera(name) {
      device = CameraInfo(at: "/dev/\(name)").map { .camera($0) }
    } else {
      device = MicrophoneInfo(node: name).map { .microphone($0) }
    }
    known[name] = device
    return device.map { DeviceChange(event: event, device: $0) }
  }
}
