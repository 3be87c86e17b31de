import Foundation

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
