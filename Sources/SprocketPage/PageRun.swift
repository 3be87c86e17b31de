package import Sprocket

/// What a page asks of the run that it shows. Calls come on the server's thread, and must not wait.
package protocol PageRun: Sendable {
  /// Lets the page's sink have frames, or no more. It may be asked again: nothing changes then.
  func watch(_ isWatched: Bool)
  /// Answers an object as the control socket does (docs/on-demand.md): one line of JSON. `done` may be called
  /// later, on any thread.
  func answer(_ object: [UInt8], _ done: @escaping @Sendable (String) -> Void)
  /// The run's state, as the answer to `status` has it.
  func status() -> String
  /// What can be set: JSON.
  func controls() -> String
  /// Figures in Prometheus' text format.
  func metrics() -> String
  /// Events since the last call for this reader: lines of JSON.
  func events(since mark: inout NewsMark) -> [String]
}

/// Limits of a page. A larger value lets more, longer or slower clients in, at the cost of memory.
enum PageLimits {
  /// Clients at a time.
  static let clients = 64
  /// Bytes of a request's body.
  static let body = 1 << 16
  /// Seconds for a request to come, and between two requests of a connection.
  static let idleSeconds: Int64 = 10
  /// Seconds for a client to take a picture, or an answer; one that takes longer is disconnected.
  static let stallSeconds: Int64 = 20
  /// Requests of a connection per second, and messages of a WebSocket.
  static let requestsPerSecond = 50
  static let messagesPerSecond = 200
  /// Seconds between two pings of a WebSocket: a client that has not answered by the next one is gone.
  static let pingSeconds = 30
  /// Milliseconds for which pictures are made for nobody, after the last one left: for snapshots that follow
  /// each other.
  static let lingerMilliseconds: Int64 = 2000
  /// Bytes that the kernel may keep unsent for a client. Larger: a slow client sees older pictures; smaller:
  /// more wake-ups per picture.
  static let unsentBytes: Int32 = 1 << 14
}
