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
    #expect(cards.map(\.index) == [0, 1, 10])
    #expect(cards.map(\.id) == ["PCH", "C920", "Loopback"])
    #expect(cards.map(\.driver) == ["HDA-Intel", "USB-Audio", "Loopback"])
    #expect(cards.map(\.name) == ["HDA Intel PCH", "HD Pro - Webcam [C920]", "Loopback"])
    #expect(cards[1].longName == "HD Pro Webcam C920 at usb-0000:00:14.0-1, high speed")
  }

  @Test(arguments: [
    "", "--- no soundcards ---\n", "\n\n", "[", " 0 [", " 0 [a]: b", "x [a]: b - c\n",
  ])
  func listsWithoutCardsHaveNone(_ text: String) {
    #expect(ALSACard.parse(text).isEmpty)
  }

  /// A subdevice's status as the kernel writes it (sound/core/pcm.c).
  @Test func theHolderIsInTheStatus() {
    let status = """
      state: RUNNING
      owner_pid   : 2156
      trigger_time: 36.012345678
      avail_max   : 960

      """
    #expect(value(of: "owner_pid", in: status) == 2156)
    #expect(value(of: "owner_pid", in: "closed\n") == nil)
    #expect(value(of: "owner", in: status) == nil)
    #expect(value(of: "Tgid", in: "Name:\ta: b\nTgid:\t17\n") == 17)
  }

  @Test func aDeviceIsBusyWhenAllItsPartsAre() {
    let card = ALSACard(index: 0, id: "USB", driver: "", name: "Mic", longName: "")
    var device = ALSADevice(card: card, number: 1, name: "", subdevices: 2)
    #expect(device.address == "hw:CARD=USB,DEV=1")
    device.holders = [ALSAHolder(process: 1, name: "a")]
    #expect(!device.isBusy)
    device.holders.append(ALSAHolder(process: 2, name: "b"))
    #expect(device.isBusy)
  }

  @Test func namesTellTheirCard() {
    #expect(ALSAName(name: "hw:CARD=Loopback,DEV=1", text: "").card == "Loopback")
    #expect(ALSAName(name: "default:CARD=PCH", text: "").card == "PCH")
    #expect(ALSAName(name: "pulse", text: "").card == nil)
  }

  /// ALSA answers ENODEV to a card that it does not find, EINVAL to a name that it cannot read.
  @Test(arguments: [
    ("no such name", ALSAError.Code.notFound), ("hw:CARD=NoSuchCard", .notFound),
    ("hw:a,b,c,d", .refused),
  ])
  func missingDevicesAreToldFromNamesThatCannotBe(_ name: String, _ code: ALSAError.Code) {
    let error = #expect(throws: ALSAError.self) { _ = try ALSACapture(name: name) }
    #expect(error?.code == code)
    #expect(error?.description.contains(name) == true)
  }

  @Test func anUnpluggedDeviceIsGoneAndAMissingOneWasNeverThere() {
    #expect(ALSAError(operation: "", result: -19, name: "", isOpening: true).code == .notFound)
    #expect(ALSAError(operation: "", result: -19, name: "").code == .gone)
    #expect(ALSAError(operation: "", result: -32, name: "").code == .stopped)
    #expect(ALSAError(operation: "", result: -86, name: "").code == .suspended)
  }

  /// ALSA's `null` is there without any device: it takes everything.
  @Test func whatIsChosenIsSet() throws {
    var device = try ALSACapture(name: "null")
    #expect(device.formats == ALSAFormat.allCases)
    #expect(device.rates.usual == ALSARates.all)
    #expect(device.channelCounts == Array(1...64))
    #expect(device.cardNumber() == nil)
    let chosen =
      (device.choose(format: .s24), device.choose(channels: 3), device.choose(rate: 44_100))
    #expect(chosen == (true, true, true))
    // What is left is what was chosen.
    #expect(device.formats == [.s24])
    #expect(device.channelCounts == [3])
    #expect(device.rates == ALSARates(usual: [44_100], range: 44_100...44_100))
    let again = device.choose(rate: 48_000)
    #expect(!again)
    let setup = try device.configure(.s24, periodSamples: 441, bufferSamples: 4410)
    #expect(
      setup
        == ALSASetup(
          format: .s24, rate: 44_100, channels: 3, periodSamples: 441, bufferSamples: 4410,
          isMonotonic: false))
    try device.start()
    var bytes = [UInt8](repeating: 0, count: 3 * 4 * 441)
    var span = bytes.mutableSpan
    let count = try device.read(441, into: &span)
    #expect(count == 441)
    device.stop()
    // It was stopped, and does not run.
    let error = #expect(throws: ALSAError.self) { try device.status() }
    #expect(error?.code == .stopped)
  }
}
