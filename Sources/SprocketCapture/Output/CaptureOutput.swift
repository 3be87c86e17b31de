internal import Sprocket
internal import SprocketPipelines
internal import Synchronization

/// Where a session's frames, photographs or movies go. The outputs of this module conform to it.
public protocol CaptureOutput: AnyObject, Sendable {
  /// What a session knows of it.
  var core: OutputCore { get }
}

/// An output that takes pictures: it has a link for `.video`.
public protocol TakesVideo: CaptureOutput {}

/// An output that takes sound: it has a link for `.audio`.
public protocol TakesAudio: CaptureOutput {}

/// What a session knows of an output.
public final class OutputCore: Sendable {
  struct State {
    /// The session that has it, or that is adding it.
    var session: ObjectIdentifier?
    /// Number of the latest addition.
    var addition = 0
    var membership = LinkState.removed
    /// The run that it is attached to, and the names of its sinks there.
    var run: SessionRun?
    var sinks: [String] = []
    var link = LinkSettings()
    /// The orientation for files and views; `nil` for outputs that have no use for it.
    var turn: OrientationSetting?
    /// Where its sinks get the sound of a microphone that comes later.
    var lateSound: LateSound?
    /// Called when it was removed from its session.
    var onRemove: (@Sendable () -> Void)?
  }

  /// What outputs are called in a run. Each of their sinks has this name, or one that goes on behind it with
  /// a hyphen.
  let name: String
  let state = Locked(State())
  /// Held while the run is asked for something, and while the output leaves it. Taken before other locks.
  private let asking = Locked(())

  private static let count = Atomic<Int>(0)

  /// `kind` is the beginning of its name.
  init(_ kind: String) {
    let number = Self.count.wrappingAdd(1, ordering: .relaxed).newValue
    name = "\(kind)-\(number)"
  }

  var run: SessionRun? { state.withLock(\.run) }
  var link: LinkSettings { state.withLock(\.link) }

  /// The run that takes requests. Throws if there is none.
  func requireRun(_ what: String) throws(CaptureError) -> SessionRun {
    guard let run else {
      throw CaptureError(
        .notRunning, "\(what) is part of no running session; add it, and start the session")
    }
    return run
  }

  /// Asks the run for a file: the output does not leave the run meanwhile, so that its files are known when
  /// it does. Throws if it belongs to no run.
  func ask<Result>(
    _ what: String, _ body: (SessionRun) throws(CaptureError) -> Result
  ) throws(CaptureError) -> Result {
    try asking.withLock { _ throws(CaptureError) in try body(requireRun(what)) }
  }

  /// Belongs to no run from now on, and asks none for files.
  func leaveRun() { asking.withLock { _ in state.withLock { ($0.run, $0.sinks) = (nil, []) } } }
}

/// What sinks of an output are made for.
struct OutputSetup {
  /// Names of the plug-ins in the chain.
  let stages: Set<String>
  /// The sound of the run; `nil` if the session has had no microphone since it began.
  let audio: AudioEngine?
  let hasMicrophone: Bool

  /// The microphone of an output's movies: a tap of it, or what will have one.
  func sound(for core: OutputCore) throws(CaptureError) -> (taps: [any AudioTap], LateSound?) {
    let late = audio == nil ? LateSound() : nil
    core.state.withLock { $0.lateSound = late }
    guard let audio else { return ([], late) }
    do throws(RunError) { return ([try audio.makeTap(for: core.name)], nil) } catch {
      throw CaptureError(error)
    }
  }
}

/// What a session needs of its outputs.
protocol SessionOutput: CaptureOutput {
  var takes: Set<CaptureDevice.MediaType> { get }
  /// What it is in a description, by its name.
  var part: Part { get }
  /// Pixels that the source has to deliver; `nil` for any.
  var neededPixels: @Sendable (PixelFormat) -> Bool { get }
  /// Throws if it needs a stage that is not among these.
  func check(stages: Set<String>) throws(CaptureError)
  /// New sinks for a run.
  func makeSinks(_ setup: OutputSetup) throws(CaptureError) -> [any Sink]
  /// News of a recording of one of its sinks, in order, on a thread of the run's: it must not wait.
  func take(_ news: RunNews)
  /// A microphone was added while the session runs.
  func soundCame()
  /// It belongs to no run any more: what is under way has ended, and was told of.
  func didLeave()
}

extension SessionOutput {
  var part: Part { Part(Part.program, id: core.name, NoSettings()) }
  var neededPixels: @Sendable (PixelFormat) -> Bool { { _ in true } }
  func check(stages: Set<String>) throws(CaptureError) {}
  func take(_ news: RunNews) {}
  func soundCame() {}
  func didLeave() {}
}
