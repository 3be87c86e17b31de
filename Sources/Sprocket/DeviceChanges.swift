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
  /// It ends when its reader leaves the loop or is cancelled, within 0.1 s. Changes wait for the reader
  /// without a bound. Throws where the system lets nobody watch more, or has no thread left.
  ///
  /// Cost: one thread that sleeps; each new device is opened and asked, some ten milliseconds.
  public static func stream() throws(RunError) -> AsyncStream<DeviceChange> {
    let watch = try DeviceWatch()
    let (stream, continuation) = AsyncStream.makeStream(of: DeviceChange.self)
    let isLeft = Locked(false)
    continuation.onTermination = { _ in isLeft.withLock { $0 = true } }
    _ = try BackgroundWork<Void>("devices") {
      while !isLeft.withLock({ $0 }) {
        for change in watch.next(timeout: 100_000_000) { continuation.yield(change) }
      }
    }
    return stream
  }
}
