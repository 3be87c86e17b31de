// What each thread runs, for sentences about a mistake that ends the program.

internal import CSprocketSystem
internal import Glibc

/// From here on a trap of this process says on standard error which stage, sink or source ran, at which frame
/// and on which thread, before the program ends as it would without: by the same signal, with a core file
/// where the system keeps one. Traps are an index out of range, an overflow and whatever else ends a program
/// by SIGILL, SIGTRAP, SIGSEGV, SIGBUS, SIGFPE or SIGABRT.
///
/// It changes what the whole process does with these signals, so that a library does not call it: a program
/// does, once, at its start. `sprocketMain` does. A handler that is there gets the signal afterwards.
public func reportTraps() { RunningCode.reportTraps() }

/// What a thread runs now: a stage, sink or source, and the frame. The sentences of `contractBroken` and of
/// traps (`reportTraps`) begin with both.
///
/// A thread has at most one. Only that thread changes it, with two stores for each call of a stage; any
/// thread may read it.
///
/// Unchecked: its memory is read and written by atomic operations alone, but for what never changes.
@safe
public final class RunningCode: CustomStringConvertible, @unchecked Sendable {
  private let names: [String]
  private let memory: UnsafeMutablePointer<sprocket_running>
  /// The names, the unit and the source, each with a zero at its end.
  private let texts: UnsafeMutablePointer<CChar>
  private let table: UnsafeMutablePointer<UnsafePointer<CChar>?>

  /// - Parameters:
  ///   - names: all that the thread will run, such as "stage `focus`".
  ///   - unit: what is counted.
  ///   - source: the name of the run's source among several.
  public init(_ names: [String], counting unit: String = "frame", of source: String = "") {
    self.names = names
    let all = (names + [unit, source]).map { Array($0.utf8CString) }
    unsafe texts = .allocate(capacity: all.reduce(0) { $0 + $1.count })
    unsafe table = .allocate(capacity: all.count)
    var place = unsafe texts
    for (index, text) in all.enumerated() {
      unsafe place.initialize(from: text, count: text.count)
      unsafe (table + index).initialize(to: UnsafePointer(place))
      unsafe place += text.count
    }
    unsafe memory = .allocate(capacity: 1)
    unsafe memory.initialize(
      to: sprocket_running(
        names: UnsafePointer(table), count: UInt64(names.count), unit: table[names.count],
        source: table[names.count + 1], index: 0, number: .max))
  }

  deinit {
    unsafe texts.deallocate()
    unsafe table.deallocate()
    unsafe memory.deallocate()
  }

  /// From here on the thread runs the code of the name at `index`, on that frame.
  public func enter(_ index: Int, frame: UInt64) {
    unsafe sprocket_running_enter(memory, UInt64(truncatingIfNeeded: index), frame)
  }

  /// From here on the thread runs nothing on a frame, until it enters the next.
  package func rest() {
    unsafe sprocket_running_enter(memory, sprocket_running_index(memory), .max)
  }

  /// The number of the frame; `nil` between two frames. From any thread.
  package var frame: UInt64? {
    let number = unsafe sprocket_running_number(memory)
    return number == .max ? nil : number
  }

  /// The name of what runs. From any thread.
  package var name: String {
    let index = unsafe Int(truncatingIfNeeded: sprocket_running_index(memory))
    return names.indices.contains(index) ? names[index] : ""
  }

  public var description: String { unsafe Self.text(memory) }

  /// Runs `body` as this code, on the calling thread.
  public func during<Result, Failure: Error>(
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let before = unsafe Self.running
    unsafe Self.set(memory)
    defer { withExtendedLifetime(self) { unsafe Self.set(before) } }
    return try body()
  }

  /// Whether the calling thread runs such code.
  public static var isOnThread: Bool { unsafe running != nil }

  /// What the calling thread runs; `nil` if it is none of the engine's.
  static var current: String? { unsafe running.map { unsafe text($0) } }

  private static func text(_ running: UnsafeMutablePointer<sprocket_running>) -> String {
    let index = unsafe sprocket_running_index(running)
    guard unsafe index < running.pointee.count, let name = unsafe running.pointee.names[Int(index)],
      let unit = unsafe running.pointee.unit
    else { return "" }
    let number = unsafe sprocket_running_number(running)
    let place = unsafe number == .max ? "" : ", \(String(cString: unit)) \(number)"
    return unsafe String(cString: name) + place
  }

  private static var running: UnsafeMutablePointer<sprocket_running>? {
    guard let key else { return nil }
    return unsafe pthread_getspecific(key)?.assumingMemoryBound(to: sprocket_running.self)
  }

  private static func set(_ running: UnsafeMutablePointer<sprocket_running>?) {
    guard let key else { return }
    unsafe pthread_setspecific(key, running)
  }

  /// `nil` if the process has no thread-specific key left; sentences then do not name the code.
  private static let key: pthread_key_t? = {
    var key = pthread_key_t()
    return unsafe pthread_key_create(&key, nil) == 0 ? key : nil
  }()

  /// Whether this thread is the first to say how the program ends. For any other it waits a second, in which
  /// the first can say it.
  static func mayTellEnd() -> Bool { sprocket_may_tell() != 0 }

  fileprivate static func reportTraps() {
    guard let key else { return }
    sprocket_report_traps(key)
  }
}
