internal import Sprocket
internal import SprocketPipelines

// `sprocket photo --run`: a photograph of a run that goes on, by its control socket.
extension PhotoCommand {
  /// Longest wait for the photograph, 10 s as for the run's answer. Larger: a slower disk is waited for.
  private static let patience = RunConnection.patience

  /// Options that go with `--run`; all others are about a run of its own.
  private static let optionsOfRequests = ["run", "ago", "moment", "within", "quiet"]

  /// Asks the run behind a socket, waits until the file is complete, and prints its path.
  func ask(_ socket: String, _ signals: inout StopSignals) throws {
    guard path == nil else {
      throw RunError(
        .usage,
        "the run names its photographs by --stills; leave \(path ?? "") out, and read the path that "
          + "is printed")
    }
    let other = ProgramArguments.given.dropFirst().first { text in
      text.hasPrefix("--")
        && !Self.optionsOfRequests.contains { text.prefix { $0 != "=" } == "--\($0)" }
    }
    if let other {
      throw RunError(
        .usage, "the run takes its photographs as it was started; leave \(other) out")
    }
    let connection = try RunConnection(path: socket)
    try connection.connect(&signals)
    var line = [Tree.Entry("request", Tree("photo", isQuoted: true))]
    if let ago {
      let seconds = (Double(ago.nanosecondCount) / 1e9).settingText
      line.append(Tree.Entry("ago_s", Tree(seconds, isQuoted: false)))
    }
    if let moment { line.append(Tree.Entry("moment", Tree(moment.rawValue, isQuoted: true))) }
    // Events are asked for first: the photograph may be complete before the answer has come.
    try connection.send("{\"request\":\"events\"}\n" + Tree(.map(line)).jsonLine + "\n", &signals)
    let path = try photograph(connection, &signals)
    Console.output.say(path)
  }

  /// Waits for the path of the photograph that was asked for.
  private func photograph(
    _ connection: RunConnection, _ signals: inout StopSignals
  ) throws -> String {
    var (answers, recording): (Int, String?) = (0, nil)
    var ended: [Tree] = []
    let end = deadline(in: (within ?? Self.patience).nanosecondCount)
    while monotonicNow() < end,
      let text = try connection.line(&signals, limit: .nanoseconds(end - monotonicNow()))
    {
      guard let tree = try? Tree(json: Array(text.utf8)) else {
        throw RunError(
          .failed, "\(connection.path) sent what no run sends; give the socket of a run")
      }
      if let event = tree.text("event") {
        if event == "ended", let file = tree["file"] { ended.append(file) }
      } else {
        answers += 1
        if let error = tree.text("error") { throw RunError(.failed, error) }
        if answers == 2 { recording = tree.text("recording") }
      }
      guard let recording, let file = ended.first(where: { $0.text("recording") == recording })
      else { continue }
      guard file.text("usable") == "true", let path = file.text("path") else {
        throw RunError(
          .failed,
          "there is no photograph: \(file.text("error") ?? "the run ended before it was taken")")
      }
      return path
    }
    guard monotonicNow() < end else { throw RunConnection.silence(connection.path) }
    throw RunError(
      .failed,
      "there is no photograph: the run behind \(connection.path) ended, or this was stopped")
  }
}

extension Tree {
  /// The text of a value; `nil` where there is none.
  fileprivate func text(_ key: String) -> String? {
    if case .scalar(let scalar)? = self[key]?.content { scalar.text } else { nil }
  }
}
