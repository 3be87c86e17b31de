internal import SprocketALSA
public import SprocketCore

// Opening a microphone: finding it, agreeing on a format, and finding it again.

extension MicrophoneSource {
  public func open() throws(RunError) -> AudioDescription {
    try settings.checkRanges()
    let known = MicrophoneName.known()
    address = try known.resolve(name)
    title = known.device(of: address)?.title ?? address
    do throws(ALSAError) {
      device = try ALSACapture(name: address)
    } catch {
      throw RunError(error, title: title, asked: name, known: known)
    }
    do throws(RunError) {
      return try prepare(known)
    } catch {
      device = nil
      throw error
    }
  }

  private func prepare(_ known: MicrophoneName) throws(RunError) -> AudioDescription {
    let found = device!.cardNumber()
    card = ALSACard.all().first { $0.index == found }
    if let card, let place = MicrophoneAddress(address) { address = place.name(card: card.id) }
    let mode = try MicrophoneNegotiation(title: title, wanted: settings).choose(from: &device!)
    let setup = try asking { () throws(ALSAError) in
      try device!.configure(
        mode.format, periodSamples: settings.periodSamples(mode.rate),
        bufferSamples: settings.bufferSamples(mode.rate))
    }
    guard interruption.isSet == false else {
      throw RunError(.interrupted, "opening \(title) was ended before its time")
    }
    use(setup, mode)
    var description = AudioDescription(
      name: title, format: mode.audioFormat, isLive: true, clock: .monotonic,
      blockSamples: blockSamples)
    description.usualSamples = max(1, min(setup.periodSamples, blockSamples))
    description.setup = MicrophoneSource.text(setup, mode)
    description.controls = card.map { MicrophoneMixer(card: $0, title: title) }
    if !setup.isMonotonic {
      description.note =
        "\(title) tells no times of the monotonic clock: its sound has the times at which it was read"
    }
    return description
  }

  private func use(_ setup: ALSASetup, _ mode: MicrophoneMode) {
    self.mode = mode
    // A wake-up finds a period, and what came since; after a stall it finds more, and that comes in
    // several blocks.
    blockSamples = min(2 * setup.periodSamples, setup.bufferSamples)
    packer = SamplePacker(mode, blockSamples: blockSamples)
    tally = MicrophoneTally(
      rate: setup.rate, buffer: setup.bufferSamples, period: setup.periodSamples)
    times = MicrophoneTimes(
      isMonotonic: setup.isMonotonic, latencyMilliseconds: settings.latency)
  }

  private func asking<Value>(_ body: () throws(ALSAError) -> Value) throws(RunError) -> Value {
    do throws(ALSAError) {
      return try body()
    } catch {
      throw RunError(error, title: title)
    }
  }

  /// Tries to open an unplugged microphone again, with the format that it had; false while it cannot be.
  func isBack() -> Bool {
    guard let mode else { return false }
    if let card, !ALSACard.all().contains(where: { $0.id == card.id && $0.name == card.name }) {
      return false
    }
    do throws(ALSAError) {
      var found = try ALSACapture(name: address)
      guard found.choose(format: mode.format), found.choose(channels: mode.channels),
        found.choose(rate: mode.rate)
      else { return false }
      let setup = try found.configure(
        mode.format, periodSamples: settings.periodSamples(mode.rate),
        bufferSamples: settings.bufferSamples(mode.rate))
      device = consume found
      tally.resize(buffer: setup.bufferSamples, period: setup.periodSamples)
      return true
    } catch {
      return false
    }
  }

  /// As in `S24_3LE, 48000 Hz, 2 channels, period 960 samples (20 ms), buffer 48000 samples (1000 ms)`.
  static func text(_ setup: ALSASetup, _ mode: MicrophoneMode) -> String {
    func time(_ samples: Int) -> String {
      let milliseconds = (Double(samples) * 1e4 / Double(setup.rate)).rounded() / 10
      return "\(samples) samples (\(milliseconds.settingText) ms)"
    }
    var channels = setup.channels == 1 ? "1 channel" : "\(setup.channels) channels"
    if mode.picked != Array(0..<setup.channels) {
      let numbers = mode.picked.map(\.settingText).joined(separator: ", ")
      channels = "channel\(mode.picked.count == 1 ? "" : "s") \(numbers) of \(setup.channels)"
    }
    return
      "\(setup.format.rawValue), \(setup.rate) Hz, \(channels), period \(time(setup.periodSamples)), "
      + "buffer \(time(setup.bufferSamples)), \(setup.isMonotonic ? "the device's" : "own") times"
  }
}

extension MicrophoneName {
  /// What this machine has at the moment.
  static func known() -> MicrophoneName {
    let cards = ALSACard.all()
    return MicrophoneName(
      devices: cards.flatMap(\.devices), names: ALSAName.all(),
      barred: cards.first { $0.problem?.code == .notPermitted })
  }
}

extension ALSACard {
  /// Its devices that can capture; none where it cannot be asked.
  var devices: [ALSADevice] {
    do throws(ALSAError) { return try captureDevices() } catch { return [] }
  }
}

extension RunError {
  /// A device's error, as a sentence.
  init(_ error: ALSAError, title: String) {
    let named = ALSAError(error.code, operation: error.operation, errno: error.errno, name: title)
    switch error.code {
    case .notFound: self.init(.notFound, named.description, [.microphone])
    case .notPermitted: self.init(.notPermitted, named.description, [.microphone])
    case .refused: self.init(.usage, named.description, change: .microphone)
    case .busy: self.init(.inUse, named.description, [])
    default: self.init(.failed, named.description)
    }
  }

  /// Why a microphone cannot be opened: busy ones with who has them, missing ones with what there is.
  init(_ error: ALSAError, title: String, asked: String, known: MicrophoneName) {
    let holders = known.device(of: error.name)?.holders ?? []
    switch error.code {
    case .busy where !holders.isEmpty:
      let list = holders.map { "\($0.name) (process \($0.process))" }.joined(separator: ", ")
      self.init(.inUse, "\(title) is in use by \(list); close that", [.microphone])
    case .notFound, .refused:
      if let denied = known.denied {
        self = denied
        return
      }
      let list = known.list
      let offer = list.isEmpty ? "plug one in, or record without sound" : "there are: \(list)"
      self.init(
        .notFound, "there is no microphone `\(asked.isEmpty ? title : asked)`; \(offer)",
        [.microphone])
    default: self.init(error, title: title)
    }
  }
}
