internal import CSprocketSystem
internal import Glibc
package import SprocketCore

extension ShareReaders {
  /// Throws if a descriptor is no socket of packets. The corresponding C function is `getsockopt`.
  package static func requireSocket(_ descriptor: Int32) throws(RunError) {
    var kind: Int32 = 0
    var length = socklen_t(MemoryLayout<Int32>.size)
    let result = unsafe getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &kind, &length)
    guard result == 0, kind == Int32(SOCK_SEQPACKET.rawValue) else {
      throw RunError(
        .usage,
        "share: descriptor \(descriptor) is no Unix socket of the kind SOCK_SEQPACKET; give the "
          + "name of a share"
      )
    }
  }

  func refuse(_ descriptor: Int32, _ reason: String) {
    tell(descriptor, reason)
    close(descriptor)
  }

  /// Sends the reason why the connection ends.
  func tell(_ descriptor: Int32, _ reason: String) {
    let text = Array(#"{"error":"\#(reason)"}"#.utf8)
    _ = unsafe text.withUnsafeBytes {
      unsafe sprocket_send_packet(descriptor, $0.baseAddress, $0.count, -1)
    }
  }
}
