public import Sprocket

/// Pictures that a camera offers: one size or a range of sizes, with their rates.
public struct DeviceFormat: Sendable, Hashable {
  /// In pixels; both are the same where it is one size.
  public let smallest: CameraSize
  public let largest: CameraSize
  /// From one size of a range to the next.
  public let step: CameraSize
  /// `nil` where Sprocket does not know the pixels.
  public let pixelFormat: PixelFormat?
  /// At the largest size.
  public let rates: CameraRates

  /// One size.
  public init(_ size: CameraSize, _ pixelFormat: PixelFormat?, rates: CameraRates) {
    (smallest, largest, step) = (size, size, CameraSize(1, 1))
    (self.pixelFormat, self.rates) = (pixelFormat, rates)
  }

  init(_ sizes: CameraSizes, _ pixelFormat: PixelFormat?) {
    (smallest, largest, step) = (sizes.smallest, sizes.largest, sizes.step)
    (self.pixelFormat, rates) = (pixelFormat, sizes.rates)
  }

  /// Whether it has that size.
  public func offers(_ size: CameraSize) -> Bool {
    func fits(_ value: Int, _ low: Int, _ high: Int, _ step: Int) -> Bool {
      value == high || value >= low && value <= high && (value - low) % max(1, step) == 0
    }
    return fits(size.width, smallest.width, largest.width, step.width)
      && fits(size.height, smallest.height, largest.height, step.height)
  }

  /// Whether it has that rate, within a thousandth. True where the driver tells no rates.
  public func offers(_ rate: FrameRate) -> Bool {
    let wanted = rate.framesPerSecond
    switch rates {
    case .these(let list):
      return list.isEmpty || list.contains { abs($0.framesPerSecond / wanted - 1) < 0.001 }
    case .range(let slowest, let fastest):
      return wanted >= slowest.framesPerSecond * 0.999 && wanted <= fastest.framesPerSecond * 1.001
    }
  }

  /// Frames per second; `nil` where the driver tells none.
  var fastest: Double? {
    switch rates {
    case .these(let list): list.map(\.framesPerSecond).max()
    case .range(_, let fastest): fastest.framesPerSecond
    }
  }

  /// The fastest up to 30 frames per second; if all are faster, the slowest.
  var usualRate: FrameRate? {
    let usual = FrameRate(frames: 30)
    switch rates {
    case .these(let list):
      let sorted = list.sorted { $0.framesPerSecond < $1.framesPerSecond }
      return sorted.last { $0.framesPerSecond <= 30.001 } ?? sorted.first
    case .range(let slowest, let fastest):
      if slowest.framesPerSecond > 30 { return slowest }
      return fastest.framesPerSecond < 30 ? fastest : usual
    }
  }
}

/// What a session asks a camera for.
public struct FormatChoice: Sendable, Hashable, CustomStringConvertible {
  public var size: CameraSize
  /// `nil`: what the device gives.
  public var rate: FrameRate?
  /// `nil`: the best that the device has of that size.
  public var pixelFormat: PixelFormat?
  /// The rate comes of a preset: a device that cannot be set to it has its own.
  var isRateWish = false

  public init(_ size: CameraSize, rate: FrameRate? = nil, pixelFormat: PixelFormat? = nil) {
    (self.size, self.rate, self.pixelFormat) = (size, rate, pixelFormat)
  }

  public var description: String {
    let rate = rate.map { " at \($0.settingText) frames/s" } ?? ""
    return "\(size.text)\(rate)" + (pixelFormat.map { " \($0.settingText)" } ?? "")
  }

  var request: FormatRequest {
    FormatRequest(format: pixelFormat, size: FrameSize(size.width, size.height), rate: rate)
  }
}
