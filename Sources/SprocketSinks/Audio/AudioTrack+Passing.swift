internal import SprocketCore
internal import SprocketLibAV

extension AudioTrack {
  /// Takes samples of a piece into the track until it has given out `target`, at most.
  func pass(
    _ piece: AudioPiece, to target: Int64, _ emit: (Span<UInt8>) throws(RunError) -> Void
  ) throws(RunError) {
    if piece.kind == .cut {
      pending.add(piece.count, .cut)
      return advance(by: 0)
    }
    endsInSound = piece.kind == .sound
    if emitted >= nextUpdate { try update(piece) }
    let limit = min(target, nextUpdate)
    if isConverted {
      try convert(piece, to: limit, emit)
    } else {
      try copy(piece, to: limit, emit)
    }
  }

  private func copy(
    _ piece: AudioPiece, to limit: Int64, _ emit: (Span<UInt8>) throws(RunError) -> Void
  ) throws(RunError) {
    let most = min(piece.count, Int(clamping: limit - emitted))
    let count = try withBytes(of: piece, most) { (bytes) throws(RunError) in
      try emit(bytes)
      return bytes.count / reader.format.sampleBytes
    }
    pending.add(count, piece.kind)
    fed += Int64(count)
    emitted += Int64(count)
    advance(by: count)
  }

  private func convert(
    _ piece: AudioPiece, to limit: Int64, _ emit: (Span<UInt8>) throws(RunError) -> Void
  ) throws(RunError) {
    guard let resampler = correction?.resampler else { return }
    if fed == 0 { try begin(piece) }
    let most = min(AudioResampler.most, Int(clamping: limit - emitted))
    var count = min(piece.count, resampler.inputs(for: most), AudioResampler.most)
    var made = try feed(resampler, piece, count, most)
    if count == 0, made == 0 {
      count = 1
      made = try feed(resampler, piece, count, most)
    }
    if made > 0 {
      let output = output
      try emit(output.span.extracting(0..<made * format.sampleBytes))
      emitted += Int64(made)
    }
    let position = correction.map { Double($0.fedBefore) + resampler.position } ?? 0
    // Positions are rounded.
    advance(by: max(0, Int((position + 1e-4).rounded(.down)) - Int(passed)))
  }

  /// Returns the number of samples in `output`.
  private func feed(
    _ resampler: AudioResampler, _ piece: AudioPiece, _ count: Int, _ most: Int
  ) throws(RunError) -> Int {
    let made = try withBytes(of: piece, count) { (bytes) throws(RunError) in
      do throws(AudioResamplerError) {
        return try resampler.convert(bytes, into: &output, most: most)
      } catch {
        throw .resampling(error, from: reader.format, to: format)
      }
    }
    pending.add(count, piece.kind)
    fed += Int64(count)
    return made
  }

  /// Up to `most` samples: those that come next in the reader, or silence.
  private func withBytes<Result>(
    of piece: AudioPiece, _ most: Int, _ body: (Span<UInt8>) throws(RunError) -> Result
  ) throws(RunError) -> Result {
    if piece.kind == .sound { return try reader.withSound(pending.sound, most, body) }
    let zeros = zeros
    let count = min(most, AudioResampler.most)
    return try body(zeros.span.extracting(0..<count * reader.format.sampleBytes))
  }

  /// So many more samples that were taken have been given out.
  private func advance(by count: Int) {
    passed += Int64(count)
    var left = count
    while let next = pending.take(left) {
      switch next.kind {
      case .sound:
        reader.consume(next.count, as: nil)
        delivered += UInt64(next.count)
      case .silence: silence += UInt64(next.count)
      case .cut:
        reader.consume(next.count, as: .unselected)
        cut += UInt64(next.count)
      }
      if next.kind != .cut { left -= next.count }
    }
    settled.mark(emitted, delivered, spacing: Int64(format.rate / Self.marksPerSecond))
  }
}

/// What comes next in a track: samples of the device, some that are cut, or missing ones.
struct AudioPiece {
  enum Kind { case sound, cut, silence }

  var kind: Kind
  var count: Int
}

/// What was taken into a track and not given out: what a resampler holds. In the reader its samples are not
/// consumed, so that the next file can begin with them.
struct PendingSound {
  private var pieces = [AudioPiece](
    repeating: AudioPiece(kind: .silence, count: 0), count: most)
  private var count = 0
  /// Samples of the device, those that are cut, too.
  private(set) var sound = 0

  /// Kind of the oldest one.
  var first: AudioPiece.Kind? { count > 0 ? pieces[0].kind : nil }

  mutating func add(_ samples: Int, _ kind: AudioPiece.Kind) {
    guard samples > 0 else { return }
    if count == 0 || pieces[count - 1].kind != kind {
      pieces[count] = AudioPiece(kind: kind, count: 0)
      count += 1
    }
    pieces[count - 1].count += samples
    if kind != .silence { sound += samples }
  }

  /// Takes the oldest, at most `samples`; what is cut lasts no time, and is taken whole. `nil` if there
  /// is none.
  mutating func take(_ samples: Int) -> AudioPiece? {
    guard count > 0, samples > 0 || pieces[0].kind == .cut else { return nil }
    var piece = pieces[0]
    if piece.kind != .cut { piece.count = min(piece.count, samples) }
    pieces[0].count -= piece.count
    if pieces[0].count == 0 {
      count -= 1
      for index in 0..<count { pieces[index] = pieces[index + 1] }
    }
    if piece.kind != .silence { sound -= piece.count }
    return piece
  }

  /// A resampler is 398 samples ahead at most, and fed as many at a time; each may be a piece of its own,
  /// with silence and a cut before it.
  private static let most = 4096
}
