internal import ArgumentParser
internal import Glibc
internal import Sprocket

/// `plot`: becomes the program that draws, which is in Python and lies beside this one.
struct PlotCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "plot", abstract: "Draws what a run's reports say, over time, on one page.",
    discussion: """
      The reports are what --reports writes. Without fields, what built-in stages report has panels made for \
      it, and each number of any other stage is drawn. Fields share an axis where they have the same unit. \
      It needs Python with matplotlib.

      EXAMPLES:
        \(programName) plot reports.jsonl run.png
        \(programName) plot reports.jsonl run.svg --fields focus,meter.highlight
      """)

  @Argument(help: "The reports: JSON Lines.", completion: .file())
  var reports: String

  @Argument(
    help: ArgumentHelp("The picture.", valueName: "out.png | out.svg"), completion: .file())
  var out: String

  @Option("What is drawn: stages, or fields of stages.", takes: "stage[.field],...")
  var fields: String?

  @Option("The program whose stages tell their units; this one by default.", takes: "path")
  var program: String?

  @Flag(help: "Replaces a picture that exists.")
  var overwrite = false

  /// The program that draws. `make release` and `make install` put it beside this one.
  private static let name = "sprocket-plot"

  /// Throws if it cannot be started. The corresponding C functions are `readlink` and `execv`.
  func execute() throws(RunError) -> Never {
    let own = try Self.ownPath()
    let folder = own.lastIndex(of: "/").map { own[...$0] } ?? ""
    guard Self.hasPython else {
      throw RunError(
        .failed, "no python3 is in PATH; install Debian's python3-matplotlib, which needs it")
    }
    let words =
      [Self.name, "--program=\(program ?? own)"] + (fields.map { ["--fields=\($0)"] } ?? [])
      + (overwrite ? ["--overwrite"] : []) + ["--", reports, out]
    let texts = unsafe words.map { unsafe strdup($0) } + [nil]
    _ = unsafe execv(folder + Self.name, texts)
    let code = errno
    throw RunError(
      .failed,
      "\(folder)\(Self.name) cannot be started (\(RunError.text(code))); `make release` "
        + "or `make install` puts it there")
  }

  /// Whether `env python3`, by which the program is started, finds one. The corresponding C functions are
  /// `getenv` and `access`.
  private static var hasPython: Bool {
    let path = unsafe getenv("PATH").map { unsafe String(cString: $0) } ?? "/usr/bin:/bin"
    return path.split(separator: ":").contains { unsafe access("\($0)/python3", X_OK) == 0 }
  }

  private static func ownPath() throws(RunError) -> String {
    var path = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = unsafe readlink("/proc/self/exe", &path, path.count - 1)
    guard count > 0 else {
      throw RunError(.failed, "/proc/self/exe cannot be read; mount /proc")
    }
    return String(decoding: path.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
