public import SprocketCore
internal import SprocketV4L2

/// A camera or a microphone that came or went.
public struct DeviceChange: Sendable {
  /// What happened to the device.
  public enum Event: String, Sendable {
    /// It was present when the watch began.
    case present
    /// It appeared, or the user's rights on it were granted.
    case added
    /// It disappeared, or the user's rights on it were removed.
    case removed
  }

  /// The device, with what can be told of it.
  public enum Device: Sendable {
    case camera(CameraInfo)
    case microphone(MicrophoneInfo)
  }

  public let event: Event
  /// For a removed device, its last known properties.
  public let device: Device
}

/// Reports cameras and microphones that appear and disappear. Used by one thread.
///
/// A device is reported about 0.2 s after its nodes appear, when their rights have been set. A device
/// that is replugged within that time is reported as removed and as added.
public final class DeviceWatch {
  private var watch: NodeWatch
  private var known: [String: DeviceChange.Device] = [:]
  private var isFirst = true

  /// Throws if the system's limit of inotify instances is reached.
  public init() throws(RunError) { watch = try NodeWatch() }

  /// Changes since the last call. Empty if `timeout` nanoseconds pass without a change. The first call
  /// returns the present devices at once.
  ///
  /// Cost: opens and queries each new device, about ten milliseconds each.
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

  /// Calls `body` with each change while `isWanted` is true; checks that ten times a second.
  public func follow(
    while isWanted: () -> Bool, _ body: (DeviceChange) throws -> Void
  ) rethrows {
    while isWanted() {
      for change in next(timeout: 100_000_000) { try body(change) }
    }
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
