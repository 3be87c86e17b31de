public import SprocketCore
internal import SprocketV4L2

/// A format that a camera offers, with its sizes.
public struct CameraFormat: Sendable, Hashable {
  /// V4L2's four-character code.
  public var fourCC: String
  /// The driver's words.
  public var text: String
  /// What Sprocket takes it for; `nil` where it does not know the format.
  public var pixelFormat: PixelFormat?
  /// libv4l2 makes it of another.
  public var isEmulated: Bool
  public var sizes: [CameraSizes]
}

/// A size that a camera offers, or a range of them.
public struct CameraSizes: Sendable, Hashable {
  /// In pixels; `smallest` and `largest` are the same where it is one size.
  public var smallest: CameraSize
  public var largest: CameraSize
  /// From one size of the range to the next, in pixels.
  public var step: CameraSize
  /// At the largest size.
  public var rates: CameraRates
  /// False where the driver lists no sizes: it is the one that it is set to, and others can be tried.
  public var isTold = true

  public var isRange: Bool { smallest != largest }

  /// Whether the camera offers that size.
  ///
  /// The largest need not be a whole number of steps away from the smallest.
  func contains(_ size: CameraSize) -> Bool {
    func fits(_ value: Int, _ low: Int, _ high: Int, _ step: Int) -> Bool {
      value == high || (value >= low && value <= high && (value - low) % max(1, step) == 0)
    }
    if !isTold { return true }
    return fits(size.width, smallest.width, largest.width, step.width)
      && fits(size.height, smallest.height, largest.height, step.height)
  }

  /// As a person would say it: `640x480`, or `16x16 to 4096x2160 in steps of 2x2`.
  public var text: String {
    guard isRange else { return largest.text }
    let steps = step.width > 1 || step.height > 1 ? " in steps of \(step.text)" : ""
    return "\(smallest.text) to \(largest.text)\(steps)"
  }
}

/// In pixels.
public struct CameraSize: Sendable, Hashable {
  public var width: Int
  public var height: Int

  public init(_ width: Int, _ height: Int) {
    self.width = width
    self.height = height
  }

  init(_ size: V4L2Size) { self.init(size.width, size.height) }

  public var text: String { "\(width)x\(height)" }
  var area: Int { width * height }
}

/// Frame rates that a camera offers for a format and size.
public enum CameraRates: Sendable, Hashable {
  /// None where the driver does not tell.
  case these([FrameRate])
  case range(FrameRate, FrameRate)

  init(_ intervals: V4L2Intervals) {
    switch intervals {
    case .discrete(let list): self = .these(list.compactMap { FrameRate($0) })
    case .stepwise(let shortest, let longest):
      if let slowest = FrameRate(longest), let fastest = FrameRate(shortest) {
        self = .range(slowest, fastest)
      } else {
        self = .these([])
      }
    }
  }

  /// The highest; `nil` where nothing is told.
  var fastest: Double? {
    switch self {
    case .these(let list): list.map(\.framesPerSecond).max()
    case .range(_, let fastest): fastest.framesPerSecond
    }
  }

  /// As a person would say it: `30, 15 frames/s`; empty where nothing is told.
  public var text: String {
    switch self {
    case .these([]): ""
    case .these(let list): list.map(\.text).joined(separator: ", ") + " frames/s"
    case .range(let slowest, let fastest): "\(slowest.text) to \(fastest.text) frames/s"
    }
  }
}

extension FrameRate {
  /// `nil` for intervals that are none.
  init?(_ interval: V4L2Interval) {
    guard interval.numerator > 0, interval.denominator > 0,
      let frames = Int32(exactly: interval.denominator),
      let seconds = Int32(exactly: interval.numerator)
    else { return nil }
    self.init(frames: frames, seconds: seconds)
  }

  /// Up to two decimals.
  var text: String {
    let hundredths = Int((framesPerSecond * 100).rounded())
    let (whole, rest) = hundredths.quotientAndRemainder(dividingBy: 100)
    if rest == 0 { return "\(whole)" }
    return "\(whole)." + (rest % 10 == 0 ? "\(rest / 10)" : rest < 10 ? "0\(rest)" : "\(rest)")
  }
}
