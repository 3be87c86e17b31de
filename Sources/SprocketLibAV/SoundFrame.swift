internal import CSprocketLibAV

/// What the samples of decoded frames become: interleaved numbers, of the format that holds them exactly.
/// Doubles and 64 bits, which none holds, become `f32`.
struct SoundConversion: Equatable {
  let format: PCMFormat
  private let source: AVSampleFormat
  private let isPlanar: Bool

  /// For frames like this one. `bits` are those that count in a number, 0 if unknown; `nil` for a frame that
  /// says nothing of its samples.
  init?(_ frame: UnsafeMutablePointer<AVFrame>, bits: Int) {
    let given = unsafe AVSampleFormat(frame.pointee.format)
    source = libav.av_get_packed_sample_fmt(given)
    isPlanar = libav.av_sample_fmt_is_planar(given) != 0
    let number: PCMFormat.Number
    switch source {
    case AV_SAMPLE_FMT_U8, AV_SAMPLE_FMT_S16: number = .s16
    // Decoders have fewer than 32 bits in the upper ones.
    case AV_SAMPLE_FMT_S32: number = 1...24 ~= bits ? .s24 : .s32
    case AV_SAMPLE_FMT_FLT, AV_SAMPLE_FMT_DBL, AV_SAMPLE_FMT_S64: number = .f32
    default: return nil
    }
    let (rate, channels) = unsafe (
      Int(frame.pointee.sample_rate), Int(frame.pointee.ch_layout.nb_channels)
    )
    guard rate > 0, channels > 0 else { return nil }
    format = PCMFormat(number: number, rate: rate, channels: channels)
  }

  /// Stores the samples `range` of a frame at the start of `bytes`, which has room for them.
  func store(
    _ frame: UnsafeMutablePointer<AVFrame>, _ range: Range<Int>,
    into bytes: inout MutableSpan<UInt8>
  ) {
    precondition(unsafe range.upperBound <= Int(frame.pointee.nb_samples), "the frame has fewer")
    precondition(bytes.count >= range.count * format.sampleBytes, "give room for the samples")
    unsafe bytes.withUnsafeMutableBytes { target in
      guard let start = target.baseAddress, !range.isEmpty else { return }
      let size = Int(libav.av_get_bytes_per_sample(source))
      let planes = isPlanar ? format.channels : 1
      let step = isPlanar ? 1 : format.channels
      for plane in 0..<planes {
        guard let data = unsafe frame.pointee.extended_data[plane] else { return }
        let from = unsafe UnsafeRawPointer(data) + range.lowerBound * step * size
        let to = unsafe start + plane * format.number.bytes
        let count = range.count * step
        unsafe convert(from, to, count, spacing: isPlanar ? format.channels : 1)
      }
    }
  }

  /// Converts `count` numbers that lie side by side into numbers that are `spacing` of them apart.
  private func convert(
    _ from: UnsafeRawPointer, _ to: UnsafeMutableRawPointer, _ count: Int, spacing: Int
  ) {
    let stride = spacing * format.number.bytes
    switch source {
    case AV_SAMPLE_FMT_U8:
      for index in 0..<count {
        let number = (Int16(unsafe from.load(fromByteOffset: index, as: UInt8.self)) - 128) << 8
        unsafe to.storeBytes(of: number, toByteOffset: index * stride, as: Int16.self)
      }
    case AV_SAMPLE_FMT_S32 where format.number == .s24:
      for index in 0..<count {
        for byte in 0..<3 {
          let value = unsafe from.load(fromByteOffset: 4 * index + 1 + byte, as: UInt8.self)
          unsafe to.storeBytes(of: value, toByteOffset: index * stride + byte, as: UInt8.self)
        }
      }
    case AV_SAMPLE_FMT_DBL:
      for index in 0..<count {
        let number = Float(unsafe from.loadUnaligned(fromByteOffset: 8 * index, as: Double.self))
        unsafe to.storeBytes(of: number, toByteOffset: index * stride, as: Float.self)
      }
    case AV_SAMPLE_FMT_S64:
      for index in 0..<count {
        let number = unsafe from.loadUnaligned(fromByteOffset: 8 * index, as: Int64.self)
        unsafe to.storeBytes(
          of: Float(number) * 0x1p-63, toByteOffset: index * stride, as: Float.self)
      }
    default:
      if spacing == 1 {
        return unsafe to.copyMemory(from: from, byteCount: count * format.number.bytes)
      }
      if format.number == .s16 {
        for index in 0..<count {
          let number = unsafe from.loadUnaligned(fromByteOffset: 2 * index, as: UInt16.self)
          unsafe to.storeBytes(of: number, toByteOffset: index * stride, as: UInt16.self)
        }
      } else {
        for index in 0..<count {
          let number = unsafe from.loadUnaligned(fromByteOffset: 4 * index, as: UInt32.self)
          unsafe to.storeBytes(of: number, toByteOffset: index * stride, as: UInt32.self)
        }
      }
    }
  }
}
