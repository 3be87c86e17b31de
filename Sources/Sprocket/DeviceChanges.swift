public import SprocketCore
internal import SprocketEngine
public import SprocketSources

extension DeviceChange {
  /// Cameras and microphones as they come and go; first those that are there.
  ///
  ///     for await change in try DeviceChange.stream() {
  ///       if case .camera(let camera) = change.device { print(change.event, camera.card) }
  ///     }
  ///
  /// It ends within 0.1 s after its reader leaves the loop or is cancelled. Unread changes are kept
  /// without a limit. Throws if the system's limit of inotify instances or of threads is reached.
  ///
  /// Cost: one sleeping thread; opens and queries each new device, about ten milliseconds each.
  public static func stream() throws(RunError) -> AsyncStream<DeviceChange> {
    let watch = try DeviceWatch()
    let (stream, continuation) = AsyncStream.makeStream(of: DeviceChange.self)
    let isLeft = Locked(false)
    continuation.onTermination = { _ in isLeft.withLock { $0 = true } }
    _ = try BackgroundWork<Void>("devices") {
      watch.follow(while: { !isLeft.withLock { $0 } }) { continuation.yield($0) }
    }
    return stream
  }
}
