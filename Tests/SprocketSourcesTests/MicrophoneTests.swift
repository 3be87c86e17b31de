import SprocketALSA
import SprocketCore
import TestExpectations
import Testing

@testable import SprocketSources

@Suite struct MicrophoneTallyTests {
  private static let second: Int64 = 1_000_000_000

  @Test func aWakeUpIsSpreadOverItsBlocks() {
    var tally = MicrophoneTally(rate: 48_000, buffer: 48_000, period: 960)
    expectEqual(tally.waiting, 0)
    expectEqual(tally.wokeUp(available: 2500, at: 7 * Self.second), 0)
    expectEqual(tally.waiting, 2500)
    tally.took(1920)
    // The second block of the same wake-up: the device was 580 samples ahead at the same time.
    expectEqual(tally.waiting, 580)
    expectEqual(tally.time, 7 * Self.second)
    tally.took(580)
    expectEqual(tally.waiting, 0)
  }

  @Test func anOverrunLeavesRoomForTheDevice() {
    let tally = MicrophoneTally(rate: 48_000, buffer: 4800, period: 480)
    expectEqual(tally.excess(available: 4800), 0)
    // 100 were overwritten, and two periods more are passed over.
    expectEqual(tally.excess(available: 4900), 100 + 960)
    expectTrue(tally.isTight(available: 3841))
    expectFalse(tally.isTight(available: 3840))
    expectTrue(tally.wereOverwritten(960, available: 3841))
    expectFalse(tally.wereOverwritten(960, available: 3840))
    // A buffer of two periods keeps half.
    expectEqual(
      MicrophoneTally(rate: 48_000, buffer: 960, period: 480).excess(available: 961), 1 + 480)
  }

  /// 48,000 samples a second; the device was stopped for 1.5 s after sample 960, of which 480 were read.
  @Test func lossesAreEstimatedFromTheTimesAroundAStop() {
    var tally = MicrophoneTally(rate: 48_000, buffer: 48_000, period: 480)
    _ = tally.wokeUp(available: 960, at: 10 * Self.second)
    tally.took(480)
    // Sample 480 was heard at 10 s - 10 ms.
    tally.restart()
    expectEqual(tally.waiting, 0)
    // The new start's first sample was heard 10 ms before 11.5 s.
    let missing = tally.wokeUp(available: 480, at: 10 * Self.second + 1_500_000_000)
    expectEqual(missing, 72_000)
    // Only the first wake-up after a start tells of losses.
    tally.took(480)
    expectEqual(tally.wokeUp(available: 480, at: 20 * Self.second), 0)
  }

  @Test func lossesAreNeverNegativeAndAddUpOverSeveralStops() {
    var tally = MicrophoneTally(rate: 1000, buffer: 1000, period: 10)
    _ = tally.wokeUp(available: 10, at: Self.second)
    tally.took(10)
    tally.restart()
    // A second stop before any sample came.
    tally.restart()
    expectEqual(tally.wokeUp(available: 10, at: Self.second + 60_000_000), 50)
    tally.took(10)
    tally.restart()
    expectEqual(tally.wokeUp(available: 100, at: Self.second + 61_000_000), 0)
  }

  @Test func timesThatCannotBeRightAreReplacedAndLatencyIsTakenOff() {
    var times = MicrophoneTimes(isMonotonic: true, latencyMilliseconds: 2.5)
    expectEqual(
      times.time(99 * Self.second, now: 99 * Self.second + 1), 99 * Self.second - 2_500_000)
    expectEqual(times.time(0, now: 99 * Self.second), 99 * Self.second - 2_500_000)
    expectEqual(times.replaced, 1)
    var other = MicrophoneTimes(isMonotonic: false, latencyMilliseconds: 0)
    expectEqual(other.time(98 * Self.second, now: 99 * Self.second), 99 * Self.second)
    expectEqual(other.replaced, 0)
  }
}

@Suite struct SamplePackerTests {
  /// What is to come out, number by number.
  private func slow(_ mode: MicrophoneMode, _ words: [UInt8], _ count: Int) -> [UInt8] {
    let size = mode.format.bytes
    return (0..<count).flatMap { sample in
      mode.picked.flatMap { channel in
        let start = (sample * mode.channels + channel) * size
        return Array(words[start..<start + size].prefix(mode.format == .s24 ? 3 : size))
      }
    }
  }

  private static let picks = [
    [0], [1, 0], [0, 1, 2], [2, 0], [7], [0, 3], [5, 6, 7, 4, 3, 2, 1, 0],
  ]

