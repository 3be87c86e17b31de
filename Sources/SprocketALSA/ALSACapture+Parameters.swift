internal import CSprocketALSA
internal import Glibc

// What a device offers, and setting it.
//
// What is offered depends on what was chosen before: of a device with two rates at 16 bits one may be left
// once 24 are chosen.

extension ALSACapture {
  /// The formats that are left, of those that Sprocket takes.
  ///
  /// The corresponding C function is `snd_pcm_hw_params_test_format`.
  public var formats: [ALSAFormat] {
    ALSAFormat.allCases.filter { format in
      unsafe snd_pcm_hw_params_test_format(pcm, parameters, format.number) == 0
    }
  }

  /// The counts of channels that are left; none above `mostChannels`.
  ///
  /// The corresponding C function is `snd_pcm_hw_params_test_channels`.
  public var channelCounts: [Int] {
    (1...Self.mostChannels).filter { count in
      unsafe snd_pcm_hw_params_test_channels(pcm, parameters, UInt32(count)) == 0
    }
  }

  /// Larger interfaces have up to 64 channels or so, and a plug-in any number.
  public static let mostChannels = 64

  /// The rates that are left.
  ///
  /// The corresponding C functions are `snd_pcm_hw_params_test_rate`, `snd_pcm_hw_params_get_rate_min` and
  /// `snd_pcm_hw_params_get_rate_max`.
  public var rates: ALSARates {
    let usual = ALSARates.all.filter { isOffered(rate: $0) }
    var (least, most): (UInt32, UInt32) = (0, 0)
    var direction: Int32 = 0
    unsafe snd_pcm_hw_params_get_rate_min(parameters, &least, &direction)
    unsafe snd_pcm_hw_params_get_rate_max(parameters, &most, &direction)
    return ALSARates(usual: usual, range: Int(min(least, most))...Int(most))
  }

  private func isOffered(rate: Int) -> Bool {
    unsafe snd_pcm_hw_params_test_rate(pcm, parameters, UInt32(rate), 0) == 0
  }

  /// The corresponding C function is `snd_pcm_hw_params_set_format`.
  public mutating func choose(format: ALSAFormat) -> Bool {
    unsafe snd_pcm_hw_params_set_format(pcm, parameters, format.number) >= 0
  }

  /// The corresponding C function is `snd_pcm_hw_params_set_channels`.
  public mutating func choose(channels: Int) -> Bool {
    unsafe snd_pcm_hw_params_set_channels(pcm, parameters, UInt32(channels)) >= 0
  }

  /// The corresponding C function is `snd_pcm_hw_params_set_rate`.
  public mutating func choose(rate: Int) -> Bool {
    unsafe snd_pcm_hw_params_set_rate(pcm, parameters, UInt32(rate), 0) >= 0
  }

  /// Sets the device to what was chosen, with a period and a buffer near those that are asked for.
  ///
  /// The corresponding C functions are `snd_pcm_hw_params` and `snd_pcm_sw_params`.
  public mutating func configure(
    _ format: ALSAFormat, periodSamples: Int, bufferSamples: Int
  ) throws(ALSAError) -> ALSASetup {
    var (period, buffer) = (snd_pcm_uframes_t(periodSamples), snd_pcm_uframes_t(bufferSamples))
    var direction: Int32 = 0
    try demand(
      unsafe snd_pcm_hw_params_set_period_size_near(pcm, parameters, &period, &direction),
      "snd_pcm_hw_params_set_period_size_near")
    try demand(
      unsafe snd_pcm_hw_params_set_buffer_size_near(pcm, parameters, &buffer),
      "snd_pcm_hw_params_set_buffer_size_near")
    try demand(unsafe snd_pcm_hw_params(pcm, parameters), "snd_pcm_hw_params")
    var (rate, channels): (UInt32, UInt32) = (0, 0)
    unsafe snd_pcm_hw_params_get_period_size(parameters, &period, &direction)
    unsafe snd_pcm_hw_params_get_buffer_size(parameters, &buffer)
    unsafe snd_pcm_hw_params_get_rate(parameters, &rate, &direction)
    unsafe snd_pcm_hw_params_get_channels(parameters, &channels)
    return ALSASetup(
      format: format, rate: Int(rate), channels: Int(channels), periodSamples: Int(period),
      bufferSamples: Int(buffer), isMonotonic: try configureSoftware(period: period))
  }

  /// Wake-ups by the period, no stop by itself, and times in the status; returns whether these are of
  /// `CLOCK_MONOTONIC`. A plug-in that does not take the clock is set up without.
  private func configureSoftware(period: snd_pcm_uframes_t) throws(ALSAError) -> Bool {
    var memory: OpaquePointer?
    guard unsafe snd_pcm_sw_params_malloc(&memory) >= 0, let software = unsafe memory else {
      throw ALSAError(.outOfMemory, operation: "snd_pcm_sw_params_malloc", name: name)
    }
    defer { unsafe snd_pcm_sw_params_free(software) }
    try demand(unsafe snd_pcm_sw_params_current(pcm, software), "snd_pcm_sw_params_current")
    var boundary: snd_pcm_uframes_t = 0
    unsafe snd_pcm_sw_params_get_boundary(software, &boundary)
    unsafe snd_pcm_sw_params_set_avail_min(pcm, software, period)
    unsafe snd_pcm_sw_params_set_start_threshold(pcm, software, boundary)
    unsafe snd_pcm_sw_params_set_stop_threshold(pcm, software, boundary)
    try demand(unsafe snd_pcm_sw_params(pcm, software), "snd_pcm_sw_params")
    unsafe snd_pcm_sw_params_set_tstamp_mode(pcm, software, SND_PCM_TSTAMP_ENABLE)
    unsafe snd_pcm_sw_params_set_tstamp_type(pcm, software, SND_PCM_TSTAMP_TYPE_MONOTONIC)
    guard unsafe snd_pcm_sw_params(pcm, software) >= 0 else { return false }
    unsafe snd_pcm_sw_params_current(pcm, software)
    var type = SND_PCM_TSTAMP_TYPE_GETTIMEOFDAY
    unsafe snd_pcm_sw_params_get_tstamp_type(software, &type)
    let isMonotonic = unsafe snd_pcm_hw_params_is_monotonic(parameters) != 0
    return isMonotonic && type == SND_PCM_TSTAMP_TYPE_MONOTONIC
  }
}
