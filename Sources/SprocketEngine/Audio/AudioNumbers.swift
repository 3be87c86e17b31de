internal import SprocketCore

// Numbers of sound from and to bytes, and their levels. `stride` is the bytes of a sample of all channels.

extension AudioMemory {
  /// Levels of the first `count` samples of a slot.
  func levels(_ slot: Int, count: Int, _ format: AudioFormat) -> AudioLevels {
    if format.number == .s16, format.channels == 2 {
      return readWords(slot, count: count) { .ofStereo16($0) }
    }
    return read(slot, count: count * format.sampleBytes) { .of($0, count: count, format) }
  }
}

extension AudioLevels {
  /// Levels of `count` samples.
  static func of(_ bytes: Span<UInt8>, count: Int, _ format: AudioFormat) -> AudioLevels {
    var levels = AudioLevels()
    guard count > 0 else { return levels }
    for channel in 0..<format.channels {
      let start = channel * format.number.bytes
      let (peak, sum) =
        switch format.number {
        case .s16: levels16(bytes, count, from: start, stride: format.sampleBytes)
        case .s24: levels24(bytes, count, from: start, stride: format.sampleBytes)
        case .s32: levels32(bytes, count, from: start, stride: format.sampleBytes)
        case .f32: levelsFloat(bytes, count, from: start, stride: format.sampleBytes)
        }
      levels.peak[channel] = peak
      levels.meanSquare[channel] = sum / Float(count)
    }
    return levels
  }
}

extension AudioLevels {
  /// Levels of stereo of 16 bits, one sample per word. Cost: about 4 instructions per sample; other formats
  /// take 20 per number.
  static func ofStereo16(_ words: Span<UInt32>) -> AudioLevels {
    var levels = AudioLevels()
    guard !words.isEmpty else { return levels }
    var (leastLeft, mostLeft, leastRight, mostRight): (Int32, Int32, Int32, Int32) = (0, 0, 0, 0)
    var (sumLeft, sumRight): (UInt64, UInt64) = (0, 0)
    for index in words.indices {
      let word = Int32(bitPattern: UInt32(littleEndian: words[index]))
      let (left, right) = ((word << 16) >> 16, word >> 16)
      leastLeft = min(leastLeft, left)
      mostLeft = max(mostLeft, left)
      leastRight = min(leastRight, right)
      mostRight = max(mostRight, right)
      sumLeft &+= UInt64(UInt32(bitPattern: left &* left))
      sumRight &+= UInt64(UInt32(bitPattern: right &* right))
    }
    let full = Float(32768 * 32768 * words.count)
    levels.peak[0] = Float(max(-leastLeft, mostLeft)) / 32768
    levels.peak[1] = Float(max(-leastRight, mostRight)) / 32768
    levels.meanSquare[0] = Float(sumLeft) / full
    levels.meanSquare[1] = Float(sumRight) / full
    return levels
  }
}

private func levels16(
  _ bytes: Span<UInt8>, _ count: Int, from start: Int, stride: Int
) -> (peak: Float, sum: Float) {
  var (least, most): (Int32, Int32) = (0, 0)
  var sum: UInt64 = 0
  // Checked once: the loop has no checks of bounds then.
  guard count > 0, start >= 0, stride >= 2, start + (count - 1) * stride + 2 <= bytes.count else {
    return (0, 0)
  }
  var at = start
  for _ in 0..<count {
    let number = Int32(number16(bytes, at))
    least = min(least, number)
    most = max(most, number)
    sum &+= UInt64(UInt32(bitPattern: number &* number))
    at &+= stride
  }
  return (Float(max(-least, most)) / 32768, Float(sum) / (32768 * 32768))
}

private func levels24(
  _ bytes: Span<UInt8>, _ count: Int, from start: Int, stride: Int
) -> (peak: Float, sum: Float) {
  var (peak, sum): (Float, Float) = (0, 0)
  for index in 0..<count {
    let number = Float(number24(bytes, start &+ index &* stride)) * 0x1p-23
    peak = max(peak, abs(number))
    sum += number * number
  }
  return (peak, sum)
}