  @Test(arguments: ALSAFormat.allCases, picks)
  func packsAsNumberByNumber(_ format: ALSAFormat, _ picked: [Int]) {
    var random = SystemRandomNumberGenerator()
    for channels in [picked.max()! + 1, 8] {
      let mode = MicrophoneMode(format: format, rate: 48_000, channels: channels, picked: picked)
      let packer = SamplePacker(mode, blockSamples: 37)
      for pattern in 0..<4 {
        let words = (0..<37 * channels * format.bytes).map { index -> UInt8 in
          [0, 255, UInt8(truncatingIfNeeded: index), UInt8.random(in: 0...255, using: &random)][
            pattern]
        }
        let size = mode.audioFormat.sampleBytes
        var bytes = [UInt8](repeating: 0xAA, count: 37 * size + 5)
        var span = bytes.mutableSpan
        packer.pack(37, words.span, into: &span)
        expectEqual(Array(bytes[..<(37 * size)]), slow(mode, words, 37))
        expectTrue(bytes[(37 * size)...].allSatisfy { $0 == 0xAA })
      }
    }
  }

  /// 0x123456 and -1 as S24_LE; the fourth byte is of no meaning.
  @Test func twentyFourBitsLoseTheFourthByte() {
    let mode = MicrophoneMode(format: .s24, rate: 8000, channels: 1, picked: [0])
    let words: [UInt8] = [0x56, 0x34, 0x12, 0x00, 0xFF, 0xFF, 0xFF, 0x99]
    var bytes = [UInt8](repeating: 0, count: 6)
    var span = bytes.mutableSpan
    SamplePacker(mode, blockSamples: 2).pack(2, words.span, into: &span)
    expectEqual(bytes, [0x56, 0x34, 0x12, 0xFF, 0xFF, 0xFF])
  }
}

@Suite struct MicrophoneNameTests {
  private static func device(
    _ index: Int, _ id: String, _ card: String, _ number: Int, _ name: String
  )
    -> ALSADevice
  {
    ALSADevice(
      card: ALSACard(index: index, id: id, driver: "", name: card, longName: ""), number: number,
      name: name)
  }

  static let known = MicrophoneName(
    devices: [
      device(0, "PCH", "HDA Intel PCH", 0, "ALC295 Analog"),
      device(0, "PCH", "HDA Intel PCH", 2, "ALC295 Alt Analog"),
      device(1, "C920", "HD Pro Webcam C920", 0, "USB Audio"),
      device(2, "USB", "Scarlett 2i2 USB", 0, "USB Audio"),
    ],
    names: [
      ALSAName(name: "null", text: ""), ALSAName(name: "default", text: ""),
      ALSAName(name: "pulse", text: ""), ALSAName(name: "hw:CARD=PCH,DEV=0", text: ""),
    ])

  @Test(arguments: [
    ("", "hw:CARD=PCH,DEV=0"), ("default", "default"), ("pulse", "pulse"), ("hw:1,0", "hw:1,0"),
    ("plughw:CARD=USB", "plughw:CARD=USB"), ("PCH", "hw:CARD=PCH,DEV=0"),
    ("ALC295 Alt Analog", "hw:CARD=PCH,DEV=2"), ("webcam", "hw:CARD=C920,DEV=0"),
    ("scarlett", "hw:CARD=USB,DEV=0"), ("USB", "hw:CARD=USB,DEV=0"), ("mine", "mine"),
  ])
  func namesFindTheirDevice(_ name: String, _ address: String) throws {
    try expectEqual(Self.known.resolve(name), address)
  }

  @Test func namesThatFitSeveralCardsAreRefused() {
    let error = #expect(throws: RunError.self) { try Self.known.resolve("usb audio") }
    expectEqual(error?.description.contains("hw:CARD=C920,DEV=0"), true)
    expectEqual(error?.description.contains("hw:CARD=USB,DEV=0"), true)
  }

