public import Foundation

/// Files that lie outside the package: `SPROCKET_TEST_DATA`, or `../shared/data` beside the package.
public enum TestData {
  /// The folder, whether it exists or not.
  public static let root: URL = {
    if let path = ProcessInfo.processInfo.environment["SPROCKET_TEST_DATA"] {
      return URL(fileURLWithPath: path)
    }
    return URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("../../../shared/data").standardizedFileURL
  }()

  /// Whether tests that read it can run; for `.enabled(if:)`.
  public static let isPresent = FileManager.default.fileExists(atPath: root.path)

  /// What a skipped test says.
  public static let absent = "the test data is absent; set SPROCKET_TEST_DATA to its folder"

  /// The absolute path of a file in it.
  public static func path(_ name: String) -> String { root.appendingPathComponent(name).path }

  /// A whole file.
  public static func bytes(_ name: String) throws -> [UInt8] {
    [UInt8](try Data(contentsOf: root.appendingPathComponent(name)))
  }

  /// The names of a folder's files, in alphabetical order, each with the folder before it.
  public static func files(in folder: String) -> [String] {
    let names = try? FileManager.default.contentsOfDirectory(
      atPath: root.appendingPathComponent(folder).path)
    return (names ?? []).sorted().map { folder + "/" + $0 }
  }
}

/// A program whose results tests compare with.
public enum Tool {
  /// Where `name` is on the search path, `nil` if nowhere.
  public static func find(_ name: String) -> URL? {
    let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
    return folders.lazy.map { URL(fileURLWithPath: String($0)).appendingPathComponent(name) }
      .first { FileManager.default.isExecutableFile(atPath: $0.path) }
  }

  /// Runs `name` and returns what it wrote to standard output; throws if it is absent or fails.
  public static func run(_ name: String, _ arguments: [String]) throws -> [UInt8] {
    guard let program = find(name) else { throw ToolError.absent(name) }
    let process = Process()
    process.executableURL = program
    process.arguments = arguments
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = FileHandle.nullDevice
    process.standardInput = FileHandle.nullDevice
    try process.run()
    let output = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw ToolError.failed(name) }
    return [UInt8](output)
  }
}

public enum ToolError: Error {
  case absent(String)
  case failed(String)
}
