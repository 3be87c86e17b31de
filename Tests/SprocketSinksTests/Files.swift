import Foundation

/// A directory that is gone with its contents when this is.
final class Scratch {
  let url = FileManager.default.temporaryDirectory
    .appendingPathComponent("sprocket-" + UUID().uuidString)

  init() throws {
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: url) }

  func path(_ name: String) -> String { url.appendingPathComponent(name).path }

  func bytes(_ name: String) throws -> [UInt8] {
    [UInt8](try Data(contentsOf: url.appendingPathComponent(name)))
  }

  func text(_ name: String) throws -> String { String(decoding: try bytes(name), as: UTF8.self) }
}

/// A pipe's two ends; the writing one is for a sink.
final class TestPipe {
  let pipe = Pipe()
  var descriptor: Int32 { pipe.fileHandleForWriting.fileDescriptor }

  init() {
    // As the command does: a reader that goes away is an error, not the end of the process.
    _ = signal(SIGPIPE, SIG_IGN)
  }

  func closeReader() throws { try pipe.fileHandleForReading.close() }
}