  @Test func withoutANameTheFirstThatIsFreeIsTaken() throws {
    var devices = Self.known.devices
    for index in 0..<2 { devices[index].holders = [ALSAHolder(process: 7, name: "arecord")] }
    try expectEqual(MicrophoneName(devices: devices, names: []).resolve(""), "hw:CARD=C920,DEV=0")
    for index in 2..<4 { devices[index].holders = [ALSAHolder(process: 7, name: "arecord")] }
    try expectEqual(MicrophoneName(devices: devices, names: []).resolve(""), "default")
    let error = #expect(throws: RunError.self) {
      try MicrophoneName(devices: [], names: []).resolve("")
    }
    expectEqual(error?.settings, [.microphone])
  }

  @Test func aCardThatMayNotBeUsedIsNotSaidToBeMissing() {
    let barred = ALSACard(index: 0, id: "PCH", driver: "", name: "HDA Intel", longName: "")
    let known = MicrophoneName(devices: [], names: [], barred: barred)
    let error = #expect(throws: RunError.self) { try known.resolve("") }
    expectEqual(error?.description.contains("group audio"), true)
    expectEqual(error?.description.contains("HDA Intel"), true)
  }

  @Test func addressesTellTheirDevice() {
    expectEqual(Self.known.device(of: "hw:1,0")?.card.id, "C920")
    expectEqual(Self.known.device(of: "plughw:CARD=PCH,DEV=2")?.name, "ALC295 Alt Analog")
    expectEqual(Self.known.device(of: "dsnoop:USB")?.card.id, "USB")
    expectNil(Self.known.device(of: "hw:CARD=PCH,DEV=1"))
    expectNil(Self.known.device(of: "default"))
  }

  /// A number may be another card's when a microphone is plugged in again; the short name is not.
  @Test(arguments: [
    ("hw:1,0,3", "hw:C920,0,3"), ("plughw:CARD=1,DEV=0", "plughw:CARD=C920,DEV=0"),
    ("hw:C920", "hw:C920"), ("hw:DEV=0,CARD=1", "hw:DEV=0,CARD=C920"),
  ])
  func numbersBecomeShortNames(_ name: String, _ stable: String) {
    expectEqual(MicrophoneAddress(name)?.name(card: "C920"), stable)
  }

  @Test(arguments: ["default", "plug:'hw:0'", "{ type hw }", "hw:", "hw:0,x", "hw:DEV=1"])
  func otherNamesAreNoAddresses(_ name: String) {
    expectNil(MicrophoneAddress(name))
  }
}

@Suite struct MicrophoneSourceTests {
  @Test func aMicrophoneThatIsNotThereIsRefusedInOneSentence() {
    let source = MicrophoneSource(name: "hw:CARD=NoSuchCard")
    let error = #expect(throws: RunError.self) { try source.open() }
    expectTrue(error?.device == .notFound && error?.settings == [.microphone])
    expectEqual(error?.description.contains("NoSuchCard"), true)
  }

  /// ALSA's `null` is there without any device, and does not tell the monotonic clock.
  @Test func whatADeviceWasSetToIsDeclared() throws {
    var settings = MicrophoneSettings()
    (settings.channels, settings.pick) = (8, ChannelChoice([0, 3])!)
    settings.format = .s24
    let source = MicrophoneSource(name: "null", settings)
    let description = try source.open()
    defer { try? source.close() }
    expectEqual(description.format, AudioFormat(number: .s24, rate: 48_000, channels: 2))
    expectEqual(description.blockSamples, 1920)
    expectTrue(description.isLive)
    expectEqual(
      description.setup,
      "S24_3LE, 48000 Hz, channels 0, 3 of 8, period 960 samples (20 ms), "
        + "buffer 48000 samples (1000 ms), own times")
    expectEqual(description.note?.contains("monotonic"), true)
  }

  @Test func anInterruptEndsReading() throws {
    let source = MicrophoneSource(name: "null")
    let description = try source.open()
    source.interrupt()
    var bytes = [UInt8](
      repeating: 0, count: description.blockSamples * description.format.sampleBytes)
    var span = bytes.mutableSpan
    let arrival = try source.read(into: &span, timeout: .max)
    guard case .end = arrival else {
      Issue.record("it went on")
      return
    }
    try? source.close()
  }

  @Test func lossesAreToldInSentences() {
    var losses = MicrophoneLosses()
    expectEmpty(losses.notes("mic", replacedTimes: 0))
    (losses.overwritten, losses.overruns) = (4800, 1)
    (losses.estimated, losses.unplugs, losses.stops) = (96_000, 1, 2)
    expectEqual(
      losses.notes("mic", replacedTimes: 3),
      [
        "mic lost 4800 samples in 1 overrun: nobody read for longer than its buffer lasts; ask for a "
          + "longer buffer, or run less beside it",
        "mic was unplugged and was stopped by its driver 2 times: about 96000 samples missing, "
          + "estimated from times",
        "mic gave times that cannot be right: 3 times were replaced by that of the wake-up",
      ])
  }
}

@Suite struct MicrophoneControlTests {
  /// Elements of HDA, USB and snd-dummy.
  @Test(arguments: [
    ("Capture", 0, false, "capture_volume"), ("Capture", 0, true, "capture_switch"),
    ("Capture", 1, true, "capture_1_switch"),
    ("Internal Mic Boost", 0, false, "internal_mic_boost"),
    ("Auto Gain Control", 0, true, "auto_gain_control_switch"), ("Mic", 0, false, "mic_volume"),
  ])
  func namesSayWhatItIs(_ element: String, _ index: Int, _ isSwitch: Bool, _ name: String) {
    let control = ALSAMixerControl(
      element: element, index: index, kind: isSwitch ? .isOn : .volume(0...63))
    expectEqual(control.settingName, name)
    let description = ControlDescription(control)
    expectEqual(description.allowed, (isSwitch ? "true or false" : "0 to 63"))
    expectEqual(description.value("on"), (isSwitch ? 1 : nil))
    expectNil(description.value("64"))
  }
}
