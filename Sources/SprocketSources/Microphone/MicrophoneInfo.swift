internal import SprocketALSA
public import SprocketCore

/// A microphone that this machine has, and what it offers.
public struct MicrophoneInfo: Sendable {
  /// What ALSA calls the device without conversions, as in `hw:CARD=USB,DEV=0`.
  public let address: String
  /// The card's name, and its short one; a microphone is found by both.
  public let card: String
  public let id: String
  /// The device's own name.
  public let device: String
  public let driver: String
  /// Name and place of the card, such as the port of a USB device.
  public let place: String
  /// That of a camera in the same case is the same: ``DeviceIdentity/unit``.
  public let unit: String?
  /// How many programs can capture from it at a time, without a plug-in of ALSA's that shares it.
  public let subdevices: Int
  /// Who does, as in `arecord (process 2156)`.
  public let holders: [String]
  /// Why it could not be asked; `nil` where all is well.
  public let problem: String?
  public let formats: [Format]
  /// Samples per second, of those that are usual; and the least and the greatest.
  public let rates: [Int]
  public let rateRange: ClosedRange<Int>?
  public let channels: [Int]
  /// The card's, those of its other devices too.
  public let controls: [MicrophoneControlInfo]
  /// Other names of it, which convert or share.
  public let aliases: [String]

  /// A way to store numbers that is offered.
  public struct Format: Sendable {
    /// What ALSA calls it, as in `S24_3LE`.
    public let name: String
    /// What is recorded of it.
    public let number: AudioFormat.Number
  }

  /// The microphones of this machine by card and device; those that may not be opened, too.
  ///
  /// Each of these is opened and asked, for some milliseconds, in which no other program can have it. One
  /// that is in use is left alone.
  public static func all() -> [MicrophoneInfo] { all { _, _ in true } }

  /// The microphone with a node such as `snd/pcmC1D0c`; `nil` where there is none.
  init?(node: String) {
    let found = Self.all { card, device in node == "snd/pcmC\(card.index)D\(device)c" }
    guard let first = found.first else { return nil }
    self = first
  }

  /// Those cards and devices that are wanted; no other is asked.
  private static func all(where isWanted: (ALSACard, Int) -> Bool) -> [MicrophoneInfo] {
    let names = ALSAName.all()
    let identities = DeviceTree.system.identities(in: "sound")
    return ALSACard.all().flatMap { card -> [MicrophoneInfo] in
      let unit = identities["card\(card.index)"]?.unit
      if let problem = card.problem {
        return isWanted(card, 0) ? [MicrophoneInfo(card, unit, problem)] : []
      }
      let devices = card.devices.filter { isWanted(card, $0.number) }
      let controls = devices.isEmpty ? [] : MicrophoneControlInfo.all(of: card)
      return devices.map { device in
        MicrophoneInfo(device, unit, controls, names.filter { $0.card == card.id }.map(\.name))
      }
    }
  }

  /// Whether a card or a device of this machine has `word` in its name, or ALSA knows it by that name.
  package static func isNamed(_ word: String) -> Bool {
    let lower = word.lowercased()
    let found = ALSACard.all().contains { card in
      [card.name, card.id].contains { $0.lowercased().contains(lower) }
        || card.devices.contains { $0.name.lowercased().contains(lower) }
    }
    return found || ALSAName.all().contains { $0.name == word }
  }

  /// A card that cannot be asked; whether it has a microphone is not known.
  private init(_ card: ALSACard, _ unit: String?, _ problem: ALSAError) {
    self.init(
      ALSADevice(card: card, number: 0, name: ""), unit: unit, controls: [], aliases: [],
      problem: problem.description, offer: nil)
  }

  private init(
    _ device: ALSADevice, _ unit: String?, _ controls: [MicrophoneControlInfo], _ names: [String]
  ) {
    let aliases = names.filter { name in
      let found = MicrophoneAddress(name)
      return found?.device == device.number && found?.kind != "hw"
    }
    var problem: String?
    var offer: Offer?
    if !device.isBusy {
      do throws(ALSAError) {
        offer = Offer(try ALSACapture(name: device.address))
      } catch {
        problem = error.description
      }
    } else {
      problem = "in use: what it offers can be asked when it is free"
    }
    self.init(
      device, unit: unit, controls: controls, aliases: aliases, problem: problem, offer: offer)
  }

  private init(
    _ device: ALSADevice, unit: String?, controls: [MicrophoneControlInfo], aliases: [String],
    problem: String?, offer: Offer?
  ) {
    address = device.address
    card = device.card.name
    id = device.card.id
    self.device = device.name
    driver = device.card.driver
    place = device.card.longName
    self.unit = unit
    subdevices = device.subdevices
    holders = device.holders.map { "\($0.name) (process \($0.process))" }
    self.problem = problem
    formats = (offer?.formats ?? []).map { format in
      Format(name: format.rawValue, number: AudioFormat.Number(format))
    }
    rates = offer?.rates.usual ?? []
    rateRange = offer?.rates.range
    channels = offer?.channels ?? []
    self.controls = controls
    self.aliases = aliases
  }

  /// What an open device offers.
  private struct Offer {
    let formats: [ALSAFormat]
    let rates: ALSARates
    let channels: [Int]

    init(_ device: borrowing ALSACapture) {
      formats = device.formats
      rates = device.rates
      channels = device.channelCounts
    }
  }
}

extension MicrophoneInfo {
  /// As in `8000, 16000 Hz`.
  public var rateText: String {
    MicrophoneNegotiation.text(ALSARates(usual: rates, range: rateRange ?? 0...0))
  }
  /// As in `1 to 8 channels`.
  public var channelText: String { MicrophoneNegotiation.text(channels: channels) }

  /// Settings for a program that waits for the microphone as long as it runs. With `format` its sound is
  /// that: by ALSA's conversion where the device does not have it.
  package func settings(for format: AudioFormat?) -> MicrophoneSettings {
    var settings = MicrophoneSettings()
    settings.replug = .seconds(86_400)
    settings.name = address
    guard let format else { return settings }
    (settings.format, settings.rate, settings.channels) = (
      format.number, format.rate, format.channels
    )
    let isOffered =
      formats.contains { $0.number == format.number } && rates.contains(format.rate)
      && channels.contains(format.channels)
    if !isOffered, address.hasPrefix("hw:") { settings.name = "plug\(address)" }
    return settings
  }
}
