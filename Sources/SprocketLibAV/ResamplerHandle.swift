internal import CSprocketLibAV

/// libswresample's context: wide numbers in, wide numbers out. The library has no S24, so that is S32 here.
@safe
final class ResamplerHandle {
  private let context: OpaquePointer

  /// The corresponding C functions are `swr_alloc_set_opts2`, `swr_set_matrix` and `swr_init`.
  init(_ from: AudioResampler.Shape, to: AudioResampler.Shape) throws(AudioResamplerError) {
    if let missing = LibAV.missing {
      throw AudioResamplerError(operation: "dlopen", status: 0, missing: missing)
    }
    var made: OpaquePointer?
    var (input, output) = unsafe (AVChannelLayout(), AVChannelLayout())
    unsafe libav.av_channel_layout_default(&input, Int32(from.channels))
    unsafe libav.av_channel_layout_default(&output, Int32(to.channels))
    let status = unsafe libav.swr_alloc_set_opts2(
      &made, &output, to.number.format, Int32(to.rate), &input, from.number.format,
      Int32(from.rate), 0,
      nil)
    guard status >= 0, let opened = unsafe made else {
      throw AudioResamplerError(operation: "swr_alloc_set_opts2", status: status)
    }
    unsafe context = unsafe opened
    let object = unsafe UnsafeMutableRawPointer(opened)
    for (name, value) in Self.options {
      try check(unsafe libav.av_opt_set_int(object, name, value, 0), name)
    }
    try check(
      unsafe libav.av_opt_set_sample_fmt(object, "internal_sample_fmt", AV_SAMPLE_FMT_FLTP, 0),
      "internal_sample_fmt")
    if from.channels != to.channels {
      let matrix = Self.matrix(from.channels, to.channels)
      try check(
        unsafe libav.swr_set_matrix(context, matrix, Int32(from.channels)), "swr_set_matrix")
    }
    try check(unsafe libav.swr_init(context), "swr_init")
  }

  deinit {
    var context: OpaquePointer? = unsafe context
    unsafe libav.swr_free(&context)
  }

  private static let options: [(String, Int64)] = [
    // Also between equal rates: drift is corrected later.
    ("flags", Int64(SWR_FLAG_RESAMPLE)),
    // Between the phases of the filter: with whole phases alone a correction of some ppm leaves residuals of
    // -60 dBFS.
    ("linear_interp", 1),
    // The same phases for all rates: else a correction makes other ones, and allocates.
    ("exact_rational", 0),
  ]

  /// Rows of outputs. Fewer channels are means, more are copies of one, or silent.
  private static func matrix(_ inputs: Int, _ outputs: Int) -> [Double] {
    (0..<outputs).flatMap { output in
      let sources = (0..<inputs).filter {
        outputs < inputs ? $0 % outputs == output : inputs == 1 || $0 == output
      }
      return (0..<inputs).map { sources.contains($0) ? 1 / Double(sources.count) : 0 }
    }
  }

  /// Inputs that were fed and lie behind the position of the next output, in parts of `1 / rate / fine`
  /// seconds.
  ///
  /// The corresponding C function is `swr_get_delay`.
  func delay(rate: Int, fine: Int64) -> Int64 {
    unsafe libav.swr_get_delay(context, Int64(rate) * fine)
  }

  /// Of `distance` outputs, `change` are more than the rates say.
  ///
  /// The corresponding C function is `swr_set_compensation`.
  func compensate(_ change: Int32, distance: Int32) throws(AudioResamplerError) {
    try check(unsafe libav.swr_set_compensation(context, change, distance), "swr_set_compensation")
  }

  /// Feeds the first `count` samples of `input`, and gives up to `most` outputs.
  ///
  /// The corresponding C function is `swr_convert`.
  func convert(
    _ input: Span<UInt8>, _ count: Int, into output: inout MutableSpan<UInt8>, most: Int
  ) throws(AudioResamplerError) -> Int {
    let status = unsafe output.withUnsafeMutableBufferPointer { target in
      unsafe input.withUnsafeBufferPointer { source in
        var to = target.baseAddress
        // Without an address the library would end the stream.
        var from = unsafe source.baseAddress ?? UnsafePointer(to)
        return unsafe libav.swr_convert(context, &to, Int32(most), &from, Int32(count))
      }
    }
    try check(status, "swr_convert")
    return Int(status)
  }

  /// The same, into an array.
  func convert(
    _ input: Span<UInt8>, _ count: Int, into output: inout [UInt8], most: Int
  ) throws(AudioResamplerError) -> Int {
    var room = output.mutableSpan
    return try convert(input, count, into: &room, most: most)
  }

  /// The same, with arrays.
  func convert(
    _ input: [UInt8], _ count: Int, into output: inout [UInt8], most: Int
  ) throws(AudioResamplerError) -> Int {
    var room = output.mutableSpan
    return try convert(input.span, count, into: &room, most: most)
  }

  private func check(_ status: Int32, _ operation: String) throws(AudioResamplerError) {
    if status < 0 { throw AudioResamplerError(operation: operation, status: status) }
  }
}

extension PCMFormat.Number {
  fileprivate var format: AVSampleFormat {
    switch self {
    case .s16: AV_SAMPLE_FMT_S16
    case .s24, .s32: AV_SAMPLE_FMT_S32
    case .f32: AV_SAMPLE_FMT_FLT
    }
  }
}
