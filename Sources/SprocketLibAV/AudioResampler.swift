/// Converts the rate and the channels of sound, and corrects the drift of a clock, which is a rate that
/// changes by little while sound goes through.
///
/// libswresample interpolates between the phases of its filter, in Float32. Fewer channels are means: of `n`,
/// channel `c` is that of all whose number leaves the rest `c` when it is divided by `n`, so that one is the
/// mean of all, and two are those of the even and of the odd. More channels are copies of one, or silent.
///
/// Cost: allocates in `init` alone, about 50 times.
public final class AudioResampler {
  /// How sound lies in memory: interleaved.
  public struct Shape: Sendable {
    public var number: PCMFormat.Number
    /// Samples per second.
    public var rate: Int
    public var channels: Int

    public init(number: PCMFormat.Number, rate: Int, channels: Int) {
      (self.number, self.rate, self.channels) = (number, rate, channels)
    }

    /// Of one sample, all channels.
    public var bytes: Int { number.bytes * channels }
    /// The same, as the library takes it.
    var wideBytes: Int { (number == .s24 ? 4 : number.bytes) * channels }
  }

  /// Samples that an output needs on each side of its position, at most.
  public let reach: Int
  /// Input samples per output sample, without a correction.
  public let step: Double
  /// Input samples since ``begin(with:)``.
  public private(set) var fed: Int64 = 0
  /// Input samples that are consumed beyond ``step``, as a part of it.
  public private(set) var correction = 0.0

  /// Most input samples, and most output samples, of one call.
  public static let most = 1024

  private let (input, output): (Shape, Shape)
  private let handle: ResamplerHandle
  private let zeros: [UInt8]
  private var unheard: [UInt8]
  /// For S24.
  private var wideInput: [UInt8] = []
  private var wideOutput: [UInt8] = []
  /// Outputs that lie before the beginning.
  private var early = 0

  /// From sound of one shape to that of another, whose number is the same.
  public init(from input: Shape, to output: Shape) throws(AudioResamplerError) {
    (self.input, self.output) = (input, output)
    handle = try ResamplerHandle(input, to: output)
    step = Double(input.rate) / Double(output.rate)
    // The library's filter has 32 taps, and more where the new rate is lower (libswresample/resample.c).
    reach = Int((32 * max(1, step / Self.cutoff)).rounded(.up)) / 2 + 2
    zeros = [UInt8](repeating: 0, count: Self.most * input.wideBytes)
    unheard = [UInt8](repeating: 0, count: Self.most * output.wideBytes)
    if input.number == .s24 { (wideInput, wideOutput) = (zeros + [], unheard + []) }
    // The library allocates when it is first used, and when more waits in it than before.
    _ = try drop(zeros, Self.most, most: 1)
    while try drop(zeros, 0, most: Self.most) > 0 {}
    try begin(with: Span())
  }

  /// Part of half the lower rate that passes the filter: the library's default.
  private static let cutoff = 0.97

  /// Where the next output lies among the inputs since ``begin(with:)``, counted in input samples. The first
  /// output lies at 0, for odd pairs of rates near it.
  public var position: Double {
    let fine: Int64 = 1 << 20
    let delay = handle.delay(rate: input.rate, fine: fine)
    return Double(fed) - Double(delay) / Double(fine) + Double(early) * step * (1 + correction)
  }

  /// Input samples that are needed for so many outputs, besides those that were fed.
  public func inputs(for outputs: Int) -> Int {
    let last = position + Double(outputs - 1) * step * (1 + correction)
    return max(0, Int(last.rounded(.up)) + reach - Int(fed))
  }

  /// From now on `step * (1 + correction)` input samples are consumed per output, to within 1 ppm: ask
  /// ``position`` for what came of it.
  public func correct(by correction: Double) throws(AudioResamplerError) {
    // For so many outputs, hours, of which these are more.
    let distance: Int32 = 1 << 30
    let change = Int32((-correction * Double(distance)).rounded())
    try handle.compensate(change, distance: distance)
    self.correction = correction
  }

