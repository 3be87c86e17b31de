internal import SprocketCore

/// Gives a movie a constant rate: picture `n` is shown at `n / rate` seconds.
///
/// A frame goes to the picture that is nearest to its time, the earlier one if two are equally near. Pictures
/// without a frame repeat the frame before them. A frame whose picture has a frame already is left out.
///
/// Keeps 16 bytes per picture that is not yet in a whole fragment of the file.
struct ConstantRate {
  private let rate: FrameRate
  private let ticksPerSecond: Int64
  /// The first picture that was not written.
  private var next: Int64 = 0
  /// Pictures that repeat the one before.
  private(set) var repeated: UInt64 = 0
  /// Frames without a picture.
  private(set) var leftOut: UInt64 = 0
  private var frames: UInt64 = 0
  /// After so many pictures so many frames are in the file, in rising order.
  private var marks: [(pictures: UInt64, frames: UInt64)] = []
  private var durableFrames: UInt64 = 0

  /// What is written for one frame.
  struct Place {
    /// Pictures that repeat the frame before.
    var repeats: Range<Int64>
    /// The frame's own picture; `nil`: the frame is left out.
    var picture: Int64?
  }

  /// Longest gap that is filled, in seconds. Larger: an invalid time in a file may fill the disk.
  static let longestGap: Int64 = 3600

  init(_ rate: FrameRate, ticksPerSecond: Int32) {
    (self.rate, self.ticksPerSecond) = (rate, Int64(ticksPerSecond))
  }

  /// When a picture is shown, in ticks, rounded.
  func tick(of picture: Int64) -> Int64 {
    Int64((Double(picture) * Double(ticksPerSecond) / rate.framesPerSecond).rounded())
  }

  /// Places the next frame, of time `tick`. Returns `nil` for a gap that is too long to be filled.
  mutating func place(_ tick: Int64) -> Place? {
    // Ticks are rounded: a frame in the middle between two pictures may seem to be one tick later.
    let exact = Double(tick) * rate.framesPerSecond / Double(ticksPerSecond)
    let tolerance = min(0.25, rate.framesPerSecond / Double(ticksPerSecond))
    let picture = max(0, (exact - 0.5 - tolerance).rounded(.up))
    guard picture - Double(next) <= Double(Self.longestGap) * rate.framesPerSecond else {
      return nil
    }
    frames += 1
    let place = Int64(picture)
    guard place >= next else {
      leftOut += 1
      if let last = marks.indices.last {
        marks[last].frames = frames
      } else {
        durableFrames = frames
      }
      return Place(repeats: next..<next, picture: nil)
    }
    defer { next = place + 1 }
    repeated += UInt64(place - next)
    marks.append((UInt64(place) + 1, frames))
    return Place(repeats: next..<place, picture: place)
  }

  /// How many of the first frames are in the file, if its first `pictures` are.
  mutating func frames(in pictures: UInt64) -> UInt64 {
    let done = marks.prefix { $0.pictures <= pictures }
    if let last = done.last { durableFrames = last.frames }
    marks.removeFirst(done.count)
    return durableFrames
  }
}

extension MovieRecording {
  /// Where a frame goes in a movie of constant rate; `nil` where the rate is not constant.
  func place(_ tick: Int64) throws(RunError) -> ConstantRate.Place? {
    guard constant != nil else { return nil }
    guard let place = constant?.place(tick) else {
      throw fail(
        RunError(
          .failed,
          "a gap of more than \(ConstantRate.longestGap) s is too long for a constant rate; leave the "
            + "rate out"))
    }
    return place
  }
}
