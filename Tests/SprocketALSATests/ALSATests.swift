import TestExpectations
import Testing

@testable import SprocketALSA

/// What needs no device; the lab tries the rest on a driver.
@Suite struct ALSATests {
  /// As a laptop with a webcam has it; the second name holds what separates the fields of the first.
  static let cards = """
     0 [PCH            ]: HDA-Intel - HDA Intel PCH
                          HDA Intel PCH at 0xdf340000 irq 139
     1 [C920           ]: USB-Audio - HD Pro - Webcam [C920]
                          HD Pro Webcam C920 at usb-0000:00:14.0-1, high speed
    10 [Loopback       ]: Loopback - Loopback
                          Loopback 1

    """

  @Test func cardsAreReadFromTheKernelsList() {
    let cards = ALSACard.parse(Self.cards)
    expectEqual(cards.map(\.index), [0, 1, 10])
    expectEqual(cards.map(\.id), ["PCH", "C920", "Loopback"])
    expectEqual(cards.map(\.driver), ["HDA-Intel", "USB-Audio", "Loopback"])
    expectEqual(cards.map(\.name), ["HDA Intel PCH", "HD Pro - Webcam [C920]", "Loopback"])
    expectEqual(cards[1].longName, "HD Pro Webcam C920 at usb-0000:00:14.0-1, high speed")
  }

  @Test(arguments: [
    "", "--- no soundcards ---\n", "\n\n", "[", " 0 [", " 0 [a]: b", "x [a]: b - c\n",
  ])
  func listsWithoutCardsHaveNone(_ text: String) {
    expectEmpty(ALSACard.parse(text))
  }

  /// A subdevice's status as the kernel writes it (sound/core/pcm.c).
  @Test func theHolderIsInTheStatus() {
    let status = """
      state: RUNNING
      owner_pid   : 2156
      trigger_time: 36.012345678
      avail_max   : 960

      """
    expectEqual(value(of: "owner_pid", in: status), 2156)
    expectNil(value(of: "owner_pid", in: "closed\n"))
    expectNil(value(of: "owner", in: status))
    expectEqual(value(of: "Tgid", in: "Name:\ta: b\nTgid:\t17\n"), 17)
  }

  @Test func aDeviceIsBusyWhenAllItsPartsAre() {
    let card = ALSACard(index: 0, id: "USB", driver: "", name: "Mic", longName: "")
    var device = ALSADevice(card: card, number: 1, name: "", subdevices: 2)
    expectEqual(device.address, "hw:CARD=USB,DEV=1")
    device.holders = [ALSAHolder(process: 1, name: "a")]
    expectFalse(device.isBusy)
    device.holders.append(ALSAHolder(process: 2, name: "b"))
    expectTrue(device.isBusy)
  }

  @Test func namesTellTheirCard() {
    expectEqual(ALSAName(name: "hw:CARD=Loopback,DEV=1", text: "").card, "Loopback")
    expectEqual(ALSAName(name: "default:CARD=PCH", text: "").card, "PCH")
    expectNil(ALSAName(name: "pulse", text: "").card)
  }

  /// ALSA answers ENODEV to a card that it does not find, EINVAL to a name that it cannot read.
  @Test(arguments: [
    ("no such name", ALSAError.Code.notFound), ("hw:CARD=NoSuchCard", .notFound),
    ("hw:a,b,c,d", .refused),
  ])
  func missingDevicesAreToldFromNamesThatCannotBe(_ name: String, _ code: ALSAError.Code) {
    let error = #expect(throws: ALSAError.self) { _ = try ALSACapture(name: name) }
    expectEqual(error?.code, code)
    expectEqual(error?.description.contains(name), true)
  }

  @Test func anUnpluggedDeviceIsGoneAndAMissingOneWasNeverThere() {
    expectEqual(ALSAError(operation: "", result: -19, name: "", isOpening: true).code, .notFound)
    expectEqual(ALSAError(operation: "", result: -19, name: "").code, .gone)
    expectEqual(ALSAError(operation: "", result: -32, name: "").code, .stopped)
    expectEqual(ALSAError(operation: "", result: -86, name: "").code, .suspended)
  }

  /// ALSA's `null` is there without any device: it takes everything.
  @Test func whatIsChosenIsSet() throws {
    var device = try ALSACapture(name: "null")
    expectEqual(device.formats, ALSAFormat.allCases)
    expectEqual(device.rates.usual, ALSARates.all)
    expectEqual(device.channelCounts, Array(1...64))
    expectNil(device.cardNumber())
    let chosen =
      (device.choose(format: .s24), device.choose(channels: 3), device.choose(rate: 44_100))
    #expect(chosen == (true, true, true))
    // What is left is what was chosen.
    expectEqual(device.formats, [.s24])
    expectEqual(device.channelCounts, [3])
    expectEqual(device.rates, ALSARates(usual: [44_100], range: 44_100...44_100))
    let again = device.choose(rate: 48_000)
    expectFalse(again)
    let setup = try device.configure(.s24, periodSamples: 441, bufferSamples: 4410)
    expectEqual(
      setup,
      ALSASetup(
        format: .s24, rate: 44_100, channels: 3, periodSamples: 441, bufferSamples: 4410,
        isMonotonic: false))
    try device.start()
    var bytes = [UInt8](repeating: 0, count: 3 * 4 * 441)
    var span = bytes.mutableSpan
    let count = try device.read(441, into: &span)
    expectEqual(count, 441)
    device.stop()
    // It was stopped, and does not run.
    let error = #expect(throws: ALSAError.self) { try device.status() }
    expectEqual(error?.code, .stopped)
  }
}
