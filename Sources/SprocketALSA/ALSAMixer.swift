internal import CSprocketALSA
internal import Glibc

/// A control of a card that changes what is captured.
public struct ALSAMixerControl: Hashable, Sendable {
  public enum Kind: Hashable, Sendable {
    /// A volume or a boost, in the driver's steps.
    case volume(ClosedRange<Int>)
    case isOn
  }

  /// The driver's words, as in `Mic Boost`; of several elements with the same name, which.
  public var element: String
  public var index: Int
  public var kind: Kind
  /// Gain at both ends of a volume's range, in dB; `nil` where the driver does not tell.
  public var decibels: ClosedRange<Double>?

  public init(element: String, index: Int, kind: Kind, decibels: ClosedRange<Double>? = nil) {
    self.element = element
    self.index = index
    self.kind = kind
    self.decibels = decibels
  }
}

/// The mixer of a card, as it is when it is opened.
@safe
public struct ALSAMixer: ~Copyable {
  private let mixer: OpaquePointer
  public let card: ALSACard

  /// The corresponding C functions are `snd_mixer_open`, `snd_mixer_attach`, `snd_mixer_selem_register` and
  /// `snd_mixer_load`.
  public init(_ card: ALSACard) throws(ALSAError) {
    self.card = card
    unsafe mixer = unsafe try Self.open(card)
  }

  private static func open(_ card: ALSACard) throws(ALSAError) -> OpaquePointer {
    sprocket_alsa_be_quiet()
    var opened: OpaquePointer?
    var result = unsafe snd_mixer_open(&opened, 0)
    if result >= 0 { result = unsafe snd_mixer_attach(opened, "hw:\(card.index)") }
    if result >= 0 { result = unsafe snd_mixer_selem_register(opened, nil, nil) }
    if result >= 0 { result = unsafe snd_mixer_load(opened) }
    guard result >= 0, let mixer = unsafe opened else {
      if let mixer = unsafe opened { unsafe snd_mixer_close(mixer) }
      throw ALSAError(
        operation: "snd_mixer_load", result: result, name: card.name, isOpening: true)
    }
    return unsafe mixer
  }

  /// The corresponding C function is `snd_mixer_close`.
  deinit { unsafe snd_mixer_close(mixer) }

  private func demand(_ result: Int32, _ operation: String) throws(ALSAError) {
    guard result < 0 else { return }
    throw ALSAError(operation: operation, result: result, name: card.name)
  }

  /// All capture volumes, boosts and switches, in the driver's order.
  ///
  /// The corresponding C functions are `snd_mixer_first_elem`, `snd_mixer_selem_has_capture_volume` and
  /// `snd_mixer_selem_has_capture_switch`, which hold for controls that are common to both directions, too.
  public func controls() -> [ALSAMixerControl] {
    var controls: [ALSAMixerControl] = []
    var next = unsafe snd_mixer_first_elem(mixer)
    while let element = unsafe next {
      unsafe next = unsafe snd_mixer_elem_next(element)
      let name = unsafe snd_mixer_selem_get_name(element).map { unsafe String(cString: $0) } ?? ""
      let index = Int(unsafe snd_mixer_selem_get_index(element))
      if unsafe snd_mixer_selem_has_capture_volume(element) != 0,
        let range = unsafe Self.volumes(of: element)
      {
        controls.append(
          ALSAMixerControl(
            element: name, index: index, kind: .volume(range),
            decibels: unsafe Self.decibels(of: element)))
      }
      if unsafe snd_mixer_selem_has_capture_switch(element) != 0 {
        controls.append(ALSAMixerControl(element: name, index: index, kind: .isOn))
      }
    }
    return controls
  }

  /// The corresponding C function is `snd_mixer_selem_get_capture_volume_range`.
  private static func volumes(of element: OpaquePointer) -> ClosedRange<Int>? {
    var (least, most) = (0, 0)
    guard unsafe snd_mixer_selem_get_capture_volume_range(element, &least, &most) >= 0,
      least <= most
    else { return nil }
    return least...most
  }

  /// ALSA counts hundredths of a dB.
  ///
  /// The corresponding C function is `snd_mixer_selem_get_capture_dB_range`.
  private static func decibels(of element: OpaquePointer) -> ClosedRange<Double>? {
    var (least, most) = (0, 0)
    guard unsafe snd_mixer_selem_get_capture_dB_range(element, &least, &most) >= 0, least <= most
    else { return nil }
    return Double(least) / 100...Double(most) / 100
  }

  /// Reads a control: a volume in the driver's steps, or 1 for a switch that is on. Of several channels it is
  /// the first one's.
  ///
  /// The corresponding C functions are `snd_mixer_selem_get_capture_volume` and
  /// `snd_mixer_selem_get_capture_switch`.
  public func value(of control: ALSAMixerControl) throws(ALSAError) -> Int {
    let element = unsafe try find(control)
    return try unsafe value(of: control.kind, element, SND_MIXER_SCHN_FRONT_LEFT)
  }

