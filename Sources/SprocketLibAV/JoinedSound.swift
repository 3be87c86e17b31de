internal import SprocketPixels

/// The sound of parts of files, one behind the other, each as long as its pictures. What a part lacks is
/// silence; sound of another shape is converted to that of the first part that has some.
public struct JoinedSound: ~Copyable {
  public let format: PCMFormat
  private let parts: [MediaPart]
  /// Number of the first sample behind each part.
  private let edges: [Int64]
  private let isInterrupted: @Sendable () -> Bool
  /// The part that is read, and its sound; `nil` if it has none.
  private var place = -1
  private var sound: PartSound?
  private var resampler: AudioResampler?
  /// Samples that were read.
  public private(set) var position: Int64 = 0
  private var input: [UInt8] = []
  private var wide: [UInt8] = []
  private var output: [UInt8] = []

  /// What could not be decoded, as sentences.
  public private(set) var notes: [String] = []

  /// `nil` if no part has sound. `codec` takes some rates and numbers of channels alone.
  public init?(
    _ parts: [MediaPart], for codec: SoundCodec? = nil,
    isInterrupted: @escaping @Sendable () -> Bool = { false }
  ) {
    let formats = parts.compactMap(\.sound)
    guard var format = formats.first else { return nil }
    // Numbers of all kinds are numbers in Float32.
    if formats.contains(where: { $0.number != format.number }) { format.number = .f32 }
    if let codec {
      format.rate = codec.rate(for: format.rate)
      format.channels = min(format.channels, codec.mostChannels)
      if format.channels != formats[0].channels { format.speakers = 0 }
    }
    (self.format, self.parts, self.isInterrupted) = (format, parts, isInterrupted)
    var end: Int64 = 0
    edges = parts.map { part in
      end = end.clampedSum(part.length)
      return Self.sample(at: end, format.rate)
    }
  }

  /// Samples of all parts together.
  public var count: Int64 { edges.last ?? 0 }

  /// Number of the sample that is heard `nanoseconds` after the first picture.
  func sample(at nanoseconds: Int64) -> Int64 { Self.sample(at: nanoseconds, format.rate) }

  private static func sample(at nanoseconds: Int64, _ rate: Int) -> Int64 {
    Int64(clamping: (Double(nanoseconds) / 1e9 * Double(rate)).rounded())
  }

  /// Reads the next samples, at most `most`, into the start of `bytes`. Returns how many; 0 at the end.
  public mutating func read(
    _ most: Int, into bytes: inout MutableSpan<UInt8>
  ) throws(JoinError) -> Int {
    while place < 0 || position >= edges[place] {
      guard place + 1 < parts.count else {
        note(sound?.note)
        sound = nil
        return 0
      }
      try begin(place + 1)
    }
    let left = min(Int64(most), edges[place] - position)
    let count = min(Int(left), AudioResampler.most)
    guard let sound else {
      for index in 0..<count * format.sampleBytes { bytes[index] = 0 }
      position += Int64(count)
      return count
    }
    do throws(MediaError) {
      if sound.format.isShaped(as: format) {
        try sound.read(count, into: &bytes)
        position += Int64(count)
        return count
      }
    } catch { throw .media(error) }
    try convert(sound, count)
    for index in 0..<count * format.sampleBytes { bytes[index] = output[index] }
    position += Int64(count)
    return count
  }

  /// Passes over silence where more than a second of it comes next. Returns how many samples that are.
  public mutating func passSilence() throws(JoinError) -> Int64 {
    while place < 0 || position >= edges[place] {
      guard place + 1 < parts.count else { return 0 }
      try begin(place + 1)
    }
    let left = edges[place] - position
    guard resampler == nil, left > Int64(format.rate) else { return 0 }
    do throws(MediaError) {
      let silence = min(left, try sound?.silenceAhead() ?? .max)
      guard silence > Int64(format.rate) else { return 0 }
      sound?.pass(silence)
      position += silence
      return silence
    } catch { throw .media(error) }
  }