  /// Begins anew: the sample that is fed next is at position 0. Those in `before`, at most ``most``, were
  /// heard just before it, and silence before these. For a resampler that has not been corrected, so that its
  /// positions are those of samples.
  public func begin(with before: Span<UInt8>) throws(AudioResamplerError) {
    try correct(by: 0)
    early = 0
    let count = before.count / input.bytes
    fed = 0
    var silence = 2 * reach + padding(for: -position + Double(2 * reach + count))
    while silence > 0 {
      _ = try drop(zeros, min(silence, Self.most), most: Self.most)
      while try drop(zeros, 0, most: Self.most) > 0 {}
      silence -= Self.most
    }
    if input.number == .s24 {
      widen(before, into: &wideInput)
      _ = try drop(wideInput, count, most: Self.most)
    } else {
      _ = try drop(before, count, most: Self.most)
    }
    while try drop(zeros, 0, most: Self.most) > 0 {}
    fed = 0
    early = max(0, Int((-position / step - 0.5).rounded(.up)))
  }

  /// Samples that make a whole number of steps of `length` input samples, or nearly.
  private func padding(for length: Double) -> Int {
    var (best, least) = (0, Double.infinity)
    for count in 0..<Self.mostPadding where least > 1e-4 {
      let off = abs(((length + Double(count)) / step).rounded() * step - length - Double(count))
      if off < least { (best, least) = (count, off) }
    }
    return best
  }

  /// Input samples of silence with which a beginning is put on an output. Larger: for more pairs of
  /// rates, and more to convert. Common ones need 2,560 at most (192 kHz to 11,025 Hz).
  private static let mostPadding = 2561

  /// Feeds all of `sound`, at most ``most`` samples, and gives up to `count` outputs, at most ``most``, for
  /// which `target` has room. Returns how many; more may come with the next calls.
  public func convert(
    _ sound: Span<UInt8>, into target: inout [UInt8], most count: Int
  ) throws(AudioResamplerError) -> Int {
    let samples = sound.count / input.bytes
    fed += Int64(samples)
    guard input.number == .s24 else {
      guard early > 0 else { return try handle.convert(sound, samples, into: &target, most: count) }
      early -= try drop(sound, samples, most: early)
      return early > 0 ? 0 : try handle.convert(Span(), 0, into: &target, most: count)
    }
    widen(sound, into: &wideInput)
    let isEarly = early > 0
    if isEarly { early -= try drop(wideInput, samples, most: early) }
    if early > 0 { return 0 }
    let made = try handle.convert(
      wideInput, isEarly ? 0 : samples, into: &wideOutput, most: min(count, Self.most))
    narrow(wideOutput, made * output.channels, into: &target)
    return made
  }

  /// Feeds `count` samples and takes up to `most` outputs, which nobody hears.
  private func drop(_ sound: [UInt8], _ count: Int, most: Int) throws(AudioResamplerError) -> Int {
    try handle.convert(sound, count, into: &unheard, most: min(most, Self.most))
  }

  private func drop(_ sound: Span<UInt8>, _ count: Int, most: Int) throws(AudioResamplerError)
    -> Int
  {
    try handle.convert(sound, count, into: &unheard, most: min(most, Self.most))
  }
}

/// Why sound cannot be resampled: no memory, or rates that the library refuses.
public struct AudioResamplerError: Error, Equatable, Sendable {
  /// The C function that failed, or the option that was refused.
  public let operation: String
  public let status: Int32
  /// libswresample or another of its libraries is not installed here: a sentence says which.
  public let missing: String?

  init(operation: String, status: Int32, missing: String? = nil) {
    (self.operation, self.status, self.missing) = (operation, status, missing)
  }
}

/// S24 as S32: three bytes each, and four.
private func widen(_ sound: Span<UInt8>, into wide: inout [UInt8]) {
  for index in 0..<sound.count / 3 {
    wide[4 * index] = 0
    for byte in 0..<3 { wide[4 * index + 1 + byte] = sound[3 * index + byte] }
  }
}

/// S32 as S24, rounded.
private func narrow(_ wide: [UInt8], _ count: Int, into sound: inout [UInt8]) {
  for index in 0..<count {
    var bits: UInt32 = 0
    for byte in 0..<4 { bits |= UInt32(wide[4 * index + byte]) << UInt32(8 * byte) }
    let rounded = (Int64(Int32(bitPattern: bits)) + 128) >> 8
    let number = UInt32(truncatingIfNeeded: min(rounded, 0x7f_ffff))
    for byte in 0..<3 {
      sound[3 * index + byte] = UInt8(truncatingIfNeeded: number >> UInt32(8 * byte))
    }
  }
}
