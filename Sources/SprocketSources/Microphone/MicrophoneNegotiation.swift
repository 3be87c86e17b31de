internal import SprocketALSA
internal import SprocketCore

/// What a device offers after the choices made so far.
protocol MicrophoneOffer: ~Copyable {
  var formats: [ALSAFormat] { get }
  var channelCounts: [Int] { get }
  var rates: ALSARates { get }
  /// False where it is not offered.
  mutating func choose(format: ALSAFormat) -> Bool
  mutating func choose(channels: Int) -> Bool
  mutating func choose(rate: Int) -> Bool
}

extension ALSACapture: MicrophoneOffer {}

/// How a microphone is set up.
struct MicrophoneMode: Sendable, Hashable {
  var format: ALSAFormat
  var rate: Int
  /// Of the device.
  var channels: Int
  /// Those that are taken.
  var picked: [Int]

  var audioFormat: AudioFormat {
    AudioFormat(number: AudioFormat.Number(format), rate: rate, channels: picked.count)
  }
}

/// Chooses format, rate and channels of a microphone.
///
/// What was asked for is given exactly or refused, with what is offered instead; what was not asked for is
/// chosen afterwards, of what is left:
///
/// - as many channels as a choice of channels needs;
/// - the rate that is nearest to 48,000 Hz, from below where there is one;
/// - two channels, or the fewest that there are;
/// - 16 bits, 24, 32 or floating point, in this order.
struct MicrophoneNegotiation {
  /// What sentences call the device.
  let title: String
  let wanted: MicrophoneSettings

  func choose<Offer: MicrophoneOffer & ~Copyable>(
    from offer: inout Offer
  ) throws(RunError) -> MicrophoneMode {
    var format = try wanted.format.map { (number) throws(RunError) in
      try chooseFormat(number, &offer)
    }
    var channels = wanted.channels
    if let channels {
      try choose(channels: channels, &offer)
    } else if wanted.pick != .all {
      channels = try chooseChannels(&offer)
    }
    if let rate = wanted.rate { try choose(rate: rate, &offer) }
    let rate = if let rate = wanted.rate { rate } else { try chooseRate(&offer) }
    if channels == nil { channels = try chooseChannels(&offer) }
    if format == nil { format = try chooseFormat(&offer) }
    guard let format, let channels else { throw nothing }
    try checkPick(channels)
    return MicrophoneMode(
      format: format, rate: rate, channels: channels,
      picked: wanted.pick.channels ?? Array(0..<channels))
  }

  private func checkPick(_ channels: Int) throws(RunError) {
    let picked = wanted.pick.channels ?? Array(0..<channels)
    if let beyond = picked.first(where: { $0 >= channels }) {
      throw refusal(
        "\(title) is set to \(count(channels)), and there is no channel \(beyond) among these: "
          + "they are counted from 0")
    }
    guard picked.count <= AudioFormat.mostChannels else {
      throw refusal(
        "\(title) has \(channels) channels, and a recording at most \(AudioFormat.mostChannels): "
          + "choose some of them, such as pick=0/1")
    }
  }

  // Asked for.

  private func chooseFormat<Offer: MicrophoneOffer & ~Copyable>(
    _ number: AudioFormat.Number, _ offer: inout Offer
  ) throws(RunError) -> ALSAFormat {
    let offered = offer.formats
    for format in ALSAFormat.preferred where AudioFormat.Number(format) == number {
      if offered.contains(format), offer.choose(format: format) { return format }
    }
    throw refusal(
      "\(title) does not offer \(number.rawValue); it offers \(MicrophoneNegotiation.text(offered))"
    )
  }

  private func choose<Offer: MicrophoneOffer & ~Copyable>(
    channels: Int, _ offer: inout Offer
  ) throws(RunError) {
    guard !offer.choose(channels: channels) else { return }
    throw refusal(
      "\(title) does not offer \(count(channels))\(given(.format)); it offers "
        + MicrophoneNegotiation.text(channels: offer.channelCounts))
  }

  private func choose<Offer: MicrophoneOffer & ~Copyable>(
    rate: Int, _ offer: inout Offer
  ) throws(RunError) {
    guard !offer.choose(rate: rate) else { return }
    throw refusal(
      "\(title) does not offer \(rate) Hz\(given(.format, .channels)); it offers "
        + MicrophoneNegotiation.text(offer.rates))
  }

