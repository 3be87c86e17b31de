internal import CSprocketALSA
internal import Glibc

/// A sound card of this machine.
public struct ALSACard: Hashable, Sendable {
  public var index: Int
  /// The short name that it is addressed by, as in `hw:CARD=USB`.
  public var id: String
  public var driver: String
  public var name: String
  /// Name and place, such as the port of a USB device.
  public var longName: String

  public init(index: Int, id: String, driver: String, name: String, longName: String) {
    self.index = index
    self.id = id
    self.driver = driver
    self.name = name
    self.longName = longName
  }

  /// The cards of this machine by number; those, too, that its user may not use. Not those that the kernel
  /// lists and `/dev` does not have, as in a container.
  ///
  /// Cost: reads a file; opens nothing.
  public static func all() -> [ALSACard] {
    parse(text(of: "/proc/asound/cards")).filter { unsafe access($0.controlNode, F_OK) == 0 }
  }

  /// Why this user may not use it.
  public var problem: ALSAError? {
    guard unsafe access(controlNode, R_OK | W_OK) != 0 else { return nil }
    return ALSAError(operation: "access", result: -errno, name: name)
  }

  private var controlNode: String { "/dev/snd/controlC\(index)" }

  /// The cards that `/proc/asound/cards` tells of, two lines each. Pure.
  ///
  ///      0 [Loopback       ]: Loopback - Loopback
  ///                           Loopback 1
  static func parse(_ cards: String) -> [ALSACard] {
    var found: [ALSACard] = []
    for line in cards.split(separator: "\n") {
      if let card = first(line) {
        found.append(card)
      } else if !found.isEmpty, found[found.count - 1].longName.isEmpty {
        found[found.count - 1].longName = trimmed(line)
      }
    }
    return found
  }

  private static func first(_ line: Substring) -> ALSACard? {
    guard let open = line.firstIndex(of: "["), let index = Int(trimmed(line[..<open])),
      let close = line[open...].firstRange(of: "]: ")
    else { return nil }
    let id = trimmed(line[line.index(after: open)..<close.lowerBound])
    let rest = line[close.upperBound...]
    guard let dash = rest.firstRange(of: " - ") else { return nil }
    return ALSACard(
      index: index, id: id, driver: trimmed(rest[..<dash.lowerBound]),
      name: trimmed(rest[dash.upperBound...]), longName: "")
  }
}

/// A device of a card that sound can be captured from.
public struct ALSADevice: Hashable, Sendable {
  public var card: ALSACard
  public var number: Int
  public var name: String
  /// How many can capture at a time.
  public var subdevices: Int
  /// Who has one of them open.
  public var holders: [ALSAHolder]

  /// Its own name, without conversions: `hw:CARD=USB,DEV=0`.
  public var address: String { "hw:CARD=\(card.id),DEV=\(number)" }

  public init(
    card: ALSACard, number: Int, name: String, subdevices: Int = 1, holders: [ALSAHolder] = []
  ) {
    self.card = card
    self.number = number
    self.name = name
    self.subdevices = subdevices
    self.holders = holders
  }

  /// All are in use.
  public var isBusy: Bool { holders.count >= subdevices }
}

extension ALSACard {
  /// The card's devices that can capture, by number.
  ///
  /// Cost: opens the card's control; no device is touched.
  ///
  /// The corresponding C functions are `snd_ctl_open`, `snd_ctl_pcm_next_device` and `snd_ctl_pcm_info`.
  public func captureDevices() throws(ALSAError) -> [ALSADevice] {
    sprocket_alsa_be_quiet()
    var opened: OpaquePointer?
    let result = unsafe snd_ctl_open(&opened, "hw:\(index)", Int32(SND_PCM_NONBLOCK))
    guard result >= 0, let control = unsafe opened else {
      throw ALSAError(operation: "snd_ctl_open", result: result, name: name, isOpening: true)
    }
    defer { unsafe snd_ctl_close(control) }
    var memory: OpaquePointer?
    guard unsafe snd_pcm_info_malloc(&memory) >= 0, let info = unsafe memory else { return [] }
    defer { unsafe snd_pcm_info_free(info) }
    var devices: [ALSADevice] = []
    var number: Int32 = -1
    while unsafe snd_ctl_pcm_next_device(control, &number) >= 0, number >= 0 {
      unsafe snd_pcm_info_set_device(info, UInt32(number))
      unsafe snd_pcm_info_set_subdevice(info, 0)
      unsafe snd_pcm_info_set_stream(info, SND_PCM_STREAM_CAPTURE)
      guard unsafe snd_ctl_pcm_info(control, info) >= 0 else { continue }
      let name = unsafe snd_pcm_info_get_name(info).map { unsafe String(cString: $0) }
      let count = max(1, Int(unsafe snd_pcm_info_get_subdevices_count(info)))
      devices.append(
        ALSADevice(
          card: self, number: Int(number), name: name ?? "", subdevices: count,
          holders: ALSAHolder.all(card: index, device: Int(number), subdevices: count)))
    }
    return devices
  }
}
