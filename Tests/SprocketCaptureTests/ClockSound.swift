import Sprocket
import SprocketCapture
import TestExpectations
import Testing

/// A microphone whose samples say when they were heard, in milliseconds of the monotonic clock. It can be
/// away, and fail.
final class ClockSound: AudioSource {
  struct Setup: Sendable {
    var rate = 48_000
    var channels = 1
    /// Samples are below 0: tells one microphone from another.
    var isNegative = false
    var blockSamples = 480
  }

  /// What a test tells all sources of a microphone.
  final class Switch: Sendable {
    struct State: Sendable {
      var isAway = false
      var isBroken = false
      var opened = 0
    }
    let state = Locked(State())

    func set(_ change: (inout State) -> Void) { state.withLock { change(&$0) } }
  }

  private let setup: Setup
  private let control: Switch
  /// Number of the next sample since the clock's zero, and behind the last that was read.
  private var next: Int64 = 0
  private var last: Int64?
  private let isStopped = Locked(false)

  init(_ setup: Setup, _ control: Switch) { (self.setup, self.control) = (setup, control) }

  static func device(
    _ name: String, _ control: Switch = Switch(), _ change: (inout Setup) -> Void = { _ in }
  ) -> CaptureDevice {
    var setup = Setup()
    change(&setup)
    return CaptureDevice(microphone: name) { [setup] _ throws(RunError) in
      ClockSound(setup, control)
    }
  }

  /// The value of the sample that is heard at a time.
  static func value(at nanoseconds: Int64) -> Int { Int(nanoseconds / 1_000_000 % 30_000) + 1 }

  func open() throws(RunError) -> AudioDescription {
    control.set { $0.opened += 1 }
    next = sample(at: monotonicNow())
    return AudioDescription(
      name: "clock",
      format: AudioFormat(number: .s16, rate: setup.rate, channels: setup.channels), isLive: true,
      clock: .monotonic, blockSamples: setup.blockSamples)
  }

  private func sample(at time: Int64) -> Int64 {
    Int64(Double(time) * Double(setup.rate) / 1e9)
  }

  private func time(of sample: Int64) -> Int64 { Int64(Double(sample) * 1e9 / Double(setup.rate)) }

  func read(
    into bytes: inout MutableSpan<UInt8>, timeout: Int64
  ) throws(RunError) -> AudioArrival {
    let end = monotonicNow() + timeout
    while true {
      if isStopped.withLock({ $0 }) { return .end }
      let state = control.state.withLock { $0 }
      if state.isBroken { throw RunError(.failed, "the microphone has failed") }
      let now = monotonicNow()
      if state.isAway {
        next = sample(at: now)
      } else if time(of: next + Int64(setup.blockSamples)) <= now {
        return .block(fill(&bytes))
      }
      if now >= end { return .nothing }
      sleep(until: now + 2_000_000)
    }
  }

  private func fill(_ bytes: inout MutableSpan<UInt8>) -> ArrivedSound {
    for index in 0..<setup.blockSamples {
      let value = Self.value(at: time(of: next + Int64(index)))
      let word = UInt16(bitPattern: Int16(setup.isNegative ? -value : value))
      for channel in 0..<setup.channels {
        let place = (index * setup.channels + channel) * 2
        (bytes[place], bytes[place + 1]) = (UInt8(word & 255), UInt8(word >> 8))
      }
    }
    let missing = last.map { max(0, next - $0) } ?? 0
    let block = ArrivedSound(
      count: setup.blockSamples, missing: UInt64(missing), timing: .exact(time(of: next)))
    next += Int64(setup.blockSamples)
    last = next
    return block
  }

  func interrupt() { isStopped.withLock { $0 = true } }
  func close() throws(RunError) {}
}

/// The sound of a file: its samples, of the first channel.
struct HeardFile {
  let samples: [Int]
  let rate: Int
  /// When the first of them was heard, on the monotonic clock.
  let start: Int64

  /// Throws if the file has no sound.
  init(_ path: String) throws {
    let sink = SampleSink()
    let engine = try AudioEngine(FileAudioSource(path: path), sinks: [sink])
    start = try ffprobe(path, "format_tags=captured_ns").first.flatMap { Int64($0) } ?? 0
    rate = engine.description.format.rate
    try engine.start()
    expectTrue(engine.wait(for: longestWait))
    samples = sink.samples
  }

  /// Of the samples that are not silent, how far they lie from their time at most, in milliseconds.
  var error: Int {
    var worst = 0
    for (index, sample) in samples.enumerated() where sample != 0 {
      let time = start + Int64(Double(index) * 1e9 / Double(rate))
      let difference = abs(abs(sample) - ClockSound.value(at: time))
      worst = max(worst, min(difference, 30_000 - difference))
    }
    return worst
  }

  /// Lengths of its parts in seconds: "+" above 0, "-" below, "0" silent; parts below 5 ms are left out.
  var parts: [(sign: String, seconds: Double)] {
    var parts: [(sign: String, seconds: Double)] = []
    for sample in samples {
      let sign = sample > 0 ? "+" : sample < 0 ? "-" : "0"
      if parts.last?.sign != sign { parts.append((sign, 0)) }
      parts[parts.count - 1].seconds += 1 / Double(rate)
    }
    return parts.filter { $0.seconds >= 0.005 }
  }

  var pattern: String { parts.map(\.sign).joined() }
}

/// Keeps the first channel of samples of 16 bits.
private final class SampleSink: AudioSink {
  let name = "samples"
  private(set) var samples: [Int] = []
  private var size = 2

  func configure(_ sound: AudioDescription) throws(RunError) { size = sound.format.sampleBytes }

  func run(_ tap: any AudioTap) throws(RunError) {
    while true {
      switch tap.next(timeout: longestWaitNanoseconds) {
      case .nothing: continue
      case .end: return
      case .block:
        tap.withBlock { _, bytes in
          for place in stride(from: 0, to: bytes.count, by: size) {
            let word = UInt16(bytes[place]) | UInt16(bytes[place + 1]) << 8
            samples.append(Int(Int16(bitPattern: word)))
          }
        }
        tap.release()
      }
    }
  }
}