private func levels32(
  _ bytes: Span<UInt8>, _ count: Int, from start: Int, stride: Int
) -> (peak: Float, sum: Float) {
  var (peak, sum): (Float, Float) = (0, 0)
  for index in 0..<count {
    let number = Float(Int32(bitPattern: word32(bytes, start &+ index &* stride))) * 0x1p-31
    peak = max(peak, abs(number))
    sum += number * number
  }
  return (peak, sum)
}

/// A number that is no number counts as full scale.
private func levelsFloat(
  _ bytes: Span<UInt8>, _ count: Int, from start: Int, stride: Int
) -> (peak: Float, sum: Float) {
  var (peak, sum): (Float, Float) = (0, 0)
  for index in 0..<count {
    let number = Float(bitPattern: word32(bytes, start &+ index &* stride))
    let size = number.isNaN ? 1 : min(abs(number), 0x1p16)
    peak = max(peak, size)
    sum += size * size
  }
  return (peak, sum)
}

/// Numbers of `bytes` as parts of full scale.
func decode(
  _ bytes: Span<UInt8>, _ format: AudioFormat.Number, into numbers: inout MutableSpan<Float>
) {
  let count = min(numbers.count, bytes.count / format.bytes)
  switch format {
  case .s16:
    for index in 0..<count { numbers[index] = Float(number16(bytes, 2 &* index)) * 0x1p-15 }
  case .s24:
    for index in 0..<count { numbers[index] = Float(number24(bytes, 3 &* index)) * 0x1p-23 }
  case .s32:
    for index in 0..<count {
      numbers[index] = Float(Int32(bitPattern: word32(bytes, 4 &* index))) * 0x1p-31
    }
  case .f32:
    for index in 0..<count {
      let number = Float(bitPattern: word32(bytes, 4 &* index))
      numbers[index] = number.isFinite ? number : 0
    }
  }
}

/// `numbers` in the format, rounded to nearest; returns how many were beyond full scale, and clipped: in
/// floating point they stay as they are, and players clip them.
func encode(
  _ numbers: Span<Float>, _ format: AudioFormat.Number, into bytes: inout MutableSpan<UInt8>
) -> Int {
  let count = min(numbers.count, bytes.count / format.bytes)
  var clipped = 0
  guard format != .f32 else {
    for index in 0..<count {
      if numbers[index].magnitude > 1 { clipped &+= 1 }
      store(numbers[index].bitPattern, 4, &bytes, 4 &* index)
    }
    return clipped
  }
  let size = format.bytes
  let scale = Double(sign: .plus, exponent: 8 * size - 1, significand: 1)
  for index in 0..<count {
    let number = numbers[index].isFinite ? Double(numbers[index]) * scale : 0
    // A number of full scale is a unit too large for the format, and that is no clipping to speak of.
    if number > scale || number < -scale { clipped &+= 1 }
    let rounded = Int32(min(max(number.rounded(), -scale), scale - 1))
    store(UInt32(bitPattern: rounded), size, &bytes, size &* index)
  }
  return clipped
}

@inline(__always)
private func store(_ word: UInt32, _ size: Int, _ bytes: inout MutableSpan<UInt8>, _ at: Int) {
  for byte in 0..<size { bytes[at &+ byte] = UInt8(truncatingIfNeeded: word >> UInt32(8 &* byte)) }
}

@inline(__always)
private func number16(_ bytes: Span<UInt8>, _ at: Int) -> Int16 {
  Int16(bitPattern: UInt16(bytes[at]) | UInt16(bytes[at &+ 1]) << 8)
}

@inline(__always)
private func number24(_ bytes: Span<UInt8>, _ at: Int) -> Int32 {
  let word = UInt32(bytes[at]) | UInt32(bytes[at &+ 1]) << 8 | UInt32(bytes[at &+ 2]) << 16
  return Int32(bitPattern: word << 8) >> 8
}

@inline(__always)
private func word32(_ bytes: Span<UInt8>, _ at: Int) -> UInt32 {
  UInt32(bytes[at]) | UInt32(bytes[at &+ 1]) << 8 | UInt32(bytes[at &+ 2]) << 16
    | UInt32(bytes[at &+ 3]) << 24
}
