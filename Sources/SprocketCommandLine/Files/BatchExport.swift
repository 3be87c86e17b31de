internal import ArgumentParser
internal import Glibc
internal import Sprocket

/// `export` of several files: several at a time, each in a process of its own, which shares no memory, no
/// signals and no failure with the others.
struct BatchExport {
  let command: ExportCommand
  let jobs: [ExportCommand.Job]

  /// Memory for each process, in bytes. Larger: fewer files at a time on machines with many processors.
  /// H.264 of 1080p with the preset medium takes 0.55 GB.
  private static let memory = 1 << 30
  /// Time between two looks at the processes, microseconds. Larger: less work, and later starts.
  private static let pause: UInt32 = 20_000

  func execute(_ signals: inout StopSignals) throws {
    let room = SystemMemory.now().available / Self.memory
    let width = max(1, min(jobs.count, processorCount(), room))
    var waiting = jobs[...]
    var running: [ExportProcess] = []
    var said: Set<String> = []
    var (done, failures, misuses, isStopped) = (0, 0, 0, false)
    repeat {
      while !isStopped, running.count < width, let job = waiting.popFirst() {
        running.append(
          try ExportProcess(job, command.arguments(alone: job, threads: processorCount() / width)))
      }
      usleep(Self.pause)
      if signals.take() {
        isStopped = true
        for process in running { process.stop() }
      }
      for process in running { process.read() }
      running.removeAll { process in
        guard let code = process.exitCode() else { return false }
        process.read()
        done += 1
        if code != 0 { failures += 1 }
        if code == 2 { misuses += 1 }
        if code == 0, !command.quiet {
          Console.errors.say("\(done) of \(jobs.count): \(process.job.output)")
        }
        // Prints a file's notes below its line. Prints an error that several files have once.
        for line in process.lines where code == 0 || said.insert(line).inserted {
          Console.errors.say(code == 0 ? "  \(line.drop { $0 == " " })" : line)
        }
        return true
      }
    } while !running.isEmpty || !waiting.isEmpty && !isStopped
    if isStopped {
      throw RunError(.failed, "stopped; \(done - failures) of \(jobs.count) files are complete")
    }
    // If all files are refused for their options, the command is wrong.
    if misuses == jobs.count { throw ExitCode(2) }
    if failures > 0 {
      throw RunError(.failed, "\(failures) of \(jobs.count) files were not exported")
    }
  }
}

/// A process that exports one file, and what it wrote to standard error.
final class ExportProcess {
  let job: ExportCommand.Job
  private let process: pid_t
  private let errors: Int32
  private var text: [UInt8] = []

  /// The corresponding C function is `posix_spawn`.
  init(_ job: ExportCommand.Job, _ arguments: [String]) throws(RunError) {
    var ends: (Int32, Int32) = (-1, -1)
    let code = unsafe withUnsafeMutableBytes(of: &ends) { ends in
      unsafe pipe(ends.assumingMemoryBound(to: Int32.self).baseAddress!)
    }
    guard code == 0 else { throw Self.failure(errno) }
    defer { close(ends.1) }
    for end in [ends.0, ends.1] { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    _ = fcntl(ends.0, F_SETFL, O_NONBLOCK)
    var actions = unsafe posix_spawn_file_actions_t()
    var attributes = posix_spawnattr_t()
    unsafe posix_spawn_file_actions_init(&actions)
    unsafe posix_spawnattr_init(&attributes)
    defer {
      unsafe posix_spawn_file_actions_destroy(&actions)
      unsafe posix_spawnattr_destroy(&attributes)
    }
    unsafe posix_spawn_file_actions_adddup2(&actions, ends.1, STDERR_FILENO)
    // A terminal's signals go to this process alone, which passes them on.
    unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP))
    var words = unsafe (["sprocket"] + arguments).map { unsafe strdup($0) } + [nil]
    defer { for index in unsafe words.indices { unsafe free(words[index]) } }
    var process: pid_t = 0
    let status = unsafe posix_spawn(
      &process, "/proc/self/exe", &actions, &attributes, &words, environ)
    guard status == 0 else {
      close(ends.0)
      throw Self.failure(status)
    }
    (self.job, self.process, errors) = (job, process, ends.0)
  }

  deinit { close(errors) }

  private static func failure(_ code: Int32) -> RunError {
    RunError(
      .failed, "no process can be started (error \(code)); export the files one by one")
  }

  /// The corresponding C function is `kill`.
  func stop() { kill(process, SIGINT) }

  /// Takes what the process has written by now. The corresponding C function is `read`.
  func read() {
    unsafe withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { buffer in
      while true {
        let count = unsafe Glibc.read(errors, buffer.baseAddress, buffer.count)
        guard count > 0 else { return }
        unsafe text.append(contentsOf: buffer.prefix(count))
      }
    }
  }

  var lines: [String] {
    String(decoding: text, as: UTF8.self).split(separator: "\n").map(String.init)
  }

  /// `nil` while it runs; after a signal 1. Asked until it is known, and not again.
  /// The corresponding C function is `waitpid`.
  func exitCode() -> Int32? {
    var status: Int32 = 0
    let found = unsafe waitpid(process, &status, WNOHANG)
    if found == 0 || found < 0 && errno == EINTR { return nil }
    return found == process && status & 0x7f == 0 ? status >> 8 & 0xff : 1
  }
}
