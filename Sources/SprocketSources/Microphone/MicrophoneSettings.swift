public import SprocketCore

/// What a user may choose about a microphone. What is asked for is given exactly, or refused.
public struct MicrophoneSettings: KindSettings {
  /// ALSA's name of the device; empty for the first one.
  public var name = ""
  /// Samples per second; `nil` for 48,000 or what comes closest.
  public var rate: Int?
  /// That the device is set to; `nil` for two, or the fewest that it has.
  public var channels: Int?
  public var pick = ChannelChoice.all
  /// `nil` for the first that is offered of 16, 24 and 32 bits and floating point.
  public var format: AudioFormat.Number?
  public var aim = Aim.safety
  public var period: Duration?
  public var buffer: Duration?
  public var latency = 0.0
  public var timeout = Duration.seconds(10)
  public var replug = Duration.seconds(60)

  public init() {}

  /// What period and buffer are chosen for.
  public enum Aim: String, Sendable, CaseIterable, SettingValue {
    case latency, safety

    /// Time from one block to the next. Larger: later, and less work.
    var period: Duration { self == .latency ? .milliseconds(5) : .milliseconds(20) }
    /// Time for which nobody need read. Larger: longer stalls of the machine lose nothing.
    var buffer: Duration { self == .latency ? .milliseconds(60) : .seconds(1) }
  }

  public static var settings: [Setting<MicrophoneSettings>] {
    [
      Setting("name", \.name, "as `devices` lists it, or ALSA's name; empty: the first"),
      Setting("rate", \.rate, unit: "Hz", "samples per second, exactly; auto is 48000 if offered"),
      Setting(
        "channels", \.channels, "that the device is set to; auto is 2, or as few as it has"),
      Setting("pick", \.pick, "channels that are taken, in this order"),
      Setting("format", \.format, "how numbers are stored; auto is s16 if offered"),
      Setting("aim", \.aim, "what period and buffer are chosen for: 5 and 60 ms, or 20 ms and 1 s"),
      Setting("period", \.period, "from one block of sound to the next, about; auto goes by aim"),
      Setting("buffer", \.buffer, "held by the device until it is read, about; auto goes by aim"),
      Setting(
        "latency", \.latency, range: -1000...1000, unit: "ms",
        "from sound to the device's clock: taken off all times"),
      Setting(
        "timeout", \.timeout, range: .milliseconds(100)...Duration.seconds(3600),
        "without sound for so long the run fails"),
      Setting(
        "replug", \.replug, range: .zero...Duration.seconds(86_400),
        "a microphone that was unplugged is waited for so long"),
    ]
  }

  /// Ranges that a setting with `auto` cannot have.
  func checkRanges() throws(RunError) {
    try check(of: "the microphone")
    if let rate, !AudioFormat.rates.contains(rate) {
      throw refusal("rate=\(rate)", "8000 to 192000 (Hz), or auto")
    }
    if let channels, !(1...64).contains(channels) {
      throw refusal("channels=\(channels)", "1 to 64, or auto")
    }
    let periods = Duration.milliseconds(1)...Duration.seconds(1)
    if let period, !periods.contains(period) {
      throw refusal("period=\(period.settingText)", "1ms to 1s, or auto")
    }
    let buffers = Duration.milliseconds(2)...Duration.seconds(10)
    if let buffer, !buffers.contains(buffer) {
      throw refusal("buffer=\(buffer.settingText)", "2ms to 10s, or auto")
    }
  }

  private func refusal(_ given: String, _ allowed: String) -> RunError {
    RunError(
      .usage, "the microphone: \(given) is not allowed: give \(allowed)", change: .microphone)
  }

  /// Of a rate, in samples.
  func periodSamples(_ rate: Int) -> Int { Self.samples(period ?? aim.period, rate) }
  /// At least two periods.
  func bufferSamples(_ rate: Int) -> Int {
    max(Self.samples(buffer ?? aim.buffer, rate), 2 * periodSamples(rate))
  }

  private static func samples(_ time: Duration, _ rate: Int) -> Int {
    Int((Double(time.nanosecondCount) * 1e-9 * Double(rate)).rounded())
  }
}
