internal import SprocketPixels
internal import SprocketTimes

/// The sound of a part of a file: contiguous samples from the time of its first picture on, without an end.
/// What the file lacks is silence.
final class PartSound {
  private var reader: SoundReader
  let format: PCMFormat
  private let path: String
  private let start: Int64
  /// Samples that were read, counted from the start.
  private var position: Int64 = 0
  /// Samples of silence before the next block.
  private var silence: Int64 = 0
  private var isPlaced = false
  private var hasEnded = false

  /// Sound that begins so much earlier, in nanoseconds, is not read but passed by a seek. Larger: more is
  /// decoded for nothing; smaller: more seeks, each of which decodes a second.
  private static let farAhead: Int64 = 5_000_000_000

  init(
    _ part: MediaPart, isInterrupted: @escaping @Sendable () -> Bool
  ) throws(MediaError) {
    reader = try SoundReader(path: part.path, isInterrupted: isInterrupted)
    (format, path, start) = (reader.info.format, part.path, part.start)
    guard let first = try reader.next(atMost: 1),
      start.clampedDifference(first.timeNanoseconds) > Self.farAhead
    else { return }
    let isSought = reader.seek(toNanoseconds: start)
    let place = isSought ? try reader.next(atMost: 1) : nil
    if place.map({ $0.timeNanoseconds > start }) ?? true {
      reader = try SoundReader(path: part.path, isInterrupted: isInterrupted)
    }
  }

  /// What could not be decoded, as a sentence; `nil` if nothing was damaged.
  var note: String? {
    let damaged = reader.damagedPackets
    return damaged == 0
      ? nil : "\(path): \(damaged) packet\(damaged == 1 ? "" : "s") of sound damaged"
  }

  /// Samples of silence that come next; 0 if sound comes.
  func silenceAhead() throws(MediaError) -> Int64 {
    while silence == 0, !hasEnded {
      guard let block = try reader.next(atMost: .max) else {
        hasEnded = true
        break
      }
      if isPlaced, block.missing == 0, !block.isRestarted { return 0 }
      if !place(block), silence == 0, isPlaced { return 0 }
    }
    return hasEnded ? .max : silence
  }

  /// Passes samples of silence.
  func pass(_ samples: Int64) {
    silence = max(0, silence - samples)
    position += samples
  }

  /// Reads the next `count` samples.
  func read(_ count: Int, into bytes: inout MutableSpan<UInt8>) throws(MediaError) {
    let size = format.sampleBytes
    var done = 0
    while done < count {
      var rest = bytes._mutatingExtracting(droppingFirst: done * size)
      if silence > 0 || hasEnded {
        let some = hasEnded ? count - done : min(count - done, Int(silence))
        for index in 0..<some * size { rest[index] = 0 }
        silence = max(0, silence - Int64(some))
        position += Int64(some)
        done += some
        continue
      }
      guard let block = try reader.next(atMost: count - done) else {
        hasEnded = true
        continue
      }
      if !isPlaced || block.missing > 0 || block.isRestarted, place(block) { continue }
      reader.take(block.count, into: &rest)
      position += Int64(block.count)
      done += block.count
    }
  }

  /// Finds where a block belongs that does not follow the one before. True if its first samples are too
  /// early, and left out, or if silence comes before it.
  private func place(_ block: SoundBlock) -> Bool {
    let seconds = Double(block.timeNanoseconds.clampedDifference(start)) / 1e9
    let ahead = Int64(clamping: (seconds * Double(format.rate)).rounded()).clampedDifference(
      position)
    guard ahead >= 0 else {
      reader.leave(Int(min(Int64(block.count), -ahead)))
      isPlaced = -ahead <= Int64(block.count)
      return true
    }
    (isPlaced, silence) = (true, ahead)
    return ahead > 0
  }
}

extension Int64 {
  init(clamping value: Double) {
    self = value >= 9.2e18 ? .max : value <= -9.2e18 ? .min : Int64(value)
  }
}
