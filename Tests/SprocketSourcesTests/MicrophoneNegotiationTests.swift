import SprocketALSA
import SprocketCore
import TestExpectations
import Testing

@testable import SprocketSources

/// A device that offers some combinations, as a driver does it: each choice leaves fewer.
struct Offered: MicrophoneOffer {
  struct Combination {
    var format: ALSAFormat
    var channels: Int
    var rate: Int
  }

  var left: [Combination]

  init(_ formats: [ALSAFormat], _ channels: [Int], _ rates: [Int]) {
    left = formats.flatMap { format in
      channels.flatMap { count in
        rates.map { Combination(format: format, channels: count, rate: $0) }
      }
    }
  }

  static func + (one: Offered, other: Offered) -> Offered {
    var both = one
    both.left += other.left
    return both
  }

  var formats: [ALSAFormat] {
    ALSAFormat.allCases.filter { format in left.contains { $0.format == format } }
  }
  var channelCounts: [Int] { Set(left.map(\.channels)).sorted() }
  var rates: ALSARates {
    let rates = Set(left.map(\.rate)).sorted()
    return ALSARates(
      usual: rates.filter { ALSARates.all.contains($0) },
      range: (rates.first ?? 0)...(rates.last ?? 0))
  }

  private mutating func keep(_ isKept: (Combination) -> Bool) -> Bool {
    let kept = left.filter(isKept)
    if !kept.isEmpty { left = kept }
    return !kept.isEmpty
  }

  mutating func choose(format: ALSAFormat) -> Bool { keep { $0.format == format } }
  mutating func choose(channels: Int) -> Bool { keep { $0.channels == channels } }
  mutating func choose(rate: Int) -> Bool { keep { $0.rate == rate } }
}

@Suite struct MicrophoneNegotiationTests {
  /// A webcam: one channel, or two of 24 bits at low rates only.
  static let webcam =
    Offered([.s16], [1], [16_000, 24_000, 32_000]) + Offered([.s24], [2], [8000, 16_000])
  static let interface = Offered(
    [.s24, .s24Packed, .s32], Array(1...18), [44_100, 48_000, 96_000])

  private func choose(
    _ offered: Offered, _ change: (inout MicrophoneSettings) -> Void = { _ in }
  ) throws(RunError) -> MicrophoneMode {
    var settings = MicrophoneSettings()
    change(&settings)
    var offered = offered
    return try MicrophoneNegotiation(title: "mic", wanted: settings).choose(from: &offered)
  }

  private func mode(_ format: ALSAFormat, _ rate: Int, _ channels: Int, _ picked: [Int]? = nil)
    -> MicrophoneMode
  {
    MicrophoneMode(
      format: format, rate: rate, channels: channels, picked: picked ?? Array(0..<channels))
  }

  @Test func unaskedIsStereoAt48kHzAsPlainAsItIsOffered() throws {
    let all = Offered(ALSAFormat.allCases, Array(1...8), ALSARates.all)
    try expectEqual(choose(all), mode(.s16, 48_000, 2))
    try expectEqual(choose(Self.interface), mode(.s24Packed, 48_000, 2))
  }

  @Test func theNearestRateFromBelowIsTaken() throws {
    try expectEqual(choose(Self.webcam), mode(.s16, 32_000, 1))
    try expectEqual(choose(Offered([.s16], [1], [88_200, 96_000])).rate, 88_200)
    // Rates that are not usual.
    try expectEqual(choose(Offered([.s16], [1], [9000, 10_000])).rate, 10_000)
  }

  @Test func whatIsAskedForNarrowsDownTheRest() throws {
    try expectEqual(choose(Self.webcam) { $0.format = .s24 }, mode(.s24, 16_000, 2))
    try expectEqual(choose(Self.webcam) { $0.channels = 2 }, mode(.s24, 16_000, 2))
    try expectEqual(choose(Self.webcam) { $0.rate = 8000 }, mode(.s24, 8000, 2))
  }

  @Test func channelsArePickedInTheOrderGiven() throws {
    let found = try choose(Self.interface) { $0.pick = ChannelChoice([3, 0])! }
    expectEqual(found, mode(.s24Packed, 48_000, 4, [3, 0]))
    expectEqual(found.audioFormat, AudioFormat(number: .s24, rate: 48_000, channels: 2))
    let eight = try choose(Self.interface) {
      $0.pick = ChannelChoice([3, 0])!
      $0.channels = 8
    }
    expectEqual(eight, mode(.s24Packed, 48_000, 8, [3, 0]))
  }

