internal import SprocketALSA
public import SprocketCore
internal import SprocketV4L2

/// A control of a microphone's card, with the value that it has at the moment.
public struct MicrophoneControlInfo: Sendable {
  public let description: ControlDescription
  /// Of several channels the first one's; `nil` where it cannot be read.
  public let value: Double?
  /// What the ends of a volume's range are in dB, and what it is at the moment; `nil` where the driver does
  /// not tell.
  public let decibelRange: ClosedRange<Double>?
  public let decibels: Double?

  init(_ control: ALSAMixerControl, of mixer: borrowing ALSAMixer) {
    description = ControlDescription(control)
    decibelRange = control.decibels
    decibels = mixer.decibels(of: control)
    do throws(ALSAError) {
      value = Double(try mixer.value(of: control))
    } catch {
      value = nil
    }
  }

  /// Those of a card; none where its mixer cannot be opened.
  static func all(of card: ALSACard) -> [MicrophoneControlInfo] {
    do throws(ALSAError) {
      let mixer = try ALSAMixer(card)
      var found: [MicrophoneControlInfo] = []
      for control in mixer.controls() { found.append(MicrophoneControlInfo(control, of: mixer)) }
      return found
    } catch {
      return []
    }
  }
}

/// The mixer of the card that a microphone belongs to.
struct MicrophoneMixer: AudioControls {
  let card: ALSACard
  let title: String

  var controls: [ControlDescription] { MicrophoneControlInfo.all(of: card).map(\.description) }

  func restorer(of name: String) -> ControlRestorer? {
    guard let mixer = try? ALSAMixer(card) else { return nil }
    let control = mixer.controls().first { $0.settingName == name }
    guard let control, let values = try? mixer.channelValues(of: control) else { return nil }
    return { () throws(RunError) in
      try ofCard { () throws(ALSAError) in
        var mixer = try ALSAMixer(card)
        try mixer.set(control, to: values)
      }
    }
  }

  func set(_ name: String, to text: String) throws(RunError) -> String? {
    let known = try ofCard { () throws(ALSAError) in try ALSAMixer(card).controls() }
    guard let control = known.first(where: { $0.settingName == name }) else {
      throw RunError(
        .usage,
        "\(title) has no control `\(name)`; "
          + knownNames(known.map(\.settingName), near: name, "it has"), change: .microphone)
    }
    let description = ControlDescription(control)
    guard let value = description.value(text) else {
      throw RunError(
        .usage, "\(name)=\(text) is not allowed: \(description.advice(insteadOf: text))",
        change: .microphone)
    }
    let made = try ofCard { () throws(ALSAError) in
      var mixer = try ALSAMixer(card)
      return Double(try mixer.set(control, to: Int(value)))
    }
    guard made != value else { return nil }
    return "\(title) made \(name)=\(description.text(of: made)) of \(description.text(of: value))"
  }

  private func ofCard<Value>(_ body: () throws(ALSAError) -> Value) throws(RunError) -> Value {
    do throws(ALSAError) {
      return try body()
    } catch {
      throw RunError(error, title: title)
    }
  }
}

extension ALSAMixerControl {
  /// As in `capture_volume`, `mic_boost`, `capture_1_switch`: the driver's words, and what it is unless they
  /// say so.
  var settingName: String {
    let words = V4L2Control.name(of: element) + (index > 0 ? "_\(index)" : "")
    switch kind {
    case .isOn: return "\(words)_switch"
    case .volume: return element.lowercased().contains("boost") ? words : "\(words)_volume"
    }
  }
}

extension ControlDescription {
  init(_ control: ALSAMixerControl) {
    switch control.kind {
    case .volume(let range):
      self.init(
        name: control.settingName, unit: "", minimum: Double(range.lowerBound),
        maximum: Double(range.upperBound), step: 1)
    case .isOn:
      self.init(
        name: control.settingName, unit: "", minimum: 0, maximum: 1, kind: .boolean, step: 1)
    }
  }
}
