internal import SprocketALSA
internal import SprocketCore

/// Finds the microphone that a user means. Pure.
struct MicrophoneName {
  let devices: [ALSADevice]
  let names: [ALSAName]
  /// A card that this user may not use. It looks to ALSA as if it were not there.
  var barred: ALSACard?

  /// What ALSA calls it.
  ///
  /// - An ALSA name is taken as it is: one with a colon (`hw:1,0`), or one that its configuration lists.
  /// - A card's or a device's name or short name, or a part of one that only one card has, in any case: the
  ///   card's first device that fits, without conversions.
  /// - None is the first device that nobody uses, without conversions; else `default`, which may let several
  ///   programs listen.
  /// - All else may be a name that the configuration has and does not list.
  func resolve(_ name: String) throws(RunError) -> String {
    if name.isEmpty {
      if devices.isEmpty, let denied { throw denied }
      guard !devices.isEmpty || names.contains(where: { $0.name == "default" }) else {
        throw RunError(
          .notFound, "there is no microphone; plug one in, or record without sound",
          [.microphone])
      }
      return devices.first { !$0.isBusy }?.address ?? "default"
    }
    if name.contains(":") || names.contains(where: { $0.name == name }) { return name }
    let exact = devices.filter { [$0.card.name, $0.card.id, $0.name].contains(name) }
    let lower = name.lowercased()
    let near =
      exact.isEmpty
      ? devices.filter { device in
        [device.card.name, device.card.id, device.name].contains { $0.lowercased().contains(lower) }
      } : exact
    guard let first = near.first else { return name }
    guard Set(near.map(\.card.index)).count == 1 else {
      throw RunError(
        .usage,
        "`\(name)` fits several microphones: \(near.map(\.title).joined(separator: ", ")); name one of "
          + "these by what stands in brackets", change: .microphone)
    }
    return first.address
  }

  /// The device that an ALSA name is about, if it is about one.
  func device(of name: String) -> ALSADevice? {
    guard let address = MicrophoneAddress(name) else { return nil }
    return devices.first { device in
      device.number == address.device
        && (device.card.id == address.card || "\(device.card.index)" == address.card)
    }
  }

  /// The sentence for the card that may not be used.
  var denied: RunError? {
    barred.map { card in
      RunError(ALSAError(.notPermitted, operation: "access", name: card.name), title: card.name)
    }
  }

  /// All that can be named, for who named something else.
  var list: String {
    let others = names.filter { $0.card == nil && $0.name != "null" }.map(\.name)
    return (devices.map(\.title) + others).joined(separator: ", ")
  }
}

/// The parts of a name such as `hw:1,0`, `plughw:CARD=USB,DEV=1`, which is about a device of a card. Pure.
struct MicrophoneAddress: Hashable {
  /// As in `plughw`.
  let kind: String
  /// Its number or its short name.
  let card: String
  let device: Int
  private let parts: [String]
  private let cardPart: Int

  /// `nil` for a name of another kind.
  init?(_ name: String) {
    guard let colon = name.firstIndex(of: ":"), !name.contains("'"), !name.contains("{") else {
      return nil
    }
    let parts = name[name.index(after: colon)...]
      .split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    func named(_ key: String) -> (index: Int, value: String)? {
      guard let index = parts.firstIndex(where: { $0.hasPrefix("\(key)=") }) else { return nil }
      return (index, String(parts[index].dropFirst(key.count + 1)))
    }
    // Without their names, card and device come first.
    let isNamed = parts.contains { $0.contains("=") }
    guard let place = isNamed ? named("CARD") : (0, parts[0]), !place.value.isEmpty else {
      return nil
    }
    let text = isNamed ? named("DEV")?.value : parts.dropFirst().first
    guard let number = text.map({ Int($0) }) ?? 0 else { return nil }
    (kind, self.parts) = (String(name[..<colon]), parts)
    (card, device, cardPart) = (place.value, number, place.index)
  }

  /// The same of the card with this short name, which it keeps when it is plugged in again.
  func name(card id: String) -> String {
    var parts = parts
    parts[cardPart] = parts[cardPart].hasPrefix("CARD=") ? "CARD=\(id)" : id
    return "\(kind):\(parts.joined(separator: ","))"
  }
}

extension ALSADevice {
  /// As in `Loopback, Loopback PCM (hw:CARD=Loopback,DEV=1)`.
  var title: String {
    let names = name.isEmpty || name == card.name ? card.name : "\(card.name), \(name)"
    return "\(names) (\(address))"
  }
}
