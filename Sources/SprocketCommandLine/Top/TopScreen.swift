internal import Glibc
internal import Sprocket

/// The table on a terminal, until the user ends it.
enum TopScreen {
  /// Milliseconds after which signals, keys and the terminal's size are looked at again. Larger: fewer
  /// wake-ups, later answers.
  private static let tick: Int32 = 50
  /// Longest time that the table waits for the answers of all runs; then it shows those that came. Larger:
  /// runs that answer slowly are shown together with the others.
  private static let gathering = Duration.milliseconds(200)

  /// Columns and rows of the terminal. The corresponding C function is `ioctl`.
  static var size: (columns: Int, rows: Int)? {
    var size = winsize()
    guard unsafe ioctl(1, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
      return nil
    }
    return (Int(size.ws_col), Int(size.ws_row))
  }

  static func show(_ watch: inout TopWatch, _ signals: inout StopSignals) {
    // A program that is stopped would leave the terminal's second screen on.
    signal(SIGTSTP, SIG_IGN)
    let keyboard = Keyboard()
    Console.output.beginScreen()
    defer {
      Console.output.endScreen()
      // Before the terminal's settings are restored, and errors are told.
      _ = Console.output.finish(within: .seconds(1))
    }
    var shown = (columns: 0, rows: 0)
    var asked = monotonicNow()
    var isDrawn = false
    while !signals.take(), Console.output.failure == 0 {
      while let key = keyboard?.take() { if key == "q" { return } }
      let now = monotonicNow()
      let size = size ?? (80, 24)
      if size != shown || !isDrawn && watch.isComplete(within: gathering) {
        Console.output.draw(lines(watch, size))
        shown = size
        isDrawn = true
      }
      if now - asked >= TopCommand.interval.nanosecondCount {
        watch.ask()
        asked = now
        isDrawn = false
      }
      _ = watch.wait(keys: keyboard != nil, milliseconds: tick)
    }
  }

  private static func lines(
    _ watch: TopWatch, _ size: (columns: Int, rows: Int)
  ) -> [String] {
    let count = watch.runs.count
    let runs = count == 1 ? "1 run" : count == 0 ? "no run has a control socket" : "\(count) runs"
    let title = "\(programName) top   \(runs)"
    let time = timeOfDay
    let gap = String(repeating: " ", count: max(3, size.columns - title.count - time.count))
    let all = [title + gap + time] + watch.lines
    guard all.count > size.rows else { return all.map { TopTable.cut($0, to: size.columns) } }
    let left = all.count - size.rows + 1
    return (all.prefix(size.rows - 1) + ["\(left) more lines: make the window larger"]).map {
      TopTable.cut($0, to: size.columns)
    }
  }

  /// Local time, as `12:03:11`. The corresponding C function is `localtime_r`.
  private static var timeOfDay: String {
    var seconds = time(nil)
    var parts = unsafe tm()
    guard unsafe localtime_r(&seconds, &parts) != nil else { return "" }
    return unsafe [parts.tm_hour, parts.tm_min, parts.tm_sec].map { $0 < 10 ? "0\($0)" : "\($0)" }
      .joined(separator: ":")
  }
}
