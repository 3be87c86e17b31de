import Foundation
import SprocketCapture

/// Runs a program. An error ends it with a sentence: exit code 2 for wrong arguments, else 1.
@MainActor public func article(
  _ name: String, _ body: @MainActor (Arguments) async throws -> Void
) async {
  do {
    let arguments = try Arguments(Array(CommandLine.arguments.dropFirst()))
    try FileManager.default.createDirectory(
      atPath: arguments.folder, withIntermediateDirectories: true)
    try await body(arguments)
  } catch {
    FileHandle.standardError.write(Data("\(name): \(error)\n".utf8))
    exit(error is UsageError ? 2 : 1)
  }
}

/// Prints a step's line at once.
public func say(_ line: String) {
  print(line)
  fflush(nil)
}

/// Prints an answer, and says whether it is yes.
@discardableResult
public func say(_ question: String, _ answer: Answer) -> Bool {
  say("\(question): " + (answer.reason.map { "no, \($0)" } ?? "yes"))
  return answer.isYes
}

/// Does what some cameras cannot do, and prints what came of it. Where the camera lacks something it prints
/// why, and the program goes on; other errors end it.
@MainActor public func attempt(
  _ step: String, accepting codes: Set<CaptureError.Code> = lacks,
  _ body: @MainActor () async throws -> String
) async throws {
  do {
    say("\(step): \(try await body())")
  } catch let error as CaptureError where codes.contains(error.code) {
    say("\(step): no, \(error)")
  }
}

/// The camera has no such control, format or value.
public let lacks: Set<CaptureError.Code> = [
  .controlUnsupported, .formatUnsupported, .presetUnsupported, .valueOutOfRange,
]

/// The same; or a stage does not find what it needs, or does not come to an end in time.
public let failsToSettle = lacks.union([.failed, .timedOut])

public func wait(_ time: Duration) async throws { try await Task.sleep(for: time) }

/// A number with so many decimals.
public func rounded(_ number: Double?, _ decimals: Int = 2) -> String {
  number.map { String(format: "%.\(decimals)f", $0) } ?? "unknown"
}

public func milliseconds(_ time: Duration?) -> String {
  "\(rounded(time.map { $0 / .milliseconds(1) }, 1)) ms"
}
