internal import Foundation

/// A file that is gone when this is.
public final class TestFile {
  public let path: String

  /// With that content, and a name that nobody else has.
  public init(_ bytes: [UInt8] = [], ending: String = "bin") throws {
    path =
      FileManager.default.temporaryDirectory
      .appendingPathComponent("sprocket-\(UUID().uuidString).\(ending)").path
    try write(bytes)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  public func write(_ bytes: [UInt8]) throws {
    try Data(bytes).write(to: URL(fileURLWithPath: path))
  }
}