  private mutating func begin(_ part: Int) throws(JoinError) {
    note(sound?.note)
    (place, sound, resampler) = (part, nil, nil)
    guard let found = parts[part].sound else { return }
    do throws(MediaError) {
      sound = try PartSound(parts[part], isInterrupted: isInterrupted)
    } catch { throw .media(error) }
    guard !found.isShaped(as: format) else { return }
    do throws(AudioResamplerError) {
      let source = AudioResampler.Shape(
        number: format.number, rate: found.rate, channels: found.channels)
      let target = AudioResampler.Shape(
        number: format.number, rate: format.rate, channels: format.channels)
      if source.rate != target.rate || source.channels != target.channels {
        resampler = try AudioResampler(from: source, to: target)
      }
    } catch { throw .sound(parts[part].path, found, format) }
  }

  private mutating func note(_ text: String?) {
    if let text, !notes.contains(text) { notes.append(text) }
  }

  /// Makes `count` samples in `output`.
  private mutating func convert(_ sound: PartSound, _ count: Int) throws(JoinError) {
    let size = format.sampleBytes
    if output.isEmpty { output = [UInt8](repeating: 0, count: AudioResampler.most * size) }
    guard let resampler else {
      try fetch(sound, count)
      for index in 0..<count * size { output[index] = wide[index] }
      return
    }
    var made: [UInt8] = []
    var room = [UInt8](repeating: 0, count: AudioResampler.most * size)
    while made.count < count * size {
      let missing = count - made.count / size
      let needed = min(resampler.inputs(for: missing), AudioResampler.most)
      try fetch(sound, needed)
      let part = needed * sound.format.channels * format.number.bytes
      do throws(AudioResamplerError) {
        let some = try resampler.convert(
          wide.span.extracting(0..<part), into: &room, most: missing)
        made += room[..<(some * size)]
      } catch { throw .sound(parts[place].path, sound.format, format) }
    }
    for index in made.indices { output[index] = made[index] }
  }

  /// Reads samples into `wide`, as numbers of the joined sound.
  private mutating func fetch(_ sound: PartSound, _ count: Int) throws(JoinError) {
    let own = sound.format
    let numbers = count * own.channels
    if input.count < count * own.sampleBytes {
      input = [UInt8](repeating: 0, count: AudioResampler.most * own.sampleBytes)
    }
    do throws(MediaError) {
      var room = input.mutableSpan
      try sound.read(count, into: &room)
    } catch { throw .media(error) }
    let bytes = numbers * format.number.bytes
    if wide.count < bytes { wide = [UInt8](repeating: 0, count: bytes) }
    guard own.number != format.number else {
      for index in 0..<bytes { wide[index] = input[index] }
      return
    }
    for index in 0..<numbers {
      let bits = own.number.float(input.span, at: index * own.number.bytes).bitPattern
      for byte in 0..<4 { wide[4 * index + byte] = UInt8(truncatingIfNeeded: bits >> (8 * byte)) }
    }
  }
}

/// Why parts cannot be joined.
public enum JoinError: Error {
  case media(MediaError)
  case muxer(MuxerError)
  case encoder(EncoderError)
  /// The sound of a file cannot be converted.
  case sound(String, PCMFormat, PCMFormat)

  public var sentence: String {
    switch self {
    case .media(let error): "\(error)"
    case .muxer(let error): "libavformat cannot write it: \(error)"
    case .encoder(let error): "\(error)"
    case .sound(let path, let own, let other):
      "libswresample cannot make sound of \(other.rate) Hz and \(other.channels) channels from that of "
        + "\(path), of \(own.rate) Hz and \(own.channels); convert it first"
    }
  }
}

extension PCMFormat {
  fileprivate func isShaped(as other: PCMFormat) -> Bool {
    (number, rate, channels) == (other.number, other.rate, other.channels)
  }
}

extension PCMFormat.Number {
  /// A number of this kind, full scale from -1 to 1.
  fileprivate func float(_ bytes: Span<UInt8>, at place: Int) -> Float {
    let word = (0..<self.bytes).reduce(UInt32(0)) {
      $0 | UInt32(bytes[place + $1]) << UInt32(8 * $1)
    }
    return switch self {
    case .s16: Float(Int16(truncatingIfNeeded: word)) / 0x1p15
    case .s24: Float(Int32(bitPattern: word << 8)) / 0x1p31
    case .s32: Float(Int32(bitPattern: word)) / 0x1p31
    case .f32: Float(bitPattern: word)
    }
  }
}
