import Glibc
import SprocketCore
import SprocketEngine
import SprocketShare
import TestExpectations
import Testing

@Suite struct ListeningSocketTests {
  /// Eight threads want the name of a socket that an earlier program left behind: one gets it, and keeps it.
  @Test func oneOfManyGetsANameThatWasLeftBehind() throws {
    let path = "/tmp/sprocket-\(getpid()).socket"
    defer { unsafe unlink(path) }
    for _ in 0..<100 {
      try leaveBehind(path)
      let made = Locked<[ListeningSocket]>([])
      let refusals = Locked<[String]>([])
      let works = try (0..<8).map { _ in
        try BackgroundWork("socket") {
          do throws(RunError) {
            let socket = try ListeningSocket(path: path, .stream, owner: "--control-socket")
            made.withLock { $0.append(socket) }
          } catch {
            refusals.withLock { $0.append(error.description) }
          }
        }
      }
      for work in works { expectTrue(work.wait(for: .seconds(60))) }
      let sockets = made.withLock { $0 }
      try #require(sockets.count == 1)
      expectEqual(SocketIdentity(path: path, followsLinks: false), sockets[0].identity)
      expectEqual(
        refusals.withLock { $0 },
        Array(
          repeating:
            "--control-socket: another program listens on \(path); choose another name", count: 7))
      sockets[0].removeName()
    }
  }

  private func leaveBehind(_ path: String) throws {
    let address = try #require(SocketAddress(path: path))
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    let result = unsafe address.withPointer { unsafe bind(descriptor, $0, $1) }
    expectEqual(result, 0)
    close(descriptor)
  }
}