  /// Two channels are there at low rates only.
  @Test func aPickGoesBeforeTheRate() throws {
    try expectEqual(
      choose(Self.webcam) { $0.pick = ChannelChoice([1])! }, mode(.s24, 16_000, 2, [1]))
  }

  @Test func aDeviceWithManyChannelsNeedsAPick() throws {
    let large = Offered([.s32], [18], [48_000])
    let error = #expect(throws: RunError.self) { try choose(large) }
    expectEqual(error?.description.contains("pick=0/1"), true)
    try expectEqual(choose(large) { $0.pick = ChannelChoice([17])! }, mode(.s32, 48_000, 18, [17]))
  }

  @Test(
    arguments: [
      ("f32", nil, nil, "all", ["f32", "s16, s24"]),
      ("s16", nil, 96_000, "all", ["96000", "s16", "16000, 24000, 32000 Hz"]),
      ("s16", 2, nil, "all", ["2 channels", "s16", "1 channel"]),
      (nil, nil, 44_100, "all", ["44100", "8000, 16000, 24000, 32000 Hz"]),
      (nil, 1, nil, "0/1", ["channel 1", "1 channel"]),
      (nil, nil, nil, "0/2", ["channel 2", "1 to 2 channels"]),
    ] as [(String?, Int?, Int?, String, [String])])
  func whatIsNotOfferedIsRefusedWithWhatIs(
    _ format: String?, _ channels: Int?, _ rate: Int?, _ pick: String, _ says: [String]
  ) {
    let error = #expect(throws: RunError.self) {
      try choose(Self.webcam) { settings in
        settings.format = format.flatMap { AudioFormat.Number(settingText: $0) }
        (settings.channels, settings.rate) = (channels, rate)
        settings.pick = ChannelChoice(settingText: pick)!
      }
    }
    for words in says { expectEqual(error?.description.contains(words), true) }
    expectTrue(error?.code == .usage && error?.settings == [.microphone])
  }

  @Test func aDeviceWithoutKnownFormatsIsRefused() {
    let error = #expect(throws: RunError.self) { try choose(Offered([], [], [])) }
    expectEqual(error?.description.contains("mic"), true)
  }

  @Test func countsAreSaidAsRanges() {
    expectEqual(MicrophoneNegotiation.text(channels: [1]), "1 channel")
    expectEqual(
      MicrophoneNegotiation.text(channels: [1, 2, 3, 8, 10, 11]), "1 to 3, 8, 10 to 11 channels")
    expectEqual(MicrophoneNegotiation.text(channels: []), "no channels")
  }
}

@Suite struct MicrophoneSettingTests {
  @Test func choicesAreSpelledWithSlashes() {
    expectEqual(ChannelChoice(settingText: "0/3")?.channels, [0, 3])
    expectEqual(ChannelChoice(settingText: "all"), .all)
    expectEqual(ChannelChoice([7, 0])?.settingText, "7/0")
    for text in ["", "a", "0/", "0/0", "-1", "0/1/2/3/4/5/6/7/8", "0,1"] {
      expectNil(ChannelChoice(settingText: text), "\(text)")
    }
  }

  @Test(arguments: [
    ("rate", "7999"), ("rate", "192001"), ("channels", "0"), ("channels", "65"),
    ("period", "500us"),
    ("period", "2s"), ("buffer", "1ms"), ("buffer", "11s"),
  ])
  func valuesBeyondTheirRangeAreRefused(_ key: String, _ value: String) throws {
    var settings = MicrophoneSettings()
    let setting = try #require(MicrophoneSettings.settings.first { $0.name == key })
    try setting.apply(value, to: &settings)
    let error = #expect(throws: RunError.self) { try settings.checkRanges() }
    expectEqual(error?.description.contains("\(key)=\(value)"), true)
  }

  @Test func theBufferHoldsAtLeastTwoPeriods() {
    var settings = MicrophoneSettings()
    expectEqual(settings.periodSamples(48_000), 960)
    expectEqual(settings.bufferSamples(48_000), 48_000)
    settings.aim = .latency
    expectEqual(settings.periodSamples(48_000), 240)
    expectEqual(settings.bufferSamples(48_000), 2880)
    settings.period = .milliseconds(100)
    expectEqual(settings.periodSamples(44_100), 4410)
    expectEqual(settings.bufferSamples(44_100), 8820)
  }
}