  // Not asked for.

  private func chooseRate<Offer: MicrophoneOffer & ~Copyable>(
    _ offer: inout Offer
  ) throws(RunError) -> Int {
    let rates = offer.rates
    // Of a device with unusual ones the greatest.
    let rate = Self.preferred(rates.usual) ?? rates.range.upperBound
    guard AudioFormat.rates.contains(rate), offer.choose(rate: rate) else {
      throw refusal(
        "\(title) offers \(MicrophoneNegotiation.text(rates)), of which Sprocket takes none")
    }
    return rate
  }

  static func preferred(_ rates: [Int]) -> Int? {
    rates.last { $0 <= usualRate } ?? rates.first
  }

  private static let usualRate = 48_000

  private func chooseChannels<Offer: MicrophoneOffer & ~Copyable>(
    _ offer: inout Offer
  ) throws(RunError) -> Int {
    let counts = offer.channelCounts
    let needed = wanted.pick.channels.map { ($0.max() ?? 0) + 1 }
    let found = needed.map { needed in counts.first { $0 >= needed } }
    guard let count = found ?? (counts.contains(2) ? 2 : counts.first),
      offer.choose(channels: count)
    else {
      throw refusal(
        "\(title) does not offer channel \((needed ?? 1) - 1), counted from 0; it offers "
          + MicrophoneNegotiation.text(channels: counts))
    }
    return count
  }

  private func chooseFormat<Offer: MicrophoneOffer & ~Copyable>(
    _ offer: inout Offer
  ) throws(RunError) -> ALSAFormat {
    let offered = offer.formats
    let best = ALSAFormat.preferred.first { offered.contains($0) }
    guard let best, offer.choose(format: best) else { throw nothing }
    return best
  }

  // Words.

  private var nothing: RunError {
    refusal("\(title) offers no format that Sprocket takes\(given(.channels, .rate))")
  }

  private func refusal(_ sentence: String) -> RunError {
    RunError(.usage, sentence, change: .microphone)
  }

  private enum Asked { case format, channels, rate }

  /// What else was asked for, since it narrows down what is offered.
  private func given(_ asked: Asked...) -> String {
    let words = asked.compactMap { asked in
      switch asked {
      case .format: wanted.format?.rawValue
      case .channels: wanted.channels.map { count($0) }
      case .rate: wanted.rate.map { "\($0) Hz" }
      }
    }
    return words.isEmpty ? "" : " with \(words.joined(separator: " and "))"
  }

  private func count(_ channels: Int) -> String {
    channels == 1 ? "1 channel" : "\(channels) channels"
  }

  static func text(_ formats: [ALSAFormat]) -> String {
    let numbers = AudioFormat.Number.allCases.filter { number in
      formats.contains { AudioFormat.Number($0) == number }
    }
    return numbers.isEmpty
      ? "none that Sprocket takes" : numbers.map(\.rawValue).joined(separator: ", ")
  }

  static func text(_ rates: ALSARates) -> String {
    rates.usual.isEmpty
      ? "\(rates.range.lowerBound) to \(rates.range.upperBound) Hz"
      : "\(rates.usual.map(\.settingText).joined(separator: ", ")) Hz"
  }

  /// As in `1 to 8, 10 channels`.
  static func text(channels counts: [Int]) -> String {
    var runs: [ClosedRange<Int>] = []
    for count in counts {
      if let last = runs.last, last.upperBound == count - 1 {
        runs[runs.count - 1] = last.lowerBound...count
      } else {
        runs.append(count...count)
      }
    }
    let words = runs.map { run in
      run.count == 1 ? "\(run.lowerBound)" : "\(run.lowerBound) to \(run.upperBound)"
    }
    return words.isEmpty
      ? "no channels" : "\(words.joined(separator: ", ")) channel\(counts == [1] ? "" : "s")"
  }
}

extension ALSAFormat {
  /// First choice first. Of the two with 24 bits the one that need not be packed.
  static let preferred: [ALSAFormat] = [.s16, .s24Packed, .s24, .s32, .f32]
}

extension AudioFormat.Number {
  /// What is made of a device's format.
  init(_ format: ALSAFormat) {
    self =
      switch format {
      case .s16: .s16
      case .s24, .s24Packed: .s24
      case .s32: .s32
      case .f32: .f32
      }
  }
}