  private func value(
    of kind: ALSAMixerControl.Kind, _ element: OpaquePointer,
    _ channel: snd_mixer_selem_channel_id_t
  ) throws(ALSAError) -> Int {
    var volume = 0
    var isOn: Int32 = 0
    switch kind {
    case .volume:
      try demand(
        unsafe snd_mixer_selem_get_capture_volume(element, channel, &volume),
        "snd_mixer_selem_get_capture_volume")
      return volume
    case .isOn:
      try demand(
        unsafe snd_mixer_selem_get_capture_switch(element, channel, &isOn),
        "snd_mixer_selem_get_capture_switch")
      return isOn == 0 ? 0 : 1
    }
  }

  /// What a volume is in dB at the moment; `nil` where the driver does not tell.
  ///
  /// The corresponding C function is `snd_mixer_selem_get_capture_dB`.
  public func decibels(of control: ALSAMixerControl) -> Double? {
    var value = 0
    guard control.decibels != nil, let element = unsafe try? find(control),
      unsafe snd_mixer_selem_get_capture_dB(element, SND_MIXER_SCHN_FRONT_LEFT, &value) >= 0
    else { return nil }
    return Double(value) / 100
  }

  /// Writes a control, all channels of it; returns what the driver made of the value.
  ///
  /// The corresponding C functions are `snd_mixer_selem_set_capture_volume_all` and
  /// `snd_mixer_selem_set_capture_switch_all`.
  public mutating func set(_ control: ALSAMixerControl, to value: Int) throws(ALSAError) -> Int {
    let element = unsafe try find(control)
    switch control.kind {
    case .volume:
      try demand(
        unsafe snd_mixer_selem_set_capture_volume_all(element, value),
        "snd_mixer_selem_set_capture_volume_all")
    case .isOn:
      try demand(
        unsafe snd_mixer_selem_set_capture_switch_all(element, value == 0 ? 0 : 1),
        "snd_mixer_selem_set_capture_switch_all")
    }
    return try self.value(of: control)
  }

  /// Reads a control of each channel that it has, by ALSA's number of the channel.
  ///
  /// The corresponding C functions are `snd_mixer_selem_has_capture_channel`,
  /// `snd_mixer_selem_get_capture_volume` and `snd_mixer_selem_get_capture_switch`.
  public func channelValues(of control: ALSAMixerControl) throws(ALSAError) -> [Int32: Int] {
    let element = unsafe try find(control)
    var values: [Int32: Int] = [:]
    for number in 0...SND_MIXER_SCHN_LAST.rawValue {
      let channel = snd_mixer_selem_channel_id_t(number)
      guard unsafe snd_mixer_selem_has_capture_channel(element, channel) != 0 else { continue }
      values[number] = try unsafe value(of: control.kind, element, channel)
    }
    return values
  }

  /// Writes a control of each channel, as `channelValues` has read it.
  ///
  /// The corresponding C functions are `snd_mixer_selem_set_capture_volume` and
  /// `snd_mixer_selem_set_capture_switch`.
  public mutating func set(
    _ control: ALSAMixerControl, to values: [Int32: Int]
  ) throws(ALSAError) {
    let element = unsafe try find(control)
    for (number, value) in values {
      let channel = snd_mixer_selem_channel_id_t(number)
      switch control.kind {
      case .volume:
        try demand(
          unsafe snd_mixer_selem_set_capture_volume(element, channel, value),
          "snd_mixer_selem_set_capture_volume")
      case .isOn:
        try demand(
          unsafe snd_mixer_selem_set_capture_switch(element, channel, Int32(value)),
          "snd_mixer_selem_set_capture_switch")
      }
    }
  }

  /// The corresponding C function is `snd_mixer_find_selem`.
  private func find(_ control: ALSAMixerControl) throws(ALSAError) -> OpaquePointer {
    var memory: OpaquePointer?
    guard unsafe snd_mixer_selem_id_malloc(&memory) >= 0, let id = unsafe memory else {
      throw ALSAError(.outOfMemory, operation: "snd_mixer_selem_id_malloc", name: card.name)
    }
    defer { unsafe snd_mixer_selem_id_free(id) }
    unsafe snd_mixer_selem_id_set_name(id, control.element)
    unsafe snd_mixer_selem_id_set_index(id, UInt32(control.index))
    guard let element = unsafe snd_mixer_find_selem(mixer, id) else {
      throw ALSAError(.refused, operation: "snd_mixer_find_selem", name: card.name)
    }
    return unsafe element
  }
}
